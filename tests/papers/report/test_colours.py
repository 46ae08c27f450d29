"""The colours of the page: of each verdict, and with enough contrast in both schemes."""

import re
from importlib import resources

import pytest

from hessian_papers.ledger.verdicts import VERDICTS
from hessian_papers.report.verdicts import style

STYLE, SIGNS = (
    resources.files("hessian_papers.report").joinpath(name).read_text("utf-8")
    for name in ("style.css", "verdicts.css")
)
# The colours of the light and the dark scheme, by their names.
SCHEMES = [
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
]


def luminance(colour):
    """Relative luminance by WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(item, other):
    low, high = sorted((luminance(item), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("known", SCHEMES, ids=["light", "dark"])
def test_text_has_the_contrast_that_wcag_aa_asks_for(known):
    pairs = [(f, b) for f in ("text", "quiet", "link") for b in ("page", "card", "code", "target")]
    # In the overview a cell's text stands on the colours of verdicts.
    fronts = ["reproduced", "corrected", "differs", "open", "not-tested"]
    pairs += [(front, f"{name}-back") for name in fronts for front in (name, "text")]
    assert [pair for pair in pairs if contrast(*map(known.get, pair)) < 4.5] == []


def test_every_verdict_has_a_sign_and_a_colour():
    styles = {style(verdict) for verdict in VERDICTS}
    # What has no verdict has the sign of any badge.
    signs = {*re.findall(r"\.badge\.([a-z-]+)::before", SIGNS)}
    assert signs == styles - {"shown", "not-tested"}
    assert styles <= {*re.findall(r"^\.([a-z-]+)[ ,]", SIGNS, re.M)}
    assert all(f"--{name}-back:" in STYLE for name in styles)
