"""A figure as files: PNG for a page, PDF for a paper."""

import io
import logging

from matplotlib.figure import Figure

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
