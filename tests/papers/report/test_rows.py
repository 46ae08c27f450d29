"""Statements on the page: their rows and cases, the summary, the overview."""

import re
from collections import Counter

import pytest
import sample_reports
from documents import cases, row, section

from hessian_papers.report import STATES, build, index, read
from hessian_papers.report.entries import anchor
from hessian_papers.report.verdicts import strips, style
from hessian_spectra.files import write_json


def test_errata_show_both_forms_and_their_errors(text):
    errata = section(text, "errata", "section")
    entries = [entry for entry in sample_reports.statements() if entry["book"] != "beyond"]
    for entry in entries:
        printed = f'data-label="in print"><div>{entry["printed"]}<'
        assert (printed in errata) == (entry["printed"] is not None)
    number = sum(entry["printed"] is not None for entry in entries)
    assert f"<summary>{number} printed forms" in errata


def with_parts(number):
    """A made-up statement with so many parts, of which all but the first are misprinted."""
    own = [
        sample_reports.case(
            part,
            "poster-pair",
            sentence=f"Part {part} holds." if part else "",
            printed=f"print of {part}" if part else None,
            place=f"eq. ({part})",
            printed_error=0.5 * part if part else None,
        )
        for part in range(number)
    ]
    return sample_reports.statement(0, "corrected", own, printed="print of 1", book="theorems")


@pytest.mark.parametrize("number", [3, 6])
def test_a_statement_lists_its_parts_each_with_its_print_and_errors(reports, number):
    """Folded where they are more than a few; misprints are counted, not statements."""
    write_json(reports / "claims.json", [with_parts(number)])
    text = build(read(reports))
    said = section(text, anchor("claim", "poster-pair/sample-0"), "ul")
    plain = re.sub("<.*?>", "", said)
    for part in range(1, number):
        assert f"Part {part} holds. eq. ({part})In print: print of {part} (error" in plain
    assert ("further parts" in plain) == (number > 4)
    errata = section(text, "errata", "section")
    assert f"<summary>{number - 1} printed forms" in errata
    assert errata.count('data-label="in print"') == number - 1
    assert "print of 2" in index(read(reports))


def test_a_row_and_the_table_say_the_state_and_the_assumptions(reports):
    entries = [
        sample_reports.statement(
            number,
            "reproduced",
            [sample_reports.case(number, "poster-pair")],
            state=f"state {number}",
            assumes=f"assumption {number}",
        )
        for number in range(5)
    ]
    write_json(reports / "claims.json", entries)
    content = read(reports)
    table = section(build(content, part=STATES), "states", "section")
    figure = build(content, part="singh2024poster/poster-pair")
    for number in range(5):
        cells = f"<div>state {number}</div></td>.*<div>assumption {number}</div>"
        assert len(re.findall(cells, table)) == 1
        assert f"State: state {number}. Assumptions: assumption {number}." in figure
        assert f"state {number}" in index(content)


def test_a_case_says_which_run_decided_it_and_what_the_other_says(text):
    agreeing, flipped, undecided, weaker = (cases(text, number)[0] for number in (5, 14, 23, 32))
    assert agreeing.startswith('holds"')
    assert agreeing.endswith("<td>holds, recorded</td>")
    assert flipped.startswith('fails"')
    assert "<b>holds</b>" in flipped.partition('<span class="beside">')[2]
    assert undecided.startswith('open"')
    assert "<b>fails</b>" in undecided.partition('<span class="beside">')[2]
    assert weaker.endswith("<td>open*</td>")
    assert "beside" not in cases(text, 2)[0], "no other run was made"


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (2, ["All cases together: 0.25 [0.125, 0.375].", "<i>typically</i>"]),
        (2, ["Statistic: largest error", "<code>sample-2</code>"]),
        (3, ["singh2024closed, Theorem 1; singh2026cracking, Theorem 3.1"]),
        (5, ["Expected: made up. Tolerance: round-off."]),
    ],
)
def test_a_statement_says_once_where_it_is_from_and_what_decided_it(text, number, texts):
    assert [row(text, number).count(said) for said in texts] == [1] * len(texts)


def test_each_case_has_a_row_of_its_own(text):
    outcomes = [[each.partition('"')[0] for each in cases(text, n)] for n in (2, 5, 14)]
    assert outcomes == [["holds"], ["holds", "holds"], ["fails", "holds"]]


def test_an_explanation_that_cases_share_is_given_once(reports):
    own = [
        sample_reports.case(number, "poster-pair", "fails", explanation=why)
        for number, why in enumerate(["It is shared.", "It is shared.", "It is its own."])
    ]
    write_json(reports / "claims.json", [sample_reports.statement(0, "differs", own)])
    text = build(read(reports))
    assert text.count("It is shared.") == text.count("It is its own.") == 1


def test_settings_that_are_not_the_papers_stand_where_they_may_explain(text):
    """Where a case fails or is open, of the run that decides."""
    note = '<p class="departs">Settings that differ from the paper: {}.</p>'
    assert note.format("sizes") not in row(text, 5)
    assert note.format("sizes") in row(text, 14)
    assert note.format("sizes") in row(text, 23)
    assert note.format("large_learning_rates, networks") in row(text, 32)


def test_a_star_marks_a_smaller_setting(text):
    assert "<td>open*" in cases(text, 32)[0]
    assert "<td>open, recorded" in cases(text, 23)[0]


def test_the_summary_says_what_was_decided_by_what(text):
    said = re.sub("<.*?>", "", section(text, "verdicts", "section"))
    assert "27 statements of the papers and 9 beyond them, with 40 cases" in said
    assert "8 figures of 3 papers" in said
    assert "Recorded runs, whose arrays are kept, decide 3 cases" in said
    assert "this run, which made this page, decides 33" in said
    assert "on 2 the two disagree" in said


def test_the_summary_counts_by_paper_and_book(text):
    summary = section(text, "verdicts", "section")
    books = re.findall(r'data-label="book">(.*?)<', summary)
    assert {*books} == {
        "theorems and printed numbers",
        "observations",
        "by our reading of a word",
        "beyond the papers",
    }
    assert books.count("beyond the papers") == 1


def test_a_page_without_recorded_runs_says_so(reports):
    entries = [sample_reports.statement(0, "reproduced", [sample_reports.case(0, "poster-pair")])]
    write_json(reports / "claims.json", entries)
    assert "This run decides all cases." in build(read(reports))


def cells(text, paper):
    """The cells of a paper in the overview."""
    table = text.partition('class="cards overview"')[2].partition("</table>")[0]
    rows = {row.partition('"')[0]: row for row in table.split('scope="row"><a href="#paper-')[1:]}
    return re.findall(r'<a class="cell".*?</a>', rows[paper], re.S)


def test_the_overview_has_a_cell_for_each_artifact_that_something_covers(text):
    for study, (paper, artifact) in sample_reports.STUDIES.items():
        label = artifact.removeprefix("Figure ")
        if artifact.startswith("Figure"):
            target = anchor("artifact", f"{paper}/{artifact}")
            (cell,) = [cell for cell in cells(text, paper) if f'href="#{target}"' in cell]
            assert re.search(rf">{label}(<|$)", cell), study
            assert f'id="{target}"' in text


def test_a_cell_of_the_overview_is_coloured_by_the_fractions_of_verdicts(text):
    own = Counter(
        style(str(entry["verdict"]))
        for entry in sample_reports.statements()
        if entry["cases"][0]["study"] == "cracking-fig9" and entry["book"] != "beyond"
    )
    (cell,) = [cell for cell in cells(text, "singh2026cracking") if "Figure-9" in cell]
    parts = re.findall(r"--([a-z-]+)-back\) (\d+)% (\d+)%", cell)
    widths = {name: float(end) - float(start) for name, start, end in parts}
    assert widths == {
        verdict: pytest.approx(100 * count / own.total(), abs=1) for verdict, count in own.items()
    }
    assert (f"≠{own['differs']}" in cell) == (own["differs"] > 0)


def test_a_case_lies_on_the_axis_of_its_statement():
    entries = [
        sample_reports.case(number, "poster-pair", measured=value, interval=interval, expected=1.0)
        | {"tolerance": 0.0}
        for number, (value, interval) in enumerate([(0.5, [0.0, 1.0]), (2.0, None)])
    ]
    first, second = strips(sample_reports.record(0, "in part", entries).cases)
    known = dict(part.split(":") for part in first.split(";"))
    # The axis spans 0 to 2 with 6 % of room at both ends; at most 1 is allowed.
    place = {name.strip("-"): float(text.rstrip("%")) for name, text in known.items()}
    assert place["a"] == 0.0
    assert place["l"] == pytest.approx(100 * 0.12 / 2.24, abs=0.1)
    assert place["v"] == pytest.approx(100 * 0.62 / 2.24, abs=0.1)
    assert place["h"] == place["b"] == pytest.approx(50.0, abs=0.1)
    assert "--l" not in second


def test_of_many_cases_only_those_that_do_not_follow_stand_open(reports):
    own = [
        sample_reports.case(number, "poster-pair", "fails" if number == 7 else "holds")
        for number in range(20)
    ]
    write_json(reports / "claims.json", [sample_reports.statement(0, "in part", own)])
    actual = build(read(reports))
    said = actual.partition('id="claim-poster-pair--sample-0"')[2].partition("</li>")[0]
    open_, _, folded = said.partition("19 further cases: 19 hold")
    assert len(re.findall("<tr class=", open_)) == 1
    assert len(re.findall("<tr class=", folded)) == 19
