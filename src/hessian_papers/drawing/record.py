"""The record of a figure: what is written beside the image, read back and checked.

The page and the dashboard both start from here, so that neither shows a figure that the other does
not know, and a missing or broken file is one line that names the stage to run.
"""

import hashlib
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hessian_papers.drawing.interactive import chart
from hessian_papers.formulas import plain
from hessian_papers.papers import reading_order
from hessian_papers.results import select_fields
from hessian_spectra.files import DamagedFileError, MissingResultError, read_json

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Fields that do not stand in the record itself.
_OF_THE_FILES = ("image", "svg", "pdf", "js", "png", "width", "height", "chart", "recorded")
# What a figure's second picture shows, apart from the paper's panels.
CONTROLS = "controls"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a figure comes from.

    Args:
        study: the study's name.
        config: its resolved configuration.
        package: the package of its kind, for example ``hessian_papers.studies.scalar.data_scale``.
        arrays: the SHA-256 of each file of the data set that it was drawn from. The ledger
            depends on the records of figures, and through them on all arrays.
        scale: at which it was run, for example ``demo``.
        facts: of today's run the versions of packages and the digests of a user's own files; of a
            recorded one configuration, hardware and seconds as well.
        departs: the settings that are not the paper's: ``{key: [value here, the paper's]}``.
        overrides: of a recorded run the settings that are not those of its scale, by key.
        damaged: what is wrong with the recorded run, if it is not shown for that.
        recorded: whether it shows a recorded run.
    """

    study: str
    config: Mapping[str, Any]
    package: str
    arrays: Mapping[str, str]
    scale: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    departs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    damaged: str = ""
    recorded: bool = False


@dataclass(frozen=True, kw_only=True)
class Picture:
    """An image on the disk.

    Args:
        image: its file.
        svg: the file of the same picture as a drawing of lines, which need not be there.
        png: the image's bytes.
        width: in pixels.
        height: in pixels.
        caption: its text.
    """

    image: Path
    svg: Path
    png: bytes
    width: int
    height: int
    caption: str

    @property
    def sha256(self) -> str:
        """The SHA-256 of the image, hexadecimal."""
        return hashlib.sha256(self.png).hexdigest()


@dataclass(frozen=True, kw_only=True)
class FigureRecord(Picture):
    """One registered figure: ``reports/figures/<paper>/<study>.png``, its PDF and its record.

    Numbers in its caption come from the study's arrays.

    Args:
        study: the study's name.
        kind: of the study.
        package: the package of its kind, ``hessian_papers.studies.<family>.<kind>``.
        paper: key of the paper.
        artifact: where it stands there, for example ``Figure 7``.
        title: one line.
        config: the study's resolved configuration.
        digest: the short SHA-256 of ``config``.
        arrays: the SHA-256 of each file of the data set that it was drawn from.
        command: what makes the figure.
        scale: at which it was run.
        facts: see :class:`Origin`.
        departs: the settings that are not the paper's: ``{key: [value here, the paper's]}``.
        overrides: see :class:`Origin`.
        damaged: what is wrong with the recorded run, if it is not shown for that.
        chart: the curves of its main panel (``interactive.chart``), of its series.
        controls: a second picture, of what the paper does not draw: errors against brute force and
            controls. ``None`` if there is none.
        pdf: the file of the same figure for print, which need not be there.
        js: the file of its numbers for the page's charts, which need not be there.
        recorded: the same figure, drawn from the arrays of the recorded run, if there is one.
    """

    study: str
    kind: str
    package: str
    paper: str
    artifact: str
    title: str
    config: Mapping[str, Any]
    digest: str
    arrays: Mapping[str, str]
    command: str
    scale: str
    facts: Mapping[str, Any]
    departs: Mapping[str, Sequence[Any]]
    overrides: Mapping[str, Any]
    damaged: str
    chart: Mapping[str, Any]
    controls: Picture | None
    pdf: Path
    js: Path
    recorded: "FigureRecord | None" = None

    @property
    def heading(self) -> str:
        """Where it stands and its title, in plain signs."""
        return plain(f"{self.artifact}: {self.title}")


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
        DamagedFileError: it is no PNG image, or cut off.
    """
    # The size stands in the header chunk; the closing chunk tells that nothing was cut off.
    if not png.startswith(_PNG_SIGNATURE) or b"IEND" not in png[-12:]:
        raise DamagedFileError(f"{path} is no complete PNG image: delete it and run {remedy}")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def files(folder: Path, study: str, recorded: bool = False) -> dict[str, Path]:
    """Where a figure's image, its other formats, its record and its series are.

    Args:
        folder: the folder of the paper's figures.
        study: the study's name.
        recorded: whether of the recorded run, which is drawn beside today's.

    Example:
        >>> [path.as_posix() for path in files(Path("figures"), "mine").values()]
        ... # doctest: +NORMALIZE_WHITESPACE
        ['figures/mine.png', 'figures/mine/figure.svg', 'figures/mine/figure.pdf',
        'figures/mine/figure.json', 'figures/mine/figure-series.js',
        'figures/mine/figure-series.json']
    """
    own = folder / study
    name = "recorded" if recorded else "figure"
    image = own / "recorded.png" if recorded else folder / f"{study}.png"
    ends = {suffix: f".{suffix}" for suffix in ("svg", "pdf", "json")}
    ends |= {"js": "-series.js", "series": "-series.json"}
    return {"png": image, **{part: own / f"{name}{end}" for part, end in ends.items()}}


def control_files(folder: Path, study: str, recorded: bool = False) -> dict[str, Path]:
    """Where a figure's second picture is, if it has one: image, SVG and series.

    Args:
        folder: the folder of the paper's figures.
        study: the study's name.
        recorded: whether of the recorded run.
    """
    name = f"{CONTROLS}-recorded" if recorded else CONTROLS
    ends = {"png": ".png", "svg": ".svg", "series": "-series.json"}
    return {part: folder / study / f"{name}{end}" for part, end in ends.items()}


def _picture(paths: Mapping[str, Path], caption: str, remedy: str) -> Picture:
    image = paths["png"]
    try:
        png = image.read_bytes()
    except FileNotFoundError:
        raise MissingResultError(f"{image} is missing: run {remedy}") from None
    width, height = image_size(png, image, remedy)
    return Picture(
        image=image, svg=paths["svg"], png=png, width=width, height=height, caption=caption
    )


def _figure(folder: Path, study: str, recorded: bool = False) -> FigureRecord:
    paths, remedy = files(folder, study, recorded), f"dvc repro 'figures@{study}'"
    record = paths["json"]
    known = [f.name for f in fields(FigureRecord) if f.name not in _OF_THE_FILES]
    entries = select_fields(read_json(record, remedy), known, str(record), remedy)
    if entries["study"] != study:
        raise DamagedFileError(
            f"{record}: expected the study {study!r}, got {entries['study']!r}; run {remedy}"
        )
    main = vars(_picture(paths, entries.pop("caption"), remedy))
    if entries["controls"] is not None:
        second = control_files(folder, study, recorded)
        entries["controls"] = _picture(second, entries["controls"], remedy)
    shown = chart(read_json(paths["series"], remedy))
    return FigureRecord(**entries, **main, chart=shown, pdf=paths["pdf"], js=paths["js"])


def _with_recorded(folder: Path, study: str) -> FigureRecord:
    """A study's figure, with the one of its recorded run if any file of that is there."""
    figure = _figure(folder, study)
    recorded = files(folder, study, recorded=True)
    if not any(path.is_file() for path in recorded.values()):
        return figure
    return replace(figure, recorded=_figure(folder, study, recorded=True))


def read_figures(reports: Path, paper: str = "*") -> list[FigureRecord]:
    """All registered figures, by paper and within a paper in natural order of their studies.

    Args:
        reports: the folder that holds ``figures/<paper>/``.
        paper: the key of one paper, for its figures alone.

    Raises:
        MissingResultError: there are no figures, or an image or a record is missing.
        DamagedFileError: a record or an image is broken.
    """
    folder = reports / "figures"
    entries = {(path.parent, path.name) for path in folder.glob(f"{paper}/[!.]*/")}
    entries |= {(path.parent, path.stem) for path in folder.glob(f"{paper}/[!.]*.png")}
    if not entries:
        raise MissingResultError(f"{folder} holds no figures: run the stage figures (dvc repro)")
    figures = [_with_recorded(own, study) for own, study in entries]
    return sorted(figures, key=lambda f: (reading_order(f.paper), natural_order(f.study)))
