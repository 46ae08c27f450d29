"""The files of a figure: PNG for the page, PDF for a paper, and a record of its origin."""

import logging
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from hessian_papers.drawing.curves import chart, series
from hessian_papers.drawing.record import Origin, control_files, files
from hessian_spectra.files import digest, write_bytes, write_json
from hessian_spectra.pictures import rendered

# It reports each font table that it copies into a PDF.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def save(
    figure: Figure,
    caption: str,
    origin: Origin,
    folder: Path,
    controls: tuple[Figure, str] | None = None,
) -> None:
    """Write ``<study>.png`` and ``<study>/{figure.pdf, figure.json}`` to ``folder/<paper>``.

    What the panels draw stands as numbers in ``<study>/figure-series.json``. Equal figures give
    equal bytes.

    Args:
        figure: the figure.
        caption: its text, with the numbers in it taken from the study's arrays.
        origin: where it comes from; of a recorded run the files are
            ``<study>/recorded.{png, pdf, json}``.
        folder: where to write, each paper to a folder of its own.
        controls: a second picture and its text, of what the paper does not draw; its files are
            ``<study>/controls.{png, pdf}``.
    """
    place = (folder / origin.config["paper"], origin.study, origin.recorded)
    paths = files(*place)
    _write(figure, paths)
    if controls is not None:
        _write(controls[0], control_files(*place))
    config = origin.config
    record = {name: config[name] for name in ("kind", "paper", "artifact", "title")} | {
        "study": origin.study,
        "package": origin.package,
        "caption": caption,
        "config": dict(config),
        "digest": digest(config),
        "arrays": dict(origin.arrays),
        "command": f"dvc repro 'figures@{origin.study}'",
        "scale": origin.scale,
        "facts": dict(origin.facts),
        "departs": dict(origin.departs),
        "damaged": origin.damaged,
        "chart": chart(figure),
        "controls": None if controls is None else controls[1],
    }
    write_json(paths["json"], record)


def _write(figure: Figure, paths: Mapping[str, Path]) -> None:
    """Write a picture as PNG and PDF, and its series."""
    for suffix, content in rendered(figure).items():
        write_bytes(paths[suffix], content)
    write_json(paths["series"], series(figure))
