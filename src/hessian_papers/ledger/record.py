"""The one record of a claim: what the ledger writes, and what page, table and dashboard read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hessian_papers.ledger.bounds import KINDS, RELATIONS, VERDICTS, Relation
from hessian_papers.results import select_fields
from hessian_spectra.files import DamagedFileError, read_json, write_json

Check = tuple[Callable[[Any], bool], str]


def _one_of(names: Sequence[str]) -> Check:
    return lambda value: value in names, f"one of {', '.join(names)}"


def _are_departures(value: Any) -> bool:
    pairs = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)


# What the fields of an entry must be that others read by name.
_CHECKS: Mapping[str, Check] = {
    "verdict": _one_of(VERDICTS),
    "kind": _one_of(KINDS),
    "relation": _one_of(RELATIONS),
    "scale": (lambda value: value is None or isinstance(value, str), "a name or null"),
    "recorded": (lambda value: isinstance(value, bool), "true or false"),
    "departs": (_are_departures, "pairs of values by name"),
}


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """One entry of ``reports/claims.json``.

    Args:
        id: its name, unique in the ledger.
        paper: key of the paper.
        location: where it stands in the paper.
        statement: the claim; for an erratum, the corrected one.
        kind: identity, value, trend or correlation.
        expected: what the measured value is compared with; ``None`` if nothing was measured.
        source: where ``expected`` comes from.
        measured: the measured value, or ``None``.
        interval: its confidence interval, two numbers, or ``None``.
        relation: how the two are compared.
        tolerance: how far they may be apart.
        reason: why this tolerance.
        verdict: one of :data:`~hessian_papers.ledger.bounds.VERDICTS`.
        study: the study that was measured, or ``None``.
        digest: the short SHA-256 of that study's configuration, or ``None``.
        test: the test that stands behind it, or ``None``.
        printed: for an erratum, what is in print.
        printed_error: for an erratum, the error of what is in print; ``None`` if it is no number.
        explanation: why we differ, or what a run would take.
        scale: of the run that this was measured on; ``None`` if no study of ours measures it.
        recorded: whether that is a recorded run, not today's.
        departs: the settings of that run that are not the paper's, ``[value here, the paper's]``.
        beside: the same claim on the weaker run, if there is one; nothing is beside that.
    """

    id: str
    paper: str
    location: str
    statement: str
    kind: str
    expected: float | None
    source: str
    measured: float | None
    interval: list[float | None] | None
    relation: Relation
    tolerance: float
    reason: str
    verdict: str
    study: str | None
    digest: str | None
    test: str | None
    printed: str | None
    printed_error: float | None
    explanation: str
    scale: str | None
    recorded: bool
    departs: dict[str, list[Any]]
    beside: "ClaimRecord | None"

    @property
    def runs(self) -> "list[ClaimRecord]":
        """The claim on each run, the one that decides first."""
        return [self] if self.beside is None else [self, self.beside]

    @property
    def low(self) -> float | None:
        """Lower end of the interval, or ``None``."""
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        """Upper end of the interval, or ``None``."""
        return self.interval[1] if self.interval else None

    @classmethod
    def of(cls, entry: Any, where: str, remedy: str) -> "ClaimRecord":
        """The record that an entry of a file holds.

        Raises:
            DamagedFileError: it is not what the stage ``claims`` writes.
        """
        found = select_fields(entry, [f.name for f in fields(cls)], where, remedy)
        where = f"{where} ({found['id']})"
        for name, (fits, expected) in _CHECKS.items():
            if not fits(found[name]):
                raise DamagedFileError(
                    f"{where}: expected {name} to be {expected}, got {found[name]!r}; run {remedy}"
                )
        if found["beside"] is not None:
            beside = cls.of(found["beside"], f"{where}, beside it", remedy)
            if beside.id != found["id"] or beside.beside is not None:
                raise DamagedFileError(
                    f"{where}: expected beside it the same claim with nothing beside that, "
                    f"got {' and '.join(run.id for run in beside.runs)}; run {remedy}"
                )
            found["beside"] = beside
        return cls(**found)


def write_claims(path: Path, records: Sequence[ClaimRecord]) -> None:
    """Write a ledger, in its own order."""
    write_json(path, [asdict(record) for record in records])


def read_claims(reports: Path, remedy: str = "dvc repro claims") -> list[ClaimRecord]:
    """The ledger in its own order.

    Args:
        reports: the folder that holds ``claims.json``.
        remedy: what to run to get it, for the message.

    Raises:
        MissingResultError: there is no such file.
        DamagedFileError: the file is broken, empty, or an entry is not what the stage writes.
    """
    path = reports / "claims.json"
    found = read_json(path, remedy)
    if not isinstance(found, list) or not found:
        raise DamagedFileError(f"{path}: expected a list of claims, got none; run {remedy}")
    return [
        ClaimRecord.of(entry, f"{path}, entry {number}", remedy)
        for number, entry in enumerate(found)
    ]
