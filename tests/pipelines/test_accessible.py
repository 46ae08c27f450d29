"""The pages can be read by everybody: of the last `make repro` here, in a browser, unfolded."""

from importlib import resources

import pytest

from hessian_papers.papers import PAPERS
from hessian_papers.report import FRONT
from tests.pages import ROOT

REPORTS = ROOT / "reports"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (REPORTS / FRONT).is_file(), reason="no page: make repro"),
]

# One figure a paper: their pages are of one template.
FIGURES = [
    f"{paper}/{file.name}"
    for paper in PAPERS
    for file in sorted(REPORTS.glob(f"{paper}/*.html"))[-1:]
]
WIDTH, SCREEN = 1280, 800

# What a checker, axe-core, calls serious or critical, each with the first element that it is of.
# A formula has the colours of its text: without formulas it takes half the time.
FIND = """async (rules) => {
  const options = { resultTypes: ["violations"], ...(rules.length ? { runOnly: rules } : {}) };
  const { violations } = await axe.run({ exclude: ["math"] }, options);
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
}"""
UNFOLD = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
# The charts of a figure's numbers are drawn when they are unfolded.
DRAWN = "() => [...document.querySelectorAll('.explore')].every((one) => one.querySelector('svg'))"


@pytest.fixture(scope="module")
def page(browser):
    opened = browser.new_page(viewport={"width": WIDTH, "height": SCREEN})
    yield opened
    opened.close()


def unfold(page, name):
    page.goto((REPORTS / name).as_uri())
    page.evaluate(UNFOLD)
    page.wait_for_function(DRAWN)


def barriers(page):
    """The findings of the checker in light, and in dark, which only changes colours."""
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    findings = []
    for scheme, rules in (("dark", ["color-contrast"]), ("light", [])):
        page.emulate_media(color_scheme=scheme)
        findings += [f"in {scheme}, {barrier}" for barrier in page.evaluate(FIND, rules)]
    return findings


@pytest.mark.parametrize("name", [FRONT, *(f"{paper}.html" for paper in PAPERS), *FIGURES])
def test_a_checker_finds_no_barrier(page, name):
    unfold(page, name)
    assert barriers(page) == []


def test_a_checker_finds_none_in_the_results_of_a_search(page):
    page.goto((REPORTS / f"{next(iter(PAPERS))}.html").as_uri())
    page.fill("#search-text", "sharpness")
    page.locator("#results a").first.wait_for()
    assert barriers(page) == []


def test_the_checker_sees_what_is_wrong_in_one_scheme_alone(page):
    colours = "background: light-dark(#fff, #000); color: light-dark(#000, #222)"
    text = f'<p style="color-scheme: light dark; {colours}">Text.</p><img>'
    page.goto("about:blank")
    page.set_content(f'<html lang="en"><title>A page</title>{text}</html>')
    dark, light = barriers(page)
    assert dark.startswith("in dark, color-contrast: <p ")
    assert light.startswith("in light, image-alt: <img>")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_unfolded_is_forty_screens_at_most(page, paper):
    unfold(page, f"{paper}.html")
    assert page.evaluate("document.documentElement.scrollHeight") <= 40 * SCREEN
