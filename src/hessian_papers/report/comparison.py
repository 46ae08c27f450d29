"""The comparison of two states of the project, and its page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hessian_papers.drawing.overlay import Pair
from hessian_papers.ledger.changes import IN_PRINT, Move
from hessian_papers.report.page import document
from hessian_papers.report.verdicts import counted


@dataclass(frozen=True)
class Setting:
    """A setting that is not the same in both states, and of which studies."""

    key: str
    old: Any
    new: Any
    studies: Sequence[str]


@dataclass(frozen=True)
class Overlay:
    """A picture that is not the same in both states.

    Args:
        name: its own.
        title: of the study, and what of it the picture shows.
        pairs: the panels that differ, see :func:`hessian_papers.drawing.overlay.differing`.
        panels: how many panels it has.
    """

    name: str
    title: str
    pairs: Sequence[Pair]
    panels: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return re.sub(r"[^\w.-]+", "-", self.name) + ".svg"

    @property
    def said(self) -> str:
        """The number of its panels that differ."""
        verb = "differs" if len(self.pairs) == 1 else "differ"
        return f"{len(self.pairs)} of {counted(self.panels, 'panel')} {verb}."


@dataclass(frozen=True)
class Comparison:
    """The differences between an old state and a new one.

    Args:
        old: the name of the old one.
        new: that of the new one.
        studies: how many both have.
        only: a text for each state that has more.
        settings: those that differ.
        moves: the statements whose verdict or number moved, verdicts first.
        overlays: the pictures that differ.
    """

    old: str
    new: str
    studies: int
    only: Sequence[str]
    settings: Sequence[Setting]
    moves: Sequence[Move]
    overlays: Sequence[Overlay]

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return bool(self.settings or self.moves or self.overlays)


def turns(moves: Sequence[Move]) -> str:
    """The number of statements whose verdict changed, and of those with a number that moved.

    Example:
        >>> turns([])
        '0 verdicts changed, numbers of 0 statements moved.'
    """
    if moves and moves[0].verdicts[0] == IN_PRINT:
        return f"{counted(moves, 'statement')} not as printed."
    verdicts = sum(move.turned for move in moves)
    numbers = sum(bool(move.rows) for move in moves)
    return (
        f"{counted(verdicts, 'verdict')} changed, numbers of {counted(numbers, 'statement')} moved."
    )


def page(result: Comparison, command: str) -> str:
    """The page of a comparison, an HTML document beside the files of its pictures.

    Args:
        result: what differs.
        command: what makes it.
    """
    return document(
        "comparison.html",
        {"counted": counted, "turns": turns},
        result=result,
        command=command,
        title=f"{result.old} and {result.new} – Hessian spectra",
    )
