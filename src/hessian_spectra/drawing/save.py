"""How a figure is written: PNG for the page, PDF for a paper, and a record of its origin."""

import io
import logging
from pathlib import Path

from matplotlib.figure import Figure

from hessian_spectra.drawing.curves import chart
from hessian_spectra.drawing.record import Origin, files
from hessian_spectra.results import digest, write_bytes, write_json

# It reports each font table that it copies into a PDF.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def rendered(figure: Figure) -> dict[str, bytes]:
    """A figure as PNG and PDF, by suffix. Equal figures give equal bytes."""
    # Without these entries matplotlib writes its version and the time into the files.
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}
    contents = {}
    for suffix, entries in metadata.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=entries)
        contents[suffix] = buffer.getvalue()
        # The layout is found once: it takes a good part of the time to draw.
        figure.set_layout_engine("none")
    return contents


def save(
    figure: Figure, caption: str, origin: Origin, folder: Path, recorded: bool = False
) -> None:
    """Write ``<study>.png`` and ``<study>/{figure.pdf, figure.json}`` to ``folder``.

    Equal figures give equal bytes.

    Args:
        figure: the figure.
        caption: its text, with the numbers in it taken from the study's arrays.
        origin: where it comes from.
        folder: where to write.
        recorded: whether it shows the recorded run: then the files are
            ``<study>/recorded.{png, pdf, json}``.
    """
    paths = files(folder, origin.study, recorded)
    for suffix, content in rendered(figure).items():
        write_bytes(paths[suffix], content)
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
    }
    write_json(paths["json"], record)
