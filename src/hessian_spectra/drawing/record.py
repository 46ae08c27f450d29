"""The record of a figure: what is written beside the image, read back and checked.

The page and the dashboard both start from here, so that neither shows a figure that the other does
not know, and a missing or broken file is one line that names the stage to run.
"""

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hessian_spectra.papers import reading_order
from hessian_spectra.results import MissingResultError, RecordError, read_record, select_fields

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a figure comes from.

    Args:
        study: the study's name.
        config: its resolved configuration.
        package: the package of its kind, for example ``hessian_spectra.studies.scalar.data_scale``.
        arrays: the SHA-256 of each file of arrays that it was drawn from, by side. The ledger
            depends on the records of figures, and through them on all arrays.
    """

    study: str
    config: Mapping[str, Any]
    package: str
    arrays: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class FigureRecord:
    """One registered figure: ``reports/figures/<study>.json`` with the image beside it.

    Args:
        study: the study's name.
        kind: of the study.
        package: the package of its kind, ``hessian_spectra.studies.<family>.<kind>``.
        paper: key of the paper.
        artifact: where it stands there, for example ``Figure 7``.
        title: one line.
        caption: its text; numbers in it come from the study's arrays.
        config: the study's resolved configuration.
        digest: the short SHA-256 of ``config``.
        arrays: the SHA-256 of each file of arrays that it was drawn from, by side.
        command: what makes the figure.
        png: the image's bytes.
        width: of the image, in pixels.
        height: of the image, in pixels.
    """

    study: str
    kind: str
    package: str
    paper: str
    artifact: str
    title: str
    caption: str
    config: Mapping[str, Any]
    digest: str
    arrays: Mapping[str, str]
    command: str
    png: bytes
    width: int
    height: int

    @property
    def sha256(self) -> str:
        """The SHA-256 of the image, hexadecimal."""
        return hashlib.sha256(self.png).hexdigest()


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """A sort key that puts ``fig2`` before ``fig10``.

    Example:
        >>> sorted(["fig10", "fig2", "fig2b"], key=natural_order)
        ['fig2', 'fig2b', 'fig10']
    """
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


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


def _figure(path: Path) -> FigureRecord:
    remedy = f"dvc repro 'figures@{path.stem}'"
    known = [f.name for f in fields(FigureRecord) if f.name not in ("png", "width", "height")]
    entries = select_fields(read_record(path, remedy), known, str(path), remedy)
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
