"""How a figure is written: PNG for the page, PDF for a paper, and a record of its origin."""

import io
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from hessian_spectra.results import digest, write_bytes, write_json

# It reports each font table that it copies into a PDF.
logging.getLogger("fontTools").setLevel(logging.WARNING)


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
