"""The files of a figure: PNG and SVG for the page, a record of its origin."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from matplotlib.figure import Figure

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.interactive import Chart, script
from hessian_papers.drawing.overlay import underlay
from hessian_papers.drawing.record import control_files, files, remedy_of
from hessian_papers.drawing.vega_lite import document
from hessian_papers.results import Provenance
from hessian_spectra.files import write_bytes, write_json
from hessian_spectra.pictures import rendered


def save(
    figure: Figure,
    caption: str,
    provenance: Provenance,
    package: str,
    folder: Path,
    controls: tuple[Figure, str] | None = None,
    under: Sequence[Chart] = (),
) -> None:
    """Write ``<study>.png`` and ``<study>/figure.{svg, json}`` to ``folder/<paper>``.

    What the panels draw stands as numbers in ``<study>/figure-series.json``, and in the same folder
    as a script for the page's charts and as charts in Vega-Lite, which VS Code and JupyterLab open.
    Equal figures give equal bytes.

    Args:
        figure: the figure.
        caption: its text, with the numbers in it taken from the study's arrays.
        provenance: where it comes from; of a recorded run the files are
            ``<study>/recorded.{png, svg, json}``.
        package: of the study's kind, for example ``hessian_papers.studies.scalar.data_scale``.
        folder: where to write, each paper to a folder of its own.
        controls: a second picture and its text, of what the paper does not draw; its files are
            ``<study>/controls.png``.
        under: what another run draws, which the picture has in grey under it, and no record of.
    """
    paper = provenance.config["paper"]
    place = (folder / paper, provenance.study, provenance.recorded)
    paths = files(*place)
    drawn = series(figure)
    if under:
        underlay(figure, under)
    _write(figure, paths, drawn)
    if numbers := script(f"{provenance.study}/{paths['js'].stem}", drawn):
        write_bytes(paths["js"], numbers)
    if charts := document(drawn):
        compact = json.dumps(charts, ensure_ascii=False, separators=(",", ":"))
        write_bytes(paths["vega"], compact.encode())
    if controls is not None:
        _write(controls[0], control_files(*place), series(controls[0]))
    record = {
        "provenance": asdict(provenance),
        "package": package,
        "caption": caption,
        "command": remedy_of(paper),
        "controls": None if controls is None else controls[1],
    }
    write_json(paths["json"], record)


def _write(figure: Figure, paths: Mapping[str, Path], drawn: Sequence[Chart]) -> None:
    """Write a picture in each format that it has a path for, and its series."""
    formats = [suffix for suffix in ("png", "svg") if suffix in paths]
    for suffix, content in rendered(figure, formats).items():
        write_bytes(paths[suffix], content)
    write_json(paths["series"], drawn)
