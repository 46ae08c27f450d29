"""A page as tests read it: its elements, and the parts that an id leads to."""

import re
from html.parser import HTMLParser

import sample_reports

from hessian_papers.report.entries import anchor


class Reader(HTMLParser):
    """Collects what the tests ask about: elements, ids and text."""

    def __init__(self, text):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, attribute):
        return [a[attribute] or "" for _, a in self.elements if attribute in a]


def section(text, name, end):
    """The page from an id on, up to the next closing tag of a kind."""
    return text[text.index(f'id="{name}"') :].partition(f"</{end}>")[0]


def figure(text, study):
    """The entry of a study, from its id up to the next one's."""
    return text.partition(f'id="figure-{study}"')[2].partition('<details class="entry"')[0]


def row(text, number):
    """The row of a made-up statement."""
    (first, *_) = sample_reports.statements()[number]["cases"]
    home = first["study"] or "singh2026cracking"
    return section(text, anchor("claim", f"{home}/sample-{number}"), "li")


def cases(text, number):
    """The rows of cases, without those of an axis and of an explanation."""
    rows = re.findall(r'<tr class="(.*?)</tr>', row(text, number))
    return [line for line in rows if not line.startswith(("axis", "why"))]
