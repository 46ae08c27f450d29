"""A search shows first what belongs to it: of the last `make repro` here, in a browser."""

import re

import pytest

from hessian_papers.report import FRONT, INDEX
from tests.pages import ROOT

REPORTS = ROOT / "reports"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (REPORTS / INDEX).is_file(), reason="no page: make repro"),
]

# Of each query the studies whose pictures belong to it; the first picture is one of them.
QUERIES = {
    "LeNet5": "dissecting-fig6 dissecting-fig11 dissecting-table8-photographs kronecker-factors",
    "GPT-2": (
        "cracking-fig5 cracking-fig6 gauss-newton-arms gauss-newton-full-size gauss-newton-parts"
    ),
    "MNIST": (
        "data-courses data-fig1c data-fig2 data-fig2-raw dissecting-fig2 dissecting-fig4 "
        "dissecting-table10"
    ),
    "sharpness": (
        "data-fig1c data-fig2 data-fig2-raw cracking-fig4 cracking-d33 cracking-fig27 "
        "predicted-correlations"
    ),
    "lambda": "closed-form-identities cracking-fig8 closed2024-fig3",
    "table 6": "dissecting-fig2 dissecting-fig11",
    "figure 27": "cracking-fig27",
    "PAC-Bayes": "pac-bayes-bases dissecting-table10 dissecting-fig31",
    "learning rate": "closed2024-fig3 cracking-fig27 cracking-fig8",
    "attention sink": "cracking-fig6 cracking-fig2 cracking-fig9",
}


@pytest.fixture(scope="module")
def page(browser):
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.goto((REPORTS / FRONT).as_uri())
    yield opened
    opened.close()


@pytest.mark.parametrize("query", QUERIES)
def test_the_first_pictures_belong_to_what_was_asked(page, query):
    page.fill("#search-text", query)
    links = page.locator("#results a").evaluate_all("all => all.map((link) => link.hash)")
    first = [link.removeprefix("#figure-") for link in links if link.startswith("#figure-")]
    assert first[0] in QUERIES[query].split()
    image = page.locator("#results img").first
    assert image.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }")


# What is no picture, and where it leads.
PLACES = {
    "misprint": "errata",
    "notation": "notation",
    "playground": "playground",
    "findings": "findings",
    "dissecting": "paper-wu2022dissecting",
    "second moment": "symbol-",
    "condition number": "symbol-",
}


@pytest.mark.parametrize("query", PLACES)
def test_sections_papers_and_symbols_are_found_first(page, query):
    page.fill("#search-text", query)
    first = page.locator("#results a").first.evaluate("(link) => link.hash")
    assert first.startswith(f"#{PLACES[query]}")


@pytest.mark.parametrize("query", ["erratum", "errata", "misprints", "correction"])
def test_what_is_wrong_in_print_is_found_by_any_word_for_it(page, query):
    page.fill("#search-text", query)
    links = page.locator("#results a").evaluate_all("all => all.map((link) => link.hash)")
    assert "#errata" in links[:3]
    said = page.locator("#results a", has=page.locator(".badge"))
    assert said.count() == 24
    assert {*said.locator(".badge").all_inner_texts()} == {"corrected"}


@pytest.mark.parametrize("query", ["moment", "λ_max", "learning_rate", "second_moment", "γ"])
def test_a_symbol_is_found_and_its_row_unfolded(page, query):
    page.fill("#search-text", query)
    links = page.locator("#results a").evaluate_all("all => all.map((link) => link.hash)")
    assert any(link.startswith("#symbol-") for link in links[:3])
    row = page.locator("#results a[href*='#symbol-']").first
    target = row.evaluate("(link) => link.hash")
    row.click()
    page.locator(target).wait_for(state="visible")
    assert page.locator(f"#notation {target}").count() == 1


def test_the_front_is_light_and_has_what_a_visitor_wants(page):
    sizes = {file: file.stat().st_size for file in REPORTS.rglob("*.html")}
    large = {file.name: size for file, size in sizes.items() if size > 400_000}
    assert {*large} <= {"page.html"}, "but for the document that has all, to be sent"
    for name in ("first", "playground", "findings", "verdicts", "errata", "notation"):
        assert page.locator(f"#{name}").count() == 1


def test_the_front_is_a_summary_of_four_sides_on_paper(page):
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    margin = dict.fromkeys(("top", "bottom", "left", "right"), "12mm")
    document = page.pdf(format="A4", print_background=True, margin=margin)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", document)) <= 4
