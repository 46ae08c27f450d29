"""README.md opens with what the ledger says: the findings and the totals of the last run."""

import re
import subprocess

from tests.pages import README, ROOT

FINDINGS, LEDGER = "reports/findings.md", "reports/claims.md"


def committed(name):
    """A text of `reports/` as it is in Git: a run on another processor may decide what was open."""
    command = ["git", "show", f"HEAD:{name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else made(name)


def made(name):
    """A text of `reports/` as the last run here made it."""
    return (ROOT / name).read_text("utf-8")


def written(page, read=committed):
    """The page with the findings and the totals as they are in `reports/`."""
    (totals,) = re.findall(r"^\*\*(\d+ statements .*)\*\*$", read(LEDGER), re.MULTILINE)
    page, lines = re.subn(r"^\d+ statements of the papers: .*$", totals, page, flags=re.MULTILINE)
    assert lines == 1
    begin, end = re.search(r"^<!-- `make readme`.*-->\n", page, re.MULTILINE), "<!-- end -->"
    return page[: begin.end()] + read(FINDINGS) + end + page[begin.end() :].split(end, 1)[1]


def test_the_findings_and_totals_are_those_of_the_ledger():
    page = README.read_text()
    assert written(page) == page, "run `make readme`"


def test_what_is_out_of_date_is_written_anew():
    page = README.read_text()
    first = committed(FINDINGS).splitlines()[0]
    totals = r"^\d+ statements of the papers: .*$"
    stale = re.sub(totals, "1 statements of the papers: 1", page, flags=re.MULTILINE)
    stale = stale.replace(first, "1. Something else.")
    assert stale != page
    assert written(stale) == page


def test_every_finding_is_stated():
    """One that its statements no longer support is to be written anew, or taken out."""
    actual = committed(FINDINGS).splitlines()
    assert [line.partition(".")[0] for line in actual] == [*"12345678"]
    assert not [line for line in actual if "Not stated" in line]


if __name__ == "__main__":
    README.write_text(written(README.read_text(), made))
