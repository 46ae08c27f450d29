"""The picture of a finding in a browser, on wide and narrow screens, in light and dark."""

import re

import pytest

from hessian_papers.report import FRONT, build, read
from hessian_papers.report.findings import Finding, Group, Picture, measured
from tests.papers.report.test_browser import colours
from tests.papers.report.test_colours import contrast


@pytest.fixture
def page(sample_root, tmp_path, browser):
    """The front page with a finding that has a picture."""
    content = read(sample_root / "reports")
    groups = [Group("some cases", measured(content.statements[:1]))]
    groups += [Group("others, of which each is named", measured(content.statements[1:4]))]
    picture = Picture("error, in words", "number", groups, (0.0, "none"))
    finding = Finding("one", "It holds.", True, [], "cracking-fig7", picture=picture)
    (tmp_path / FRONT).write_text(build(content, [finding], part=FRONT))
    opened = browser.new_page()
    opened.goto((tmp_path / FRONT).as_uri())
    yield opened
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_picture_of_a_finding_can_be_read(page, width, scheme):
    """No letter is small, leaves the card, or has a colour near the card's."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    card = page.locator("ol.findings li").first
    frame = card.bounding_box()
    texts = card.locator("svg text").all()
    assert len(texts) > 6
    for text in texts:
        box = text.bounding_box()
        assert frame["x"] <= box["x"] < box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert box["height"] >= 11
    ground = colours(card)[0]
    for part in ("svg .heading", "svg .mark"):
        fill = card.locator(part).first.evaluate("(e) => getComputedStyle(e).fill")
        colour = "#{:02x}{:02x}{:02x}".format(*map(int, re.findall(r"\d+", fill)[:3]))
        assert contrast(colour, ground) > 4.5, part
