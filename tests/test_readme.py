"""README.md is short and opens with what the ledger says; CITATION.cff names the papers."""

import yaml

from hessian_papers.papers import PAPERS
from tests.pages import README, ROOT
from tests.readme import FINDINGS, made


def test_every_finding_is_stated():
    """One that its statements no longer support is to be written anew, or taken out."""
    actual = made(FINDINGS).splitlines()
    numbers = [line.partition(".")[0] for line in actual]
    assert numbers == [str(place) for place in range(1, len(actual) + 1)]
    assert len(numbers) == 6
    assert not [line for line in actual if "Not stated" in line]


def test_readme_is_short_and_has_a_picture_in_its_first_screen():
    lines = README.read_text().splitlines()
    assert len(lines) <= 130
    assert any(line.startswith("![") for line in lines[:10])


def test_the_citation_names_all_papers_as_the_page_does():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]
    shown = []
    for reference in cited:
        names = [
            author.get("name") or f"{author['given-names']} {author['family-names']}"
            for author in reference["authors"]
        ]
        shown.append((reference["title"], f"{', '.join(names)} ({reference['year']})"))
    assert shown == [(paper.title, paper.authors) for paper in PAPERS.values()]
