"""The record of a statement: what the ledger writes, and what page, table and dashboard read."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from hessian_papers.ledger.bounds import OUTCOMES, RELATIONS, Bound, Estimate, Outcome, Relation
from hessian_papers.ledger.statements import Heading
from hessian_papers.ledger.verdicts import BOOKS, QUANTIFIERS, VERDICTS
from hessian_papers.results import is_below, select_fields
from hessian_spectra.files import DamagedFileError, read_json, write_json

Check = tuple[Callable[[Any], bool], str]


def _one_of(names: Sequence[str]) -> Check:
    return lambda value: value in names, f"one of {', '.join(names)}"


def _are_departures(value: Any) -> bool:
    pairs = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)


# What the fields of a case, and of a statement, must be that others read by name.
_CHECKS: Mapping[str, Check] = {
    "outcome": _one_of(OUTCOMES),
    "relation": _one_of(RELATIONS),
    "labels": (lambda value: isinstance(value, dict), "texts by name"),
    "scale": (lambda value: value is None or isinstance(value, str), "a name or null"),
    "recorded": (lambda value: isinstance(value, bool), "true or false"),
    "departs": (_are_departures, "pairs of values by name"),
    "verdict": _one_of(VERDICTS),
    "quantifier": _one_of(QUANTIFIERS),
    "book": _one_of(BOOKS),
    "places": (lambda value: isinstance(value, dict) and bool(value), "places by paper"),
    "cases": (lambda value: isinstance(value, list) and bool(value), "a list of cases"),
}


# What the fields are that ledgers of earlier commits lack: they stay readable.
_LATER: Mapping[str, Mapping[str, Any]] = {
    "CaseRecord": {"sentence": "", "printed": None, "place": ""},
    "StatementRecord": {"state": "", "assumes": "", "surrogate": False},
}


def _checked(cls: type, record: Any, where: str, remedy: str) -> dict[str, Any]:
    """The fields of a record.

    Raises:
        DamagedFileError: it is not what the stage ``ledger`` writes.
    """
    if isinstance(record, dict):
        record = {**_LATER[cls.__name__], **record}
    values = select_fields(record, [field.name for field in fields(cls)], where, remedy)
    for name, value in values.items():
        if name in _CHECKS and not _CHECKS[name][0](value):
            raise DamagedFileError(
                f"{where} ({values['id']}): expected {name} to be {_CHECKS[name][1]}, "
                f"got {value!r}; run {remedy}"
            )
    return values


def _estimate(value: float | None, interval: list[float | None] | None) -> Estimate:
    numbers = (value, *(interval or ()))
    return Estimate(*(math.nan if number is None else number for number in numbers))


@dataclass(frozen=True, kw_only=True)
class CaseRecord:
    """One case of a statement.

    Args:
        id: ``<study>/<case>``, unique in the ledger.
        labels: what tells it from the statement's other cases.
        sentence: what it says, where several sentences are parts of one statement; else empty.
        printed: for an erratum, what is in print of it.
        place: where it stands in its paper.
        study: the study that was measured, or ``None``.
        digest: the short SHA-256 of that study's configuration, or ``None``.
        test: the test that stands behind it, or ``None``.
        expected: what the measured value is compared with; ``None`` if nothing was measured.
        relation: how the two are compared.
        tolerance: how far they may be apart.
        source: where ``expected`` comes from.
        word: the paper's word that it is our reading of, or empty.
        reason: why this tolerance.
        measured: the measured value, or ``None``.
        interval: its confidence interval, two numbers, or ``None``.
        outcome: one of :data:`~hessian_papers.ledger.bounds.OUTCOMES`.
        printed_error: for an erratum, the error of what is in print; ``None`` if it is no number.
        explanation: why we differ, or what a run would take.
        scale: of the run that this was measured on; ``None`` if no study of ours measures it.
        recorded: whether that is a recorded run, not today's.
        departs: the settings of that run that are not the paper's, ``[value here, the paper's]``.
        seconds: the time of one core that the run took, or ``None``.
        beside: the same case on the weaker run, if there is one; nothing is beside that.
    """

    id: str
    labels: dict[str, str]
    sentence: str
    printed: str | None
    place: str
    study: str | None
    digest: str | None
    test: str | None
    expected: float | None
    relation: Relation
    tolerance: float
    source: str
    word: str
    reason: str
    measured: float | None
    interval: list[float | None] | None
    outcome: Outcome
    printed_error: float | None
    explanation: str
    scale: str | None
    recorded: bool
    departs: dict[str, list[Any]]
    seconds: float | None
    beside: "CaseRecord | None"

    @property
    def runs(self) -> "list[CaseRecord]":
        """The case on each run, the one that decides first."""
        return [self] if self.beside is None else [self, self.beside]

    @property
    def smaller(self) -> bool:
        """Whether the run's setting is smaller than the paper's: it departs, at another scale."""
        return bool(self.departs) and self.scale != "paper"

    @property
    def estimate(self) -> Estimate:
        """The measured value with its interval."""
        return _estimate(self.measured, self.interval)

    @property
    def bound(self) -> Bound:
        """The bound that the measured value is compared with."""
        names = [field.name for field in fields(Bound) if field.name != "expected"]
        expected = math.nan if self.expected is None else self.expected
        return Bound(expected=expected, **{name: getattr(self, name) for name in names})

    @classmethod
    def of(cls, record: Any, where: str, remedy: str) -> "CaseRecord":
        """The case that a file holds.

        Raises:
            DamagedFileError: it is not what the stage ``ledger`` writes.
        """
        values = _checked(cls, record, where, remedy)
        if values["beside"] is not None:
            beside = cls.of(values["beside"], f"{where}, beside it", remedy)
            if beside.id != values["id"] or beside.beside is not None:
                raise DamagedFileError(
                    f"{where} ({values['id']}): expected beside it the same case with nothing "
                    f"beside that, got {' and '.join(run.id for run in beside.runs)}; run {remedy}"
                )
            values["beside"] = beside
        return cls(**values)


def deciding(cases: Sequence[CaseRecord]) -> list[bool]:
    """Which cases of a statement that is no identity have a say.

    Where recorded runs measure it, a smaller run of today's, on other networks, stands beside
    theirs: one that is smaller than the paper's, or at a lower scale than its study's recorded run.
    """
    recorded = [case.recorded and case.measured is not None for case in cases]
    scales = {case.study: case.scale for case, own in zip(cases, recorded, strict=True) if own}
    aside = [case.smaller or is_below(case.scale, scales.get(case.study)) for case in cases]
    return [own or not (scales and less) for own, less in zip(recorded, aside, strict=True)]


@dataclass(frozen=True)
class Part:
    """One of the sentences of a statement, with the cases that measure it.

    Args:
        sentence: what it says; for an erratum, the corrected form.
        printed: for an erratum, what is in print of it.
        place: where it stands in its paper.
        cases: at least one.
    """

    sentence: str
    printed: str | None
    place: str
    cases: Sequence[CaseRecord]

    @property
    def case(self) -> CaseRecord:
        """The case that speaks for it: the first that was measured, if any was."""
        return next((case for case in self.cases if case.measured is not None), self.cases[0])


@dataclass(frozen=True, kw_only=True)
class StatementRecord(Heading):
    """One entry of ``reports/claims.json``: its heading, the verdict, and the cases.

    Args:
        verdict: one of :data:`~hessian_papers.ledger.verdicts.VERDICTS`.
        pooled: the number that decided it, if its quantifier has one for all cases.
        pooled_interval: its interval, or ``None``.
        cases: at least one.
    """

    verdict: str
    pooled: float | None
    pooled_interval: list[float | None] | None
    cases: list[CaseRecord]

    @property
    def estimate(self) -> Estimate:
        """The number that decided it, if there is one for all cases."""
        return _estimate(self.pooled, self.pooled_interval)

    @property
    def paper(self) -> str:
        """The key of the paper that says it, the first of several."""
        return next(iter(self.places))

    @property
    def location(self) -> str:
        """Where it stands there."""
        return self.places[self.paper]

    @property
    def parts(self) -> list[Part]:
        """Its sentences, each once, in the order of their first cases; a plain one is one part."""
        parts: dict[tuple[str, str | None], list[CaseRecord]] = {}
        for case in self.cases:
            parts.setdefault((case.sentence or self.sentence, case.printed), []).append(case)
        result = [
            Part(*said, place=cases[0].place or self.location, cases=cases)
            for said, cases in parts.items()
        ]
        # A ledger of an earlier commit has what is in print of the whole statement alone.
        if self.printed and not any(part.printed for part in result):
            result[0] = replace(result[0], printed=self.printed)
        return result

    @property
    def misprints(self) -> list[Part]:
        """Its parts that are not as printed, each print once."""
        printed = {part.printed: part for part in reversed(self.parts) if part.printed}
        return [*reversed(printed.values())]

    @classmethod
    def of(cls, record: Any, where: str, remedy: str) -> "StatementRecord":
        """The statement that a file holds.

        Raises:
            DamagedFileError: it is not what the stage ``ledger`` writes.
        """
        values = _checked(cls, record, where, remedy)
        values["cases"] = [
            CaseRecord.of(case, f"{where}, case {number}", remedy)
            for number, case in enumerate(values["cases"])
        ]
        return cls(**values)


def all_cases(statements: Iterable[StatementRecord]) -> list[CaseRecord]:
    """The cases of some statements, in their order."""
    return [case for statement in statements for case in statement.cases]


def misprints(statements: Iterable[StatementRecord]) -> list[tuple[StatementRecord, Part]]:
    """The misprints of the papers, each with the statement that it is a part of."""
    own = (statement for statement in statements if statement.book != "beyond")
    return [(statement, part) for statement in own for part in statement.misprints]


def write_ledger(path: Path, statements: Sequence[StatementRecord]) -> None:
    """Write a ledger, in its own order."""
    write_json(path, [asdict(statement) for statement in statements])


def read_ledger(reports: Path, remedy: str = "dvc repro ledger") -> list[StatementRecord]:
    """The ledger in its own order.

    Args:
        reports: the folder that holds ``claims.json``.
        remedy: what to run to get it, for the message.

    Raises:
        MissingResultError: there is no such file.
        DamagedFileError: the file is broken, empty, or an entry is not what the stage writes.
    """
    path = reports / "claims.json"
    records = read_json(path, remedy)
    if not isinstance(records, list) or not records:
        raise DamagedFileError(f"{path}: expected a list of statements, got none; run {remedy}")
    return [
        StatementRecord.of(record, f"{path}, entry {number}", remedy)
        for number, record in enumerate(records)
    ]
