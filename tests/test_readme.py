"""README.md opens with what the ledger says: the findings and the totals of the last run."""

import re

from tests.pages import README, ROOT

FINDINGS = ROOT / "reports" / "findings.md"
LEDGER = ROOT / "reports" / "claims.md"


def written(page):
    """The page with the findings and the totals as they are in `reports/`."""
    (totals,) = re.findall(r"^\*\*(\d+ claims: .*)\*\*$", LEDGER.read_text(), re.MULTILINE)
    page, lines = re.subn(r"^\d+ claims: .*$", totals, page, flags=re.MULTILINE)
    assert lines == 1
    begin, end = re.search(r"^<!-- `make readme`.*-->\n", page, re.MULTILINE), "<!-- end -->"
    return page[: begin.end()] + FINDINGS.read_text() + end + page[begin.end() :].split(end, 1)[1]


def test_the_findings_and_totals_are_those_of_the_ledger():
    page = README.read_text()
    assert written(page) == page, "run `make readme`"


def test_what_is_out_of_date_is_written_anew():
    page = README.read_text()
    first = FINDINGS.read_text().splitlines()[0]
    stale = re.sub(r"^\d+ claims: .*$", "1 claims: 1 differs", page, flags=re.MULTILINE)
    stale = stale.replace(first, "1. Something else.")
    assert stale != page
    assert written(stale) == page


def test_every_finding_is_stated():
    """One that its claims no longer support is to be written anew, or taken out."""
    found = FINDINGS.read_text().splitlines()
    assert [line.partition(".")[0] for line in found] == ["1", "2", "3", "4", "5"]
    assert not [line for line in found if "Not stated" in line]


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
