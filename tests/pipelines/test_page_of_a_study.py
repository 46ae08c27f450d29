"""The page of one study with any settings, without DVC: computed, drawn and decided on the spot."""

import json
import re
import shutil

import pytest

from hessian_papers import labelled
from hessian_papers.drawing.overlay import OLD
from hessian_papers.ledger.changes import moves
from hessian_papers.ledger.record import all_cases, read_ledger
from pipelines.page import page
from tests.papers.report.documents import Reader
from tests.pipelines.workspace import ROOT

# A study with a figure; one that has a recorded run as well; one without a figure.
FIGURE, RECORDED, STATED = "cracking-fig7", "cracking-fig10", "output-scale"
# What a training of a few steps fails.
TRAINING, OBSERVED = "cracking-fig8", "small-outlier-changes-sign"
KEPT = (FIGURE, RECORDED, STATED, TRAINING, "two-layer-linear")
SMALL = {
    FIGURE: ("width=4", "second_width=6", "scales=3"),
    RECORDED: ("widths=[4,6]", "samples=[10,12]", "sizes=[1,2,4]", "networks=2", "jitters=19"),
    STATED: ("widths=[4,8,16]", "draws=3", "depths=[2,3]"),
}
DATA = ("data.sets.gaussian-regression.size=60", "data.sets.gaussian-features.size=20")


@pytest.fixture
def run(ends, tmp_path):
    """Make the page of a small study, its recorded run at hand; the code, and the run's folder."""

    def call(study, *arguments):
        recorded = ROOT / "reports" / "evidence" / study
        if recorded.is_dir():
            shutil.copytree(recorded, tmp_path / "reports" / "evidence" / study)
        small = [f"studies.{study}.{setting}" for setting in SMALL.get(study, ())]
        chosen = [f"only={study}", *small, *DATA, "launcher.cluster=debug", *arguments]
        code = ends(page, "page", *chosen, estimates=True)
        return code, [*(tmp_path / "results" / "runs").glob("*")]

    return call


@pytest.mark.parametrize("study", SMALL)
def test_a_study_alone_has_a_page_with_its_statements(run, tmp_path, capsys, study):
    code, (folder,) = run(study)
    assert code == 0
    name = folder.relative_to(tmp_path)
    *_, settings, wrote, beside = capsys.readouterr().out.splitlines()
    assert settings.startswith(f"settings of this run: studies.{study}.")
    assert " (conf/ has " in settings
    assert wrote == f"wrote {name}/index.html"
    old = "recorded" if study == RECORDED else "paper"
    assert beside.endswith(f": hessian-papers compare {old} {name}")
    statements = read_ledger(folder)
    cases = [case for statement in statements for case in statement.cases]
    assert {case.study for case in cases} == {study}
    assert any(case.outcome != "not measured" for case in cases)
    text = (folder / "index.html").read_text("utf-8")
    assert "Whole ledger:" not in text, "none is known here"
    page = Reader(text)
    anchors = {f"claim-{study}--{statement.id}" for statement in statements}
    assert anchors <= {*page.values("id")}
    (picture,) = (folder / "figures").glob(f"*/{study}.png")
    assert page.all("img")[0]["src"] == picture.relative_to(folder).as_posix()
    assert all((folder / source).is_file() for source in page.values("src"))


def test_it_opens_on_the_figure_over_that_of_the_committed_settings(run, tmp_path, capsys):
    _, (first,) = run(FIGURE)
    reports = tmp_path / "reports"
    shutil.copytree(first / "figures", reports / "figures")
    shutil.copyfile(first / "claims.json", reports / "claims.json")
    (record,) = reports.rglob("figure.json")
    record.write_text(re.sub(r'"overrides": {[^}]*}', '"overrides": {}', record.read_text()))
    _, folders = run(FIGURE, f"studies.{FIGURE}.width=5")
    (folder,) = {*folders} - {first}
    text = (folder / "index.html").read_text("utf-8")
    page = Reader(text)
    # The verdict that it has with the cases of all studies, beside its own of this run.
    own = [statement.id for statement in read_ledger(folder)]
    assert text.count('Whole ledger: <b class="badge') == len(own)
    # Its figure, and nothing of the front or of another paper.
    assert len(page.all("section")) == len(page.all("h1")) == 1
    assert text.index("<h1>") < text.index("<strong>width = 5</strong>, committed: 10") < 60_000
    assert not page.all("nav")
    # What was drawn before is in the picture and in no number of it.
    drawn = [*(folder / "figures").rglob("figure.svg")]
    assert [OLD["color"].lower() in svg.read_text().lower() for svg in drawn] == [True]
    assert re.search(r"Pale grey, beneath: the committed settings[^<]*\.", text)
    panels = [
        json.loads(next(each.rglob("figure-series.json")).read_text()) for each in (first, folder)
    ]
    assert len({sum(len(panel["curves"]) for panel in drawn) for drawn in panels}) == 1
    # What moved comes first, of the papers and of ours, and what leads further is there.
    moved = [move.statement for move in moves(read_ledger(reports), read_ledger(folder))]
    papers, _, ours = text.partition('aria-label="Beyond the papers: ')
    for part, beyond in ((papers, False), (ours, True)):
        first = [each.id for each in moved if (each.book == "beyond") == beyond]
        claims = re.findall(rf'<li id="claim-{FIGURE}--([^"]+)"', part)
        assert first
        assert claims[: len(first)] == first
    compare = f"hessian-papers compare workspace {folder.relative_to(tmp_path)}"
    assert capsys.readouterr().out.endswith(f"beside the committed settings: {compare}\n")
    assert f"<code>{compare}</code>" in text


def test_its_links_lead_to_something(run, tmp_path):
    _, (folder,) = run(FIGURE)
    page = Reader((folder / "index.html").read_text("utf-8"))
    links = {address for address in page.values("href") if not address.startswith("data:")}
    inside = {address[1:] for address in links if address.startswith("#")}
    assert inside <= {*page.values("id")}
    files = [(folder / address).resolve() for address in links if not address.startswith("#")]
    # The code is in the checkout, which this run is no part of.
    code = [file for file in files if not file.is_relative_to(folder)]
    assert all((ROOT / file.relative_to(tmp_path)).is_file() for file in code)
    assert len(code) == 5
    assert all(file.is_file() for file in files if file not in code)


def test_of_a_study_with_a_recorded_run_the_page_has_the_run_of_today_alone(run, tmp_path):
    code, (folder,) = run(RECORDED)
    assert code == 0
    assert (tmp_path / "reports" / "evidence" / RECORDED / "data.nc").is_file()
    runs = [run for case in all_cases(read_ledger(folder)) for run in case.runs]
    assert {(run.scale, run.recorded) for run in runs} == {("demo", False)}
    assert all(run.departs["widths"][0] == [4, 6] for run in runs)
    assert not [*folder.rglob("recorded*")]
    assert "Pale grey, beneath: the recorded run." in (folder / "index.html").read_text("utf-8")
    data = labelled.read(folder / "singh2026cracking" / RECORDED / "numerics.nc")
    assert data["width"].values.tolist() == [4, 6]
    # And nothing of it is among what DVC makes.
    assert not (tmp_path / "reports" / "index.html").exists()
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {"evidence"}


@pytest.mark.parametrize("scale", ["demo", "paper"])
def test_a_toy_refutes_no_paper_whatever_scale_is_typed(run, scale):
    code, (folder,) = run(TRAINING, f"studies.{TRAINING}.steps=3", f"scale={scale}")
    assert code == 0
    (statement,) = (each for each in read_ledger(folder) if each.id == OBSERVED)
    assert [case.outcome for case in statement.cases] == ["fails"]
    assert statement.verdict == "not tested"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (f"studies.{FIGURE}.width=0", f"invalid config at 'studies.{FIGURE}.width': expected"),
        ("only=none", "unknown study"),
        ("--estimate", "--estimate: expected a computation that fans out, got"),
    ],
)
def test_what_is_refused_is_one_line_and_leaves_no_page(run, capsys, argument, message):
    code, folders = run(FIGURE, argument)
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not folders
