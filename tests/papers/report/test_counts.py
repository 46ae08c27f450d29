"""Counts of statements: pages, ledger, README and dashboard have the same, by place and book."""

import re
from collections import Counter
from dataclasses import replace

import pytest
import sample_reports

from hessian_papers.ledger.record import StatementRecord, all_cases, read_ledger
from hessian_papers.ledger.table import table
from hessian_papers.ledger.totals import metrics, summary, totals, words
from hessian_papers.report import FRONT, Alone, address, build, read
from hessian_papers.report.entries import anchor
from hessian_papers.report.verdicts import UNDECIDED
from hessian_papers.tracking.dashboard import _statement
from hessian_spectra.files import read_json, write_json
from tests import readme
from tests.pages import ROOT

OLDER, NEWER = "singh2024closed", "singh2026cracking"


def entries():
    """The made-up ledger, one more statement of the older paper, and one of both, and ours.

    All of these are measured on a study of the newer one.
    """
    more = [
        ({"places": {OLDER: "Theorem 6"}, "book": "theorems"}, "corrected"),
        ({"places": {OLDER: "eq. (2)", NEWER: "eq. (3)"}, "book": "observations"}, "differs"),
        ({"places": {NEWER: "Figure 1"}, "book": "beyond"}, "differs"),
    ]
    own = [
        sample_reports.statement(
            number, verdict, [sample_reports.case(number, "cracking-fig1")], **of
        )
        for number, (of, verdict) in enumerate(more, start=200)
    ]
    return [*sample_reports.statements(), *own]


def expected(paper):
    """The number of statements of a paper, of all or of none, with each verdict."""
    return Counter(
        entry["verdict"]
        for entry in entries()
        if (entry["book"] == "beyond") == (paper is None)
        and (paper in (None, "all") or paper in entry["places"])
    )


@pytest.fixture
def content(reports):
    write_json(reports / "claims.json", entries())
    return read(reports)


def headline(text):
    """The verdicts that a page counts at its top, and the number that it calls undecided."""
    part = text.partition('aria-label="Statements by verdict">')[2].partition("</details></li>")[0]
    decided, _, rest = part.partition('class="undecided"')
    pattern = r'>(\d+)(?:</span>| )<b class="badge [a-z-]+">([a-z ]+)<'
    counted = {
        name: int(count) for each in (decided, rest) for count, name in re.findall(pattern, each)
    }
    return counted, sum(map(int, re.findall(r'class="count">(\d+)</span> undecided', rest)))


def test_the_front_counts_the_papers_statements_and_ours_apart(content):
    text = build(content, part=FRONT)
    counted, undecided = headline(text)
    assert counted == expected("all")
    assert undecided == sum(expected("all")[verdict] for verdict in UNDECIDED)
    assert f"{expected('all').total()} statements of the papers:" in text
    ours = totals(content.statements).beyond
    assert ours == expected(None)
    said = f"{expected(None).total()} statements of ours, beyond the papers: {words(ours)}."
    assert said in text


def test_the_page_of_a_paper_counts_its_own_statements_wherever_they_are_measured(content):
    """Not those that its studies measure of others."""
    for section in content.sections:
        counted, _ = headline(build(content, part=section.key))
        assert counted == expected(section.key), section.key
    by_folder = Counter(
        entry["verdict"]
        for entry in entries()
        if sample_reports.STUDIES.get(entry["cases"][0]["study"], [""])[0] == OLDER
    )
    assert by_folder != expected(OLDER), "the two can be told apart here"


def test_a_statement_that_studies_of_two_papers_measure_has_one_verdict_on_every_page(reports):
    """Its case of one paper holds, the other one fails: no page decides by its own cases."""
    cases = [
        sample_reports.case(1, "closed2024-fig1", printed_error=0.5),
        sample_reports.case(2, "cracking-fig1", "fails"),
    ]
    both = sample_reports.statement(
        1, "differs", cases, printed="2x", places={NEWER: "eq. (3)"}, book="theorems"
    )
    write_json(reports / "claims.json", [both])
    content = read(reports)
    for part in ("singh2024closed/closed2024-fig1", "singh2026cracking/cracking-fig1"):
        row = build(content, part=part).partition('<ul class="claims"')[2].partition("</ul>")[0]
        assert row.count('class="badge') == row.count('class="badge differs"') == 1
    counted = [headline(build(content, part=paper))[0] for paper in (NEWER, OLDER)]
    assert counted == [{"differs": 1}, {}]


def test_the_document_of_one_run_has_the_verdict_of_the_whole_ledger_beside_its_own(reports):
    """The run holds where the case of another study fails."""
    of = {"places": {NEWER: "eq. (3)"}, "book": "theorems"}
    own = sample_reports.statement(
        1, "reproduced", [sample_reports.case(1, "closed2024-fig1")], **of
    )
    write_json(reports / "claims.json", [own])
    alone = Alone({}, "", [], "make", "compare", whole={own["id"]: "differs"})
    text = build(read(reports), alone=alone)
    beside = 'This run: <b class="badge reproduced">reproduced</b>. Whole ledger: '
    assert f'{beside}<b class="badge differs">differs</b>.' in text
    assert "Whole ledger:" not in build(read(reports), alone=replace(alone, whole={}))


def test_what_is_beyond_the_papers_stands_apart_on_the_page_of_a_figure(content):
    text = build(content, part="singh2026cracking/cracking-fig1")
    own, _, ours = text.partition('aria-label="Beyond the papers: ')
    row = f'id="{anchor("claim", "cracking-fig1/sample-202")}"'
    assert row in ours
    assert row not in own
    assert f'id="{anchor("claim", "cracking-fig1/sample-200")}"' in own


def test_the_ledger_the_readme_and_the_dashboard_count_the_same(content, monkeypatch):
    text = table(content.statements)
    rows = re.findall(r"^\|(.*?)\|(.*?)\|(.*?)\|", text.partition("\n## ")[2], re.MULTILINE)
    own, _, ours = text.partition("\n## Beyond the papers")
    of_rows = [
        Counter(re.findall(rf"^\|({'|'.join(expected('all') | expected(None))})\|", part, re.M))
        for part in (own.partition("\n## ")[2], ours)
    ]
    assert of_rows == [expected("all"), expected(None)]
    assert len(rows) > sum(map(Counter.total, of_rows)), "and the heads"

    monkeypatch.setattr(readme, "made", lambda name: text if name == readme.LEDGER else "")
    page = readme.written(readme.README.read_text("utf-8"))
    known = totals(content.statements)
    assert f"\n{expected('all').total()} statements of the papers: {words(known.papers)};" in page
    assert f"; {expected(None).total()} beyond them: {words(known.beyond)};" in page

    # What DVC shows, and the summary of the run in W&B.
    shown = metrics(content.statements)
    assert (shown["papers"], shown["beyond"]) == (words(known.papers), words(known.beyond))
    logged = [_statement(StatementRecord.of(each, "", "")) for each in entries()]
    for paper, counted in known.by_paper.items():
        assert counted == expected(paper)
        rows = [row for row in logged if paper in row["papers"].split(", ")]
        assert counted == Counter(row["verdict"] for row in rows if row["book"] != "beyond")


@pytest.mark.skipif(not (ROOT / "reports" / FRONT).is_file(), reason="no page: make repro")
def test_the_last_run_counts_the_same_everywhere():
    """Pages, table, metrics and what W&B was given, of the last `make repro` here."""
    reports, logged = ROOT / "reports", read_json(ROOT / "results" / "dashboard.json")
    ledger = read_ledger(reports)
    known, cases = totals(ledger), len(all_cases(ledger))
    assert f"\n**{summary(ledger)}**\n" in (reports / "claims.md").read_text("utf-8")
    front = (reports / FRONT).read_text("utf-8")
    assert headline(front)[0] == known.papers
    own, ours = sum(known.papers.values()), sum(known.beyond.values())
    said = f"{own} statements of the papers and {ours} beyond them, with {cases} cases"
    assert said in " ".join(front.split())
    for paper, counted in known.by_paper.items():
        assert headline((reports / address(paper)).read_text("utf-8"))[0] == counted, paper
    shown = read_json(reports / "metrics.json")
    assert (shown["papers"], shown["beyond"]) == (words(known.papers), words(known.beyond))
    assert logged["metrics"] == shown
    assert (logged["statements"], logged["cases"]) == (len(ledger), cases)
