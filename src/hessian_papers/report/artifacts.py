"""The artifacts of each paper, in its own order, and what covers each: ``artifacts.yaml``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from hessian_papers.ledger.verdicts import Verdict
from hessian_papers.report.verdicts import Shown

WHOLE, PART, NOTHING = "whole", "in part", "not tested"
_NOT_TESTED: Verdict = "not tested"


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A theorem, figure, table or section of a paper.

    Args:
        name: as the paper calls it.
        what: it is about.
        at: places of statements that belong to it, beside those that have its name.
        reason: why no statement is about it, if none is.
    """

    name: str
    what: str
    at: tuple[str, ...] = ()
    reason: str = ""

    def holds(self, place: str) -> bool:
        """Whether a place in the paper belongs to it.

        Example:
            >>> figure = Artifact(name="Figure 2", what="made up", at=("eq. (7)",))
            >>> figure.holds("section 3 and Figure 2"), figure.holds("Figure 27")
            (True, False)
            >>> figure.holds("Eq. (7) to (9)"), figure.holds("Figure 2.1")
            (True, False)
        """
        return any(_pattern(phrase).search(place) for phrase in (self.name, *self.at))


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    # "Theorem 3.1" is not in "Theorem 3.12" or "Theorem B.3.1", nor "Section 3" in "Section 3.1".
    return re.compile(rf"(?<![\w.]){re.escape(phrase)}(?!\.?\d)", re.IGNORECASE)


@cache
def artifacts(paper: str) -> tuple[Artifact, ...]:
    """The artifacts of a paper in its own order; none of a paper that is not listed."""
    file = resources.files("hessian_papers.report").joinpath("artifacts.yaml")
    entries = yaml.safe_load(file.read_text("utf-8")).get(paper, ())
    return tuple(Artifact(**entry | {"at": tuple(entry.get("at", ()))}) for entry in entries)


@dataclass(frozen=True)
class Covered:
    """An artifact with the statements and the studies that cover it."""

    artifact: Artifact
    statements: Sequence[Shown]
    studies: Sequence[str]

    @property
    def state(self) -> str:
        """Whether it is covered whole, in part or not at all.

        A figure without statements is drawn whole; a statement counts where it was tested.
        """
        tested = [shown.statement.verdict != _NOT_TESTED for shown in self.statements]
        if all(tested) and (tested or self.studies):
            return WHOLE
        return PART if any(tested) or self.studies else NOTHING

    @property
    def reason(self) -> str:
        """Why it is not covered whole; empty where it is."""
        if self.state == WHOLE:
            return ""
        untested = [s.statement for s in self.statements if s.statement.verdict == _NOT_TESTED]
        if not untested:
            return self.artifact.reason
        return f"{len(untested)} of {len(self.statements)} not tested"


def covered(
    paper: str, statements: Iterable[Shown], figures: Iterable[tuple[str, str]]
) -> list[Covered]:
    """The artifacts of a paper with what covers each.

    A statement covers the artifacts that its place names, and the figures that it is measured on.

    Args:
        paper: its key.
        statements: all that have a place in it.
        figures: where each of its figures stands there, and the figure's study.
    """
    every, drawn = list(statements), list(figures)
    entries = []
    for artifact in artifacts(paper):
        studies = [study for place, study in drawn if artifact.holds(place)]
        own = [each for each in every if _covers(each, artifact, paper, studies)]
        entries.append(Covered(artifact, own, studies))
    return entries


def _covers(shown: Shown, artifact: Artifact, paper: str, studies: Sequence[str]) -> bool:
    measured = any(case.study in studies for case in shown.cases)
    return measured or artifact.holds(shown.statement.places[paper])
