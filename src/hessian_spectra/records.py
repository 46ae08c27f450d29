"""What the stages ``figures`` and ``claims`` leave in ``reports/``, read back and checked.

The page and the dashboard both start from here, so that neither shows a figure that the other does
not know, and a missing or broken file is one line that names the stage to run.
"""

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hessian_spectra.papers import reading_order
from hessian_spectra.results import MissingResultError

VERDICTS = ("reproduced", "corrected", "differs", "not run at this scale")
KINDS = ("identity", "value", "trend", "correlation")
RELATIONS = ("<=", ">=", "=")

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class RecordError(ValueError):
    """A file in ``reports/`` is not what its stage writes; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class FigureRecord:
    """One registered figure: ``reports/figures/<study>.json`` with the image beside it.

    Args:
        study: the study's name.
        kind: the module that draws it.
        paper: key of the paper.
        artifact: where it stands there, for example ``Figure 7``.
        title: one line.
        caption: its text; numbers in it come from the study's arrays.
        config: the study's resolved configuration.
        digest: the short SHA-256 of ``config``.
        command: what makes the figure.
        png: the image's bytes.
        width: of the image, in pixels.
        height: of the image, in pixels.
    """

    study: str
    kind: str
    paper: str
    artifact: str
    title: str
    caption: str
    config: Mapping[str, Any]
    digest: str
    command: str
    png: bytes
    width: int
    height: int

    @property
    def sha256(self) -> str:
        """The SHA-256 of the image, hexadecimal."""
        return hashlib.sha256(self.png).hexdigest()


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
        decides: which of them is compared: ``value``, ``low`` or ``high``.
        relation: how the two are compared.
        tolerance: how far they may be apart.
        reason: why this tolerance.
        verdict: one of :data:`VERDICTS`.
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
    decides: str
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


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """A sort key that puts ``fig2`` before ``fig10``.

    Example:
        >>> sorted(["fig10", "fig2", "fig2b"], key=natural_order)
        ['fig2', 'fig2b', 'fig10']
    """
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def read_record(path: Path, remedy: str) -> Any:
    """Read a JSON file of ``reports/``.

    Args:
        path: the file.
        remedy: what to run to get it, for the message.

    Raises:
        MissingResultError: there is no such file.
        RecordError: it is no JSON.
    """
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise MissingResultError(f"{path} is missing: run {remedy}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{path} is no JSON ({error}): delete it and run {remedy}") from None


def image_size(png: bytes, path: Path, remedy: str) -> tuple[int, int]:
    """Width and height of a PNG image in pixels.

    Args:
        png: the content of the file.
        path: the file, for the message.
        remedy: what to run to get it, for the message.

    Raises:
        RecordError: it is no PNG image, or cut off.
    """
    # The size stands in the header chunk; the closing chunk tells that nothing was cut off.
    if not png.startswith(_PNG_SIGNATURE) or b"IEND" not in png[-12:]:
        raise RecordError(f"{path} is no complete PNG image: delete it and run {remedy}")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def _fields(record: Any, known: list[str], where: str, remedy: str) -> dict[str, Any]:
    """The entries of ``record`` named in ``known``; all of them must be there."""
    if not isinstance(record, dict):
        raise RecordError(f"{where}: expected an object, got {record!r}; run {remedy}")
    missing = [name for name in known if name not in record]
    if missing:
        raise RecordError(f"{where}: expected {', '.join(missing)}, found none; run {remedy}")
    return {name: record[name] for name in known}


def _figure(path: Path) -> FigureRecord:
    remedy = f"dvc repro 'figures@{path.stem}'"
    known = [f.name for f in fields(FigureRecord) if f.name not in ("png", "width", "height")]
    entries = _fields(read_record(path, remedy), known, str(path), remedy)
    if entries["study"] != path.stem:
        raise RecordError(
            f"{path}: expected the study {path.stem!r}, got {entries['study']!r}; run {remedy}"
        )
    image = path.with_suffix(".png")
    try:
        png = image.read_bytes()
    except FileNotFoundError:
        raise MissingResultError(f"{image} is missing: run {remedy}") from None
    width, height = image_size(png, image, remedy)
    return FigureRecord(**entries, png=png, width=width, height=height)


def read_figures(reports: Path) -> list[FigureRecord]:
    """All registered figures, by paper and within a paper in natural order of their studies.

    Args:
        reports: the folder that holds ``figures/``.

    Raises:
        MissingResultError: there are no figures, or an image is missing.
        RecordError: a record or an image is broken.
    """
    paths = sorted((reports / "figures").glob("*.json"))
    if not paths:
        raise MissingResultError(
            f"{reports / 'figures'} holds no figures: run the stage figures (dvc repro)"
        )
    figures = [_figure(path) for path in paths]
    return sorted(figures, key=lambda f: (reading_order(f.paper), natural_order(f.study)))


def _claim(record: Any, number: int, path: Path, remedy: str) -> ClaimRecord:
    known = [f.name for f in fields(ClaimRecord)]
    where = f"{path}, entry {number}"
    claim = ClaimRecord(**_fields(record, known, where, remedy))
    allowed = {"verdict": VERDICTS, "kind": KINDS, "relation": RELATIONS}
    for name, values in allowed.items():
        if getattr(claim, name) not in values:
            raise RecordError(
                f"{where} ({claim.id}): expected {name} to be one of {', '.join(values)}, "
                f"got {getattr(claim, name)!r}; run {remedy}"
            )
    return claim


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
    records = read_record(path, remedy)
    if not isinstance(records, list) or not records:
        raise RecordError(f"{path}: expected a list of claims, got none; run {remedy}")
    return [_claim(record, number, path, remedy) for number, record in enumerate(records)]
