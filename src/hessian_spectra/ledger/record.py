"""The one record of a claim: what the ledger writes, and what page, table and dashboard read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hessian_spectra.ledger.bounds import KINDS, RELATIONS, VERDICTS
from hessian_spectra.results import RecordError, read_record, select_fields, write_json

_ALLOWED: Mapping[str, Sequence[str]] = {
    "verdict": VERDICTS,
    "kind": KINDS,
    "relation": RELATIONS,
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
        verdict: one of :data:`~hessian_spectra.ledger.bounds.VERDICTS`.
        study: the study that was measured, or ``None``.
        digest: the short SHA-256 of that study's configuration, or ``None``.
        test: the test that stands behind it, or ``None``.
        printed: for an erratum, what is in print.
        printed_error: for an erratum, the error of what is in print; ``None`` if it is no number.
        explanation: why we differ, or what a run would take.
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
    relation: str
    tolerance: float
    reason: str
    verdict: str
    study: str | None
    digest: str | None
    test: str | None
    printed: str | None
    printed_error: float | None
    explanation: str

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
            RecordError: it is not what the stage ``claims`` writes.
        """
        record = cls(**select_fields(entry, [f.name for f in fields(cls)], where, remedy))
        for name, values in _ALLOWED.items():
            if getattr(record, name) not in values:
                raise RecordError(
                    f"{where} ({record.id}): expected {name} to be one of {', '.join(values)}, "
                    f"got {getattr(record, name)!r}; run {remedy}"
                )
        return record


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
        RecordError: the file is broken, empty, or an entry is not what the stage writes.
    """
    path = reports / "claims.json"
    found = read_record(path, remedy)
    if not isinstance(found, list) or not found:
        raise RecordError(f"{path}: expected a list of claims, got none; run {remedy}")
    return [
        ClaimRecord.of(entry, f"{path}, entry {number}", remedy)
        for number, entry in enumerate(found)
    ]
