"""The check of a picture with its text, whatever is missing of a study."""

import re

from matplotlib.text import Text

from tests.pipelines.marks import undrawn


def require_readable(figure, text):
    """A picture can be rendered; no text has what is no number, or a mark that is not drawn."""
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    texts = [item.get_text() for item in figure.findobj(Text)] + [text]
    assert not [text for text in texts if re.search(r"\b(nan|inf)\b", text)]
    assert undrawn(figure, text) == []
