"""How a figure is written: PNG for the page, PDF for a paper, and a record of its origin."""

import io
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from hessian_spectra.results import digest, write_bytes, write_json

# It reports each font table that it copies into a PDF.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def save(
    figure: Figure,
    caption: str,
    study: str,
    config: Mapping[str, Any],
    arrays: Mapping[str, str],
    folder: Path,
) -> None:
    """Write ``<study>.png``, ``.pdf`` and ``.json`` to ``folder``; equal figures give equal bytes.

    Args:
        figure: the figure.
        caption: its text, with the numbers in it taken from the study's arrays.
        study: the study's name.
        config: the study's resolved configuration.
        arrays: the SHA-256 of each file of arrays that it was drawn from, by side. The ledger
            depends on the records of figures, and through them on all arrays.
        folder: where to write.
    """
    # Without these entries matplotlib writes its version and the time into the files.
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}
    for suffix in ("png", "pdf"):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=metadata[suffix])
        write_bytes(folder / f"{study}.{suffix}", buffer.getvalue())
    record = {
        "study": study,
        "kind": config["kind"],
        "paper": config["paper"],
        "artifact": config["artifact"],
        "title": config["title"],
        "caption": caption,
        "config": dict(config),
        "digest": digest(config),
        "arrays": dict(arrays),
        "command": f"dvc repro 'figures@{study}'",
    }
    write_json(folder / f"{study}.json", record)
