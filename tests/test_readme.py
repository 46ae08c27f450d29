"""README.md and CITATION.cff name the papers, and README.md opens with what the ledger says."""

import re

import yaml

from hessian_papers.papers import PAPERS
from tests.pages import README, ROOT

FINDINGS, LEDGER = "reports/findings.md", "reports/claims.md"


def made(name):
    """A text of `reports/`, which is the same on every processor."""
    return (ROOT / name).read_text("utf-8")


def papers():
    """The papers as the page names them, a line each, with the keys that statements cite."""
    return "".join(
        f"{place}. *{paper.title}*, {paper.authors}: `{paper.key}`\n"
        for place, paper in enumerate(PAPERS.values(), start=1)
    )


def between(page, end, text):
    """The page with another text before the comment that ends a list, from the comment before."""
    before, after = page.split(f"<!-- {end} -->")
    head, comment, _ = before.rpartition("-->\n")
    return f"{head}{comment}{text}<!-- {end} -->{after}"


def written(page):
    """The page with the papers, and the findings and the totals as they are in `reports/`."""
    (totals,) = re.findall(r"^\*\*(\d+ statements .*)\*\*$", made(LEDGER), re.MULTILINE)
    page, lines = re.subn(r"^\d+ statements of the papers: .*$", totals, page, flags=re.MULTILINE)
    assert lines == 1
    return between(between(page, "end of papers", papers()), "end of findings", made(FINDINGS))


def test_the_papers_findings_and_totals_are_those_of_the_page_and_the_ledger():
    page = README.read_text()
    assert written(page) == page, "run `make readme`"


def test_what_is_out_of_date_is_written_anew():
    page = README.read_text()
    totals = r"^\d+ statements of the papers: .*$"
    stale = re.sub(totals, "1 statements of the papers: 1", page, flags=re.MULTILINE)
    stale = stale.replace(made(FINDINGS).splitlines()[0], "1. Something else.")
    stale = stale.replace(papers().splitlines()[-1], "5. *Another paper*.")
    assert len([line for line in page.splitlines() if line not in stale.splitlines()]) == 3
    assert written(stale) == page


def test_every_finding_is_stated():
    """One that its statements no longer support is to be written anew, or taken out."""
    actual = made(FINDINGS).splitlines()
    numbers = [line.partition(".")[0] for line in actual]
    assert numbers == [str(place) for place in range(1, len(actual) + 1)]
    assert len(numbers) >= 8
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


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
