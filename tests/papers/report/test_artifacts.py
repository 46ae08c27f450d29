"""The index of each paper's artifacts holds all of them, and says what covers each."""

import ast
import re
from pathlib import Path

import pytest
import sample_reports
import yaml

from hessian_papers.papers import PAPERS
from hessian_papers.report.artifacts import Artifact, Covered, artifacts, covered
from hessian_papers.report.verdicts import Shown

ROOT = Path(__file__).resolve().parents[3]
STUDIES = sorted((ROOT / "conf" / "studies").rglob("*.yaml"))


def places():
    """The places of all statements of the committed ledger, by paper."""
    result: dict[str, set[str]] = {paper: set() for paper in PAPERS}
    for part in re.split(r"^## ", (ROOT / "reports" / "claims.md").read_text(), flags=re.MULTILINE):
        paper = part.partition(":")[0]
        rows = [re.split(r"(?<!\\)\|", line) for line in part.splitlines() if line.startswith("|")]
        if paper in result:
            result[paper] |= {row[2] for row in rows if row[1] not in ("verdict", "---")}
    return result


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_of_the_ledger_is_in_the_index(paper):
    stated = places()[paper]
    assert stated or paper == "singh2024poster", "whose statements stand under its paper"
    assert [p for p in stated if not any(item.holds(p) for item in artifacts(paper))] == []


def texts():
    """All texts of claims and theorems, places of a statement's further papers among them."""
    source = ROOT / "src" / "hessian_papers"
    files = [*source.rglob("claims.py"), *(source / "theorems").glob("*.py")]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, str)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_artifact_has_statements_a_figure_or_a_reason(paper):
    names = [artifact.name for artifact in artifacts(paper)]
    assert len(names) == len({*names})
    drawn = {yaml.safe_load(file.read_text())["artifact"] for file in STUDIES}
    said = places()[paper] | drawn | texts()
    for artifact in artifacts(paper):
        assert any(artifact.holds(place) for place in said) or artifact.reason, artifact


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_every_figure_is_in_the_index_of_its_paper(file):
    study = yaml.safe_load(file.read_text())
    assert any(artifact.holds(study["artifact"]) for artifact in artifacts(study["paper"]))


def shown(number, verdict, study=None):
    case, places = sample_reports.case(number, study), {"made-up": f"Figure {number}"}
    record = sample_reports.record(number, verdict, [case], places=places)
    return Shown(record, record.cases)


def test_an_artifact_is_covered_as_far_as_its_statements_are_tested():
    artifact = Artifact(name="Figure 1", what="made up", reason="It takes a week.")

    def state(*statements, studies=()):
        item = Covered(artifact, statements, studies)
        return item.state, item.reason

    tested, untested = shown(1, "reproduced"), shown(1, "not tested")
    assert state(tested, tested) == ("whole", "")
    assert state(tested, untested) == ("in part", "1 of 2 not tested")
    assert state(untested) == ("not tested", "1 of 1 not tested")
    assert state(untested, studies=("mine",)) == ("in part", "1 of 1 not tested")
    assert state() == ("not tested", "It takes a week.")
    assert state(studies=("mine",)) == ("whole", "")


def test_a_statement_covers_what_its_place_names_and_the_figure_that_it_is_measured_on(
    monkeypatch,
):
    items = (Artifact(name="Figure 1", what="a"), Artifact(name="Figure 2", what="b"))
    monkeypatch.setattr("hessian_papers.report.artifacts.artifacts", lambda paper: items)
    named, measured = shown(1, "reproduced"), shown(7, "reproduced", "poster-pair")
    first, second = covered("made-up", [named, measured], [("Figure 2", "poster-pair")])
    assert [*first.statements] == [named]
    assert [*second.statements] == [measured]
    assert second.studies == ["poster-pair"]


PAGES = [ROOT / "reports" / f"{paper}.html" for paper in PAPERS]


@pytest.mark.skipif(not all(map(Path.is_file, PAGES)), reason="no pages: make repro")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_say_of_each_artifact_what_covers_it_or_why_nothing_does(page):
    pattern = r'<th scope="row">([^<]*)</th>.*?data-label="covered"><div>(.*?)</div>'
    index = page.read_text().partition('<details class="artifacts"')[2].partition("</table>")[0]
    rows = re.findall(pattern, index)
    assert len(rows) == len(artifacts(page.stem))
    assert [name for name, state in rows if state == "not tested"] == []
