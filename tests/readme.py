"""Command readme: write the papers, the findings and the totals in README.md.

    python -m tests.readme

`.ci/run` writes them, too, and compares.
"""

import re

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


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
