"""The documentation says all that the library exports, and asks no other host for anything."""

import importlib
import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import hessian_spectra
from tests.pages import ROOT

sys.path.insert(0, str(ROOT / "docs"))
reference = importlib.import_module("reference")

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
        self.loaded, self.anchors = [], set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        actual = dict(attributes)
        # A link is followed by a reader; all else is loaded with the page.
        self.loaded += [actual.get("src")] + ([actual.get("href")] if tag == "link" else [])
        self.anchors.add(actual.get("id"))


@pytest.mark.parametrize("name", ROOMS)
def test_a_page_of_the_reference_has_every_public_name_of_its_room(html, name):
    room = getattr(hessian_spectra, name)
    anchors = Addresses(html / "reference" / f"{name}.html").anchors
    names = getattr(room, "__all__", None) or [
        var
        for var, member in vars(room).items()
        if getattr(member, "__module__", None) == room.__name__ and not var.startswith("_")
        if inspect.isfunction(member) or inspect.isclass(member)
    ]
    assert names
    assert {f"{room.__name__}.{var}" for var in names} <= anchors


def test_nothing_is_loaded_from_another_host(html):
    pages, styles = list(html.rglob("*.html")), list(html.rglob("*.css"))
    assert pages
    assert styles
    loaded = {address for page in pages for address in Addresses(page).loaded if address}
    for style in styles:
        loaded |= set(re.findall(r"""(?:@import|url\()\s*["']?([^"')]+)""", style.read_text()))
    assert len(loaded) > 5
    assert not {item for item in loaded if re.match(r"(\w+:)?//", item)}


def test_a_name_that_is_exported_appears_by_itself(tmp_path, monkeypatch):
    package = tmp_path / "room_of_one"
    package.mkdir()
    (package / "wall.py").write_text(
        '"""A wall."""\n\nLIMIT = 3\n\n\n'
        'def paint():\n    """Paint it."""\n\n\ndef hidden():\n    pass\n'
    )
    (package / "__init__.py").write_text(
        '"""A room."""\n\nfrom room_of_one.wall import LIMIT, hidden, paint\n\n'
        '__all__ = ["LIMIT", "door", "paint"]\n\n\ndef door():\n    """Open it."""\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    room = importlib.import_module("room_of_one")
    assert reference.groups(room) == {
        "room_of_one.wall": ["LIMIT", "paint"],
        "room_of_one": ["door"],
    }
    text = reference.page(room)
    for line in (
        "A wall",
        ".. py:data:: LIMIT",
        "   :value: 3",
        ".. autofunction:: paint",
        "     - Open it.",
    ):
        assert line in text.splitlines()
    assert "hidden" not in text
