"""The page of one study with any settings, without DVC: computed, drawn and decided on the spot."""

import shutil
from html.parser import HTMLParser

import pytest

from hessian_papers import labelled
from hessian_papers.ledger.record import all_cases, read_ledger
from pipelines.page import page
from tests.pipelines.workspace import ROOT

# A study with a figure; one that has a recorded run as well; one without a figure.
FIGURE, RECORDED, STATED = "cracking-fig7", "cracking-fig10", "output-scale"
# What a narrow network of the study with a figure fails.
READING = "proportional-with-targets-left-alone"
KEPT = (FIGURE, RECORDED, STATED, "two-layer-linear")
SMALL = {
    FIGURE: ("width=4", "second_width=6", "scales=3"),
    RECORDED: ("widths=[4,6]", "samples=[10,12]", "sizes=[1,2,4]", "networks=2", "jitters=19"),
    STATED: ("widths=[4,8,16]", "draws=3", "depths=[2,3]"),
}
DATA = ("data.sets.gaussian-regression.size=60", "data.sets.gaussian-features.size=20")


class Elements(HTMLParser):
    """The identifiers and the pictures of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.pictures, self.words = set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids.add(named.get("id"))
        if tag == "img" and "src" in named:
            self.pictures.add(named["src"])

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def run(ends, tmp_path):
    """Make the page of a small study, its recorded run at hand; the code, and the run's folder."""

    def call(study, *arguments):
        recorded = ROOT / "reports" / "evidence" / study
        if recorded.is_dir():
            shutil.copytree(recorded, tmp_path / "reports" / "evidence" / study)
        small = [f"studies.{study}.{setting}" for setting in SMALL[study]]
        chosen = [f"only={study}", *small, *DATA, "launcher.cluster=debug", *arguments]
        code = ends(page, "page", *chosen, estimates=True)
        return code, [*(tmp_path / "results" / "runs").glob("*")]

    return call


@pytest.mark.parametrize("study", SMALL)
def test_a_study_alone_has_a_page_with_its_statements(run, tmp_path, capsys, study):
    code, (folder,) = run(study)
    assert code == 0
    said = capsys.readouterr().out
    assert said.endswith(f"wrote {folder.relative_to(tmp_path)}/index.html\n")
    assert f"\nsettings of this run: studies.{study}." in f"\n{said}"
    assert " (conf/ has " in said
    statements = read_ledger(folder)
    cases = [case for statement in statements for case in statement.cases]
    assert {case.study for case in cases} == {study}
    assert any(case.outcome != "not measured" for case in cases)
    text = (folder / "index.html").read_text("utf-8")
    elements = Elements(text)
    anchors = {f"claim-{study}--{statement.id}" for statement in statements}
    assert anchors <= elements.ids
    (picture,) = (folder / "figures").glob(f"*/{study}.png")
    assert picture.relative_to(folder).as_posix() in elements.pictures
    assert all((folder / source).is_file() for source in elements.pictures)


def test_of_a_study_with_a_recorded_run_the_page_has_the_run_of_today_alone(run, tmp_path):
    code, (folder,) = run(RECORDED)
    assert code == 0
    assert (tmp_path / "reports" / "evidence" / RECORDED / "data.nc").is_file()
    runs = [run for case in all_cases(read_ledger(folder)) for run in case.runs]
    assert {(run.scale, run.recorded) for run in runs} == {("demo", False)}
    assert all(run.departs["widths"][0] == [4, 6] for run in runs)
    assert not [*folder.rglob("recorded*")]
    data = labelled.read(folder / "singh2026cracking" / RECORDED / "numerics.nc")
    assert data["width"].values.tolist() == [4, 6]
    # And nothing of it is among what DVC makes.
    assert not (tmp_path / "reports" / "index.html").exists()
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {"evidence"}


@pytest.mark.parametrize("scale", ["demo", "paper"])
def test_a_toy_refutes_no_paper_whatever_scale_is_typed(run, scale):
    code, (folder,) = run(FIGURE, f"studies.{FIGURE}.width=3", f"scale={scale}")
    assert code == 0
    (statement,) = (each for each in read_ledger(folder) if each.id == READING)
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
