"""The claims of a kind of studies: functions that say what a paper says and measure it.

A claim is one function of the kind's ``claims.py``. Its docstring is the paper's sentence with the
statistic that decides; its decorator has the place in the paper and the bound with its reason:

    claims = Claims(Reading)
    figure_2 = claims.about("anon2026data", "Figure 2")

    @figure_2.value("section 5", at_most(0.2, "a fifth would be called slight"), otherwise="...")
    def tanh_values(reading: Reading) -> float:
        \"\"\"With Tanh layers the sharpness is slightly different. Statistic: ...\"\"\"
        return ...
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partialmethod
from pathlib import PurePosixPath
from typing import Any

from hessian_papers.ledger.bounds import Bound, Estimate, Kind
from hessian_papers.ledger.divergence import left_out
from hessian_papers.results import StudyArrays

# The arguments of a claim that is made of several things: of a parametrisation, a row of a table.
Case = Mapping[str, Any]
Measure = Callable[..., float | Estimate]
Decorator = Callable[[Measure], Measure]
Cases = Callable[[Any], Iterable[Case]]


# A field of a text. Braces after _ or ^ are a formula's.
_FIELD = re.compile(r"(?<![_^])\{([a-z_]+)\}")


class LedgerError(ValueError):
    """The ledger is not well formed; the message names each claim and what is wrong with it."""


@dataclass(frozen=True)
class Print:
    """What is in print where that is wrong; the claim's own statement is the corrected one.

    Args:
        text: what is in print.
        measure: its error, from the same arguments as the claim's function.
    """

    text: str
    measure: Measure


@dataclass(frozen=True)
class Study:
    """The study that claims are made of.

    Args:
        name: its name.
        config: its resolved configuration.
        names: the studies by paper and artifact, for texts that point to another one.
    """

    name: str
    config: Mapping[str, Any]
    names: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def about(self, artifact: str, paper: str | None = None) -> str:
        """The study of an artifact, first of the same paper; its own words if there is none."""
        papers = [paper or self.config["paper"], *(key for key, _ in self.names)]
        found = [self.names[p, artifact] for p in papers if (p, artifact) in self.names]
        return found[0] if found else artifact


# Where a statement stands: in the paper of the study, in each of several papers, or in different
# places for different artifacts.
Place = str | Mapping[str, str] | Callable[[Study], str]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One claim made of one study: what the ledger holds, before it is measured.

    Args:
        id: ``<study>/<claim>``, unique in the ledger.
        paper: the paper's key.
        location: where it stands in the paper.
        statement: the claim in one sentence (for an erratum, the corrected one).
        kind: identity, value, trend or correlation.
        study: the study whose arrays are measured; ``None`` if no study of this scale does.
        test: node id of the test that stands behind it.
        bound: what the measured value is compared with.
        measure: measures it.
        printed: for an erratum, what is in print.
        measure_printed: for an erratum, measures the error of what is in print.
        explanation: why we differ, where we do.
    """

    id: str
    paper: str
    location: str
    statement: str
    kind: Kind
    study: str | None
    test: str | None
    bound: Bound | None
    measure: Callable[[], float | Estimate] | None
    printed: str | None = None
    measure_printed: Callable[[], float | Estimate] | None = None
    explanation: str = ""

    def problems(self) -> list[str]:
        """What keeps this from being an entry of the ledger, one line each."""
        texts = {name: getattr(self, name) for name in ("id", "paper", "location", "statement")}
        if self.bound is not None:
            texts |= {"source": self.bound.source, "reason": self.bound.reason}
        found = [f"{name} is empty" for name, text in texts.items() if not text.strip()]
        found += [
            f"{name} has an open field {{{left[1]}}}"
            for name, text in texts.items()
            if (left := _FIELD.search(text))
        ]
        if self.bound is not None and not self.bound.tolerance >= 0:
            found.append(f"tolerance is {self.bound.tolerance}")
        if self.measure is None and not self.explanation.strip():
            found.append("it is not measured, and explanation does not say why")
        return [f"{self.id or 'a claim without id'}: {problem}" for problem in found]


def _filled(text: str, fields: Mapping[str, Any], study: Study) -> str:
    """A text with ``{field}`` filled in, and ``{study of <artifact>}`` by the study's name.

    Other braces stay, since formulas have them. Of another paper's artifact:
    ``{study of <paper>: <artifact>}``.
    """
    text = re.sub(
        r"\{study of (?:([a-z0-9]+): )?([^}]+)\}",
        lambda found: study.about(found[2], found[1]),
        text,
    )
    return _FIELD.sub(lambda found: str(fields.get(found[1], found[0])), " ".join(text.split()))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and how we measure it: a function with what its decorator says.

    Args:
        function: measures it, from the reading of a study's arrays and the fields of a case.
        kind: identity, value, trend or correlation.
        place: where it stands in the paper; for a statement of several papers, in each of them; a
            function of the study where that depends on the artifact.
        bound: what the measured value is compared with, for each case if it is a function.
        otherwise: what else would explain a difference, for each case if it is a function.
        printed: for an erratum, what is in print and its error.
        each: the cases that it is made of, read from the arrays; a single one without fields.
        paper: whose statement it is, if not the paper's of the study.
        artifacts: the papers' artifacts that it is about; empty for all studies of the kind.
        name: of the entry, filled in like every text; the function's name and the case if empty.
    """

    function: Measure
    kind: Kind
    place: Place
    bound: Bound | Callable[[Case], Bound]
    otherwise: str | Callable[[Case], str] = ""
    printed: Print | Callable[[Case], Print | None] | None = None
    each: Cases | None = None
    paper: str = ""
    artifacts: tuple[tuple[str, str], ...] = ()
    name: str = ""

    @property
    def function_name(self) -> str:
        """The name of its function."""
        return getattr(self.function, "__name__", "")

    @property
    def test(self) -> str:
        """The test that stands behind it, by convention; of one written elsewhere, its module."""
        module = self.function.__module__
        if not module.startswith("hessian_papers.studies."):
            return module
        *_, family, kind, _ = module.split(".")
        path = PurePosixPath("tests", "papers", "studies", family, f"test_{kind}_claims.py")
        return f"{path}::test_a_claim_holds_and_fails[{self.function_name}]"

    def is_about(self, config: Mapping[str, Any]) -> bool:
        """Whether it is made of a study with this configuration."""
        return not self.artifacts or (config["paper"], config["artifact"]) in self.artifacts

    def _place(self, study: Study) -> tuple[str, str]:
        """The paper, and where in it."""
        if not isinstance(self.place, Mapping):
            place = self.place if isinstance(self.place, str) else self.place(study)
            return self.paper or study.config["paper"], place
        paper = study.config["paper"]
        # A study of one's own measures a statement of the first paper that makes it.
        paper = paper if paper in self.place else next(iter(self.place))
        return paper, self.place[paper]

    def entry(self, study: Study, reading: StudyArrays, case: Case, fields: Case) -> Entry:
        """The claim of one case, its texts filled in."""
        paper, location = self._place(study)
        printed = self.printed(case) if callable(self.printed) else self.printed
        otherwise = self.otherwise(case) if callable(self.otherwise) else self.otherwise

        def filled(text: str) -> str:
            return _filled(text, fields, study)

        return Entry(
            id=f"{study.name}/{self._name(case)}",
            paper=filled(paper),
            location=filled(location),
            statement=filled(self.function.__doc__ or ""),
            kind=self.kind,
            study=study.name,
            test=self.test,
            bound=self.bound(case) if callable(self.bound) else self.bound,
            measure=lambda: self.function(reading, **case),
            printed=None if printed is None else filled(printed.text),
            measure_printed=None if printed is None else lambda: printed.measure(reading, **case),
            explanation=filled(otherwise),
        )

    def _name(self, case: Case) -> str:
        if self.name:
            return re.sub(r"\{([a-z_]+)\}", lambda found: str(case[found[1]]), self.name)
        return "-".join([self.function_name.replace("_", "-"), *map(str, case.values())])


def over(*axes: str) -> Cases:
    """Cases: all combinations of the names on some axes of a study's arrays, the last one fastest.

    Example:
        >>> arrays = StudyArrays({"correlation": {"time": __import__("numpy").array(["a", "b"])}})
        >>> list(over("time")(arrays))
        [{'time': 'a'}, {'time': 'b'}]
    """

    def cases(reading: StudyArrays) -> Iterator[Case]:
        for values in itertools.product(*(reading[axis].tolist() for axis in axes)):
            yield dict(zip(axes, values, strict=True))

    return cases


class Claims:
    """The claims of a kind of studies, in the order in which they are written.

    Args:
        reading: what the kind reads from its arrays.
        values: how texts say the values of cases, for example ``{"mup": "μP"}``.
        fields: further fields of all texts, read from the arrays.
    """

    def __init__(
        self,
        reading: type[StudyArrays],
        *,
        values: Mapping[str, str] | None = None,
        fields: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        self.reading = reading
        self._values = values or {}
        self._fields = fields or (lambda reading: {})
        self.all: list[Claim] = []
        self._artifacts: tuple[tuple[str, str], ...] = ()
        self._of: Mapping[str, Any] = {}

    def about(self, paper: str, *artifacts: str) -> "Claims":
        """The same, for claims about some artifacts of a paper alone, as its figures."""
        found = self.having()
        found._artifacts = tuple((paper, artifact) for artifact in artifacts)
        return found

    def having(self, **of: Any) -> "Claims":
        """The same, for claims that share some fields of :class:`Claim`, unless they say others."""
        found = copy(self)
        found._of = {**self._of, **of}
        return found

    def __or__(self, other: "Claims") -> "Claims":
        """For claims about the artifacts of both."""
        found = self.about("")
        found._artifacts = self._artifacts + other._artifacts
        return found

    def _decorator(self, kind: Kind, place: Place, bound: Any, **of: Any) -> Decorator:
        """Makes a claim of a function. ``of``: further fields of :class:`Claim`."""
        fields = {"kind": kind, "place": place, "bound": bound, "artifacts": self._artifacts}

        def keep(function: Measure) -> Measure:
            self.all.append(Claim(function=function, **{**fields, **self._of, **of}))
            return function

        return keep

    # A claim that must hold: an error that is round-off.
    identity = partialmethod(_decorator, "identity")
    # A claim about a number.
    value = partialmethod(_decorator, "value")
    # A claim about how something changes.
    trend = partialmethod(_decorator, "trend")
    # A claim about what goes with what.
    correlation = partialmethod(_decorator, "correlation")

    def entries(self, study: Study, reading: StudyArrays) -> Iterator[Entry]:
        """The claims of one study, one for each case.

        Raises:
            NothingToMeasure: all of its trainings diverged.
        """
        note = left_out(reading)
        for claim in self.all:
            if claim.is_about(study.config):
                for case in [{}] if claim.each is None else claim.each(reading):
                    found = {**self._fields(reading), **case}
                    fields = {key: self._text(value) for key, value in found.items()}
                    fields = {"artifact": study.config["artifact"], **fields}
                    entry = claim.entry(study, reading, case, fields)
                    yield replace(entry, explanation=f"{entry.explanation} {note}".strip())

    def _text(self, value: Any) -> Any:
        """A value as texts say it."""
        return self._values.get(value, value) if isinstance(value, str) else value
