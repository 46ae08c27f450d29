"""Recorded runs at the papers' own scale: ``reports/evidence/<study>/``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hessian_spectra.drawing.record import image_size
from hessian_spectra.ledger.record import ClaimRecord, read_claims
from hessian_spectra.results import MissingResultError, RecordError, read_record

_REMEDY = "git checkout reports/evidence, which holds recorded runs"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a recorded run left.

    Args:
        facts: names and values: sizes, configuration digest, commit, hardware, time.
        claims: the study's claims, measured on this run.
        png: the figure.
        width: of the figure, in pixels.
        height: of the figure, in pixels.
    """

    facts: Mapping[str, Any]
    claims: Sequence[ClaimRecord]
    png: bytes
    width: int
    height: int


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, their names joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def read_evidence(reports: Path, study: str) -> Evidence | None:
    """The recorded run of a study, or ``None`` if there is none.

    Raises:
        MissingResultError: one of its three files is missing.
        RecordError: one of them is broken.
    """
    folder = reports / "evidence" / study
    if not folder.is_dir():
        return None
    facts = read_record(folder / "facts.json", _REMEDY)
    if not isinstance(facts, Mapping):
        raise RecordError(f"{folder / 'facts.json'}: expected an object, got {facts!r}; {_REMEDY}")
    image = folder / "figure.png"
    if not image.is_file():
        raise MissingResultError(f"{image} is missing: run {_REMEDY}")
    png = image.read_bytes()
    width, height = image_size(png, image, _REMEDY)
    claims = read_claims(folder, _REMEDY)
    return Evidence(facts=_flat(facts), claims=claims, png=png, width=width, height=height)
