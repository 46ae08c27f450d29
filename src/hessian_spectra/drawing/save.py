"""How a figure is written: PNG for the page, PDF for a paper, and a record of its origin."""

import io
import logging
from pathlib import Path

from matplotlib.figure import Figure

from hessian_spectra.drawing.record import Origin
from hessian_spectra.results import digest, write_bytes, write_json

# It reports each font table that it copies into a PDF.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def save(figure: Figure, caption: str, origin: Origin, folder: Path) -> None:
    """Write ``<study>.png``, ``.pdf`` and ``.json`` to ``folder``; equal figures give equal bytes.

    Args:
        figure: the figure.
        caption: its text, with the numbers in it taken from the study's arrays.
        origin: where it comes from.
        folder: where to write.
    """
    # Without these entries matplotlib writes its version and the time into the files.
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}
    for suffix in ("png", "pdf"):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=metadata[suffix])
        write_bytes(folder / f"{origin.study}.{suffix}", buffer.getvalue())
    config = origin.config
    record = {name: config[name] for name in ("kind", "paper", "artifact", "title")} | {
        "study": origin.study,
        "package": origin.package,
        "caption": caption,
        "config": dict(config),
        "digest": digest(config),
        "arrays": dict(origin.arrays),
        "command": f"dvc repro 'figures@{origin.study}'",
    }
    write_json(folder / f"{origin.study}.json", record)
