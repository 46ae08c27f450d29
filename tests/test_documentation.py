"""The documentation says all that the library exports, and asks no other host for anything."""

import importlib
import inspect
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest
from docutils import nodes

import hessian_spectra
from hessian_papers.theorems import THEOREMS
from tests.pages import ROOT

sys.path.insert(0, str(ROOT / "docs"))
formula_renderer, reference, showcase, sources = map(
    importlib.import_module, ("formula_renderer", "reference", "showcase", "sources")
)

ROOMS = hessian_spectra._ROOMS


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """The pages that `make docs` makes; a warning is an error."""
    out = tmp_path_factory.mktemp("documentation")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", out / "doctrees", ROOT / "docs", out / "html"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


class Addresses(HTMLParser):
    """The addresses that a page has a browser load, and the names that can be linked in it."""

    def __init__(self, page):
        super().__init__()
        self.loaded, self.links, self.anchors = [], [], set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        actual = dict(attributes)
        # A link is followed by a reader; all else is loaded with the page.
        self.loaded += [actual.get("src")] + ([actual.get("href")] if tag == "link" else [])
        self.links += [actual.get("href")] if tag == "a" else []
        self.anchors.add(actual.get("id"))


@pytest.mark.parametrize("name", ROOMS)
def test_the_pages_of_a_room_have_every_public_name(html, name):
    room = getattr(hessian_spectra, name)
    pages = [html / "reference" / f"{name}.html", *(html / "reference" / name).glob("*.html")]
    anchors = set().union(*(Addresses(page).anchors for page in pages))
    names = getattr(room, "__all__", None) or [
        var
        for var, member in vars(room).items()
        if getattr(member, "__module__", None) == room.__name__ and not var.startswith("_")
        if inspect.isfunction(member) or inspect.isclass(member)
    ]
    assert names
    assert {f"{room.__name__}.{var}" for var in names} <= anchors


def test_no_page_of_the_reference_is_long(html):
    entries = {
        page.stem: page.read_text().count('<dl class="py ')
        for page in (html / "reference").rglob("*.html")
    }
    assert sum(entries.values()) > 200
    assert max(entries.values()) < 60


def test_links_and_pictures_of_each_page_are_there(html):
    """Sphinx checks those that it makes; the gallery's cards and the tables are HTML."""
    for page in (html / "index.html", html / "guides" / "theorems.html"):
        addresses = Addresses(page)
        named = [item for item in [*addresses.links, *addresses.loaded] if item]
        files = {item.partition("#")[0].partition("?")[0] for item in named if "://" not in item}
        assert len(files) > 20
        assert not [item for item in files if item and not (page.parent / item).exists()]


def test_formulas_are_mathml(html):
    page = (html / "gallery" / "erratum.html").read_text()
    assert "<math><mo>max</mo>" in page or "<math><mi>max</mi>" in page
    assert "\\max" not in page.partition("The whole script")[0]


def test_a_formula_that_is_none_fails_the_build():
    with pytest.raises(ValueError, match="has a command that is none"):
        formula_renderer.block(None, nodes.math_block("", r"\nonsense"))


def test_the_formulas_of_the_library_are_drawn(html):
    pages = [page.read_text() for page in (html / "reference").rglob("*.html")]
    literals = [
        re.sub("<[^>]+>", "", literal)
        for page in pages
        for literal in re.findall(r'<code class="docutils literal[^>]*>(.*?)</code>', page, re.S)
    ]
    assert len(literals) > 500
    assert not [text for text in literals if formula_renderer.is_formula(unescape(text))]
    assert sum(page.count("<math>") for page in pages) > 500


def test_a_theorem_says_what_the_catalogue_says():
    said = sources.statement("singh2026cracking", "Theorem 3.1")
    assert said == THEOREMS["linear-spectrum"].statement
    # Not what is about two theorems, nor beyond one.
    said = sources.statement("singh2026cracking", "Theorem 3.2")
    assert said == THEOREMS["linear-outlier-vector"].statement
    assert sources.statement("wu2022dissecting", "Theorem 4.1") == ""


def test_each_theorem_with_a_number_leads_to_a_function(html):
    """The numbers are those of the catalogue of theorems, of the closed-form papers."""
    page = re.sub("<[^>]+>", " ", (html / "guides" / "theorems.html").read_text())
    for number in ("Theorem 3.4", "Theorem 3.5", "Theorem B.1", "Corollary 3.1", "Corollary B.1"):
        assert any(number in place for each in THEOREMS.values() for place in each.places.values())
        assert number in page
    printed = [each for each in THEOREMS.values() if each.printed]
    assert sources.errata().count("<tr>") == len(printed) + 1


def test_nothing_is_loaded_from_another_host(html):
    loaded = {address for page in html.rglob("*.html") for address in Addresses(page).loaded}
    for style in html.rglob("*.css"):
        loaded |= set(re.findall(r"""(?:@import|url\()\s*["']?([^"')]+)""", style.read_text()))
    assert len(loaded) > 5
    assert not {item for item in loaded if item and re.match(r"(\w+:)?//", item)}


@pytest.fixture(scope="module")
def page(browser):
    """A page of the browser that keeps what it complains about."""
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.complaints = []
    opened.on("console", lambda message: opened.complaints.append(message.text))
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    yield opened
    opened.close()


@pytest.mark.browser
def test_the_start_page_shows_pictures_at_once_and_each_leads_to_its_page(html, page):
    page.goto((html / "index.html").as_uri())
    cards = page.locator(".cards a")
    assert cards.count() == len(showcase.NAMES)
    for place, name in enumerate(showcase.NAMES):
        picture = cards.nth(place).locator("img")
        assert picture.evaluate("picture => picture.complete && picture.naturalWidth") > 100
        box = cards.nth(place).bounding_box()
        assert box["y"] + box["height"] < 800, f"{name} is below the first screen"
    titles = [cards.nth(place).inner_text() for place in range(cards.count())]
    cards.first.click()
    assert page.locator("h1").inner_text().startswith(titles[0])
    assert not page.complaints


NARROW = ("guides/peers", "guides/tasks", "guides/theorems", "reference/curvature/density")


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index", "gallery/lenet5_layers", *NARROW])
def test_no_page_is_wider_than_a_narrow_screen(html, page, name):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto((html / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.querySelectorAll('h1').length") == 1
    assert not page.complaints
