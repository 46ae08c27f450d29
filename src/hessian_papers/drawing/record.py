"""The record of a figure: what is written beside the image, read back and checked.

The page and the dashboard both start from here, so that neither shows a figure that the other does
not know, and a missing or broken file is one line that names the stage to run.
"""

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hessian_papers.drawing.interactive import chart
from hessian_papers.formulas import plain
from hessian_papers.papers import reading_order
from hessian_papers.results import Provenance, select_fields
from hessian_spectra.files import DamagedFileError, MissingResultError, digest, read_json

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# The fields that stand in the record itself.
_IN_THE_RECORD = ("provenance", "package", "caption", "command", "controls")
# What a figure's second picture shows, apart from the paper's panels.
CONTROLS = "controls"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """An image on the disk.

    Args:
        image: its file.
        svg: the file of the same picture as a drawing of lines, which need not be there; of a
            second picture there is none.
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
    """One registered figure: ``reports/figures/<paper>/<study>.png``, its SVG and its record.

    Numbers in its caption come from the study's arrays.

    Args:
        provenance: where the run that it shows comes from.
        package: the package of its kind, ``hessian_papers.studies.<family>.<kind>``.
        command: what makes the figure.
        chart: its main panel (``interactive.chart``), of its series.
        controls: a second picture, of what the paper does not draw: errors against brute force and
            controls. ``None`` if there is none.
        js: the file of its numbers for the page's charts, which need not be there.
        vega: the file of its charts in Vega-Lite, which need not be there.
        recorded: the same figure, drawn from the arrays of the recorded run, if there is one.
    """

    provenance: Provenance
    package: str
    command: str
    chart: Mapping[str, Any]
    controls: Picture | None
    js: Path
    vega: Path
    recorded: "FigureRecord | None" = None

    @property
    def study(self) -> str:
        """The study's name."""
        return self.provenance.study

    @property
    def config(self) -> Mapping[str, Any]:
        """The study's resolved configuration."""
        return self.provenance.config

    @property
    def paper(self) -> str:
        """The key of the paper."""
        return str(self.config["paper"])

    @property
    def artifact(self) -> str:
        """Where it stands in the paper, for example ``Figure 7``."""
        return str(self.config["artifact"])

    @property
    def title(self) -> str:
        """Its title, one line."""
        return str(self.config["title"])

    @property
    def digest(self) -> str:
        """The short SHA-256 of its configuration."""
        return digest(self.config)

    @property
    def heading(self) -> str:
        """Where it stands and its title, in plain signs."""
        return plain(f"{self.artifact}: {self.title}")


def remedy_of(paper: str) -> str:
    """The command that makes the figures of a paper, of which only stale ones are drawn."""
    return f"dvc repro paper@{paper}"


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
        ['figures/mine.png', 'figures/mine/figure.svg', 'figures/mine/figure.json',
        'figures/mine/figure-series.js', 'figures/mine/figure.vl.json',
        'figures/mine/figure-series.json']
    """
    own = folder / study
    name = "recorded" if recorded else "figure"
    image = own / "recorded.png" if recorded else folder / f"{study}.png"
    ends = {suffix: f".{suffix}" for suffix in ("svg", "json")}
    ends |= {"js": "-series.js", "vega": ".vl.json", "series": "-series.json"}
    return {"png": image, **{part: own / f"{name}{end}" for part, end in ends.items()}}


def control_files(folder: Path, study: str, recorded: bool = False) -> dict[str, Path]:
    """Where a figure's second picture is, if it has one: image and series.

    Args:
        folder: the folder of the paper's figures.
        study: the study's name.
        recorded: whether of the recorded run.
    """
    name = f"{CONTROLS}-recorded" if recorded else CONTROLS
    ends = {"png": ".png", "series": "-series.json"}
    return {part: folder / study / f"{name}{end}" for part, end in ends.items()}


def _picture(paths: Mapping[str, Path], caption: str, remedy: str) -> Picture:
    image = paths["png"]
    try:
        png = image.read_bytes()
    except FileNotFoundError:
        raise MissingResultError(f"{image} is missing: run {remedy}") from None
    width, height = image_size(png, image, remedy)
    return Picture(
        image=image,
        svg=paths.get("svg", image),
        png=png,
        width=width,
        height=height,
        caption=caption,
    )


def _figure(folder: Path, study: str, recorded: bool = False) -> FigureRecord:
    paths, remedy = files(folder, study, recorded), remedy_of(folder.name)
    record = paths["json"]
    entries = select_fields(read_json(record, remedy), _IN_THE_RECORD, str(record), remedy)
    known = [f.name for f in fields(Provenance)]
    origin = select_fields(entries.pop("provenance"), known, str(record), remedy)
    if origin["study"] != study:
        raise DamagedFileError(
            f"{record}: expected the study {study!r}, got {origin['study']!r}; run {remedy}"
        )
    main = vars(_picture(paths, entries.pop("caption"), remedy))
    if entries["controls"] is not None:
        second = control_files(folder, study, recorded)
        entries["controls"] = _picture(second, entries["controls"], remedy)
    entries |= {"provenance": Provenance(**origin), "js": paths["js"], "vega": paths["vega"]}
    return FigureRecord(**entries, **main, chart=chart(read_json(paths["series"], remedy)))


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
        raise MissingResultError(f"{folder} holds no figures: run dvc repro")
    figures = [_with_recorded(own, study) for own, study in entries]
    return sorted(figures, key=lambda f: (reading_order(f.paper), natural_order(f.study)))
