"""A figure as files: PNG and SVG for a page, PDF for a paper."""

import io
import logging
from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure

# It reports each font table that it copies into a PDF, and warns of dates in matplotlib's fonts.
logging.getLogger("fontTools").setLevel(logging.ERROR)

# Without these entries matplotlib writes its version and the time into the files.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Creator": None, "Date": None},
}


def rendered(figure: Figure, suffixes: Iterable[str] = ("png", "pdf")) -> dict[str, bytes]:
    """A figure as files, by suffix. Equal figures give equal bytes.

    Args:
        figure: the figure.
        suffixes: which ones: ``png``, ``pdf`` or ``svg``.
    """
    contents = {}
    for suffix in suffixes:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=_METADATA[suffix])
        contents[suffix] = buffer.getvalue()
        # The layout is found once: it takes a good part of the time to draw. The engine "none" is a
        # placeholder, for which matplotlib draws each further file twice.
        figure.set_layout_engine(None)
    return contents
