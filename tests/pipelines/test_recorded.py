"""A damaged recorded run costs its own study, which says so; all others are as before."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import xarray as xr

from hessian_papers import labelled
from hessian_papers.drawing.record import read_figures
from hessian_papers.ledger.bounds import at_least
from hessian_papers.ledger.record import read_ledger
from hessian_papers.ledger.statements import Statements
from hessian_papers.results import folder_of, sides_of
from hessian_spectra.files import digest
from hessian_spectra.pictures import style
from pipelines import inputs, schema
from pipelines.ledger import ledger
from pipelines.page import page
from pipelines.paper import paper
from pipelines.recorded import EVIDENCE
from pipelines.stage import Context, read_only
from pipelines.yaml_files import read_yaml
from tests.pipelines.workspace import ROOT, smallest

DAMAGED, WHOLE = "cracking-fig4", "cracking-fig14"


def junk(path):
    path.write_bytes(b"junk")


def cut(path):
    path.write_bytes(path.read_bytes()[:-30])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def remove(path):
    path.unlink()


def forget(path):
    path.write_text(json.dumps({"scale": "paper", "commit": "0"}))


def garble(path):
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"study": ["no", "settings"]}))


DAMAGES = [
    ("data.nc", junk, r" is damaged \(.*\)"),
    ("data.nc", cut, r" is damaged \(.*\)"),
    ("data.nc", flip, r" is damaged \(.*\)"),
    ("data.nc", remove, r" is missing"),
    ("facts.json", junk, r" is no JSON \(.*\)"),
    ("facts.json", remove, r" is missing"),
    ("facts.json", forget, r": expected study, found none"),
    ("facts.json", garble, r": expected settings of study, got \['no', 'settings'\]"),
]


@pytest.fixture(scope="module")
def params():
    return read_yaml(ROOT / "params.yaml")


@pytest.fixture
def evidence(monkeypatch, tmp_path):
    """The recorded runs of two studies, in a folder of their own."""
    for name in (DAMAGED, WHOLE):
        shutil.copytree(ROOT / "reports" / "evidence" / name, tmp_path / "reports/evidence" / name)
    monkeypatch.chdir(tmp_path)
    return Path("reports") / "evidence" / DAMAGED


@pytest.mark.parametrize(("name", "harm", "words"), DAMAGES)
def test_damage_is_one_line_and_nothing_is_made_of_the_run(params, evidence, name, harm, words):
    path, whole = evidence / name, inputs.provenances(params, WHOLE)
    assert [run.damaged for run in inputs.provenances(params, DAMAGED)] == ["", ""]
    harm(path)
    (run,) = inputs.provenances(params, DAMAGED)
    assert re.fullmatch(
        f"{DAMAGED}: its recorded run does not count: {path}{words}[:;] "
        rf"(delete it and )?run git checkout {path}",
        run.damaged,
    )
    assert (run.study, run.recorded) == (DAMAGED, False)
    assert inputs.provenances(params, WHOLE) == whole
    assert [(each.recorded, each.damaged) for each in whole] == [(False, ""), (True, "")]
    assert whole[1].scale == "paper"


def keep(workspace, study):
    """Make the run of today a recorded one."""
    folder = workspace.path / "reports" / "evidence" / study
    config = read_yaml(workspace.path / "params.yaml")["studies"][study]
    today = folder_of(workspace.path / "results", config["paper"], study)
    data = labelled.read_study(today, sides_of(config))
    labelled.write(folder / labelled.WHOLE, data)
    facts = {"scale": "workstation", "commit": "0" * 40, "study": config}
    (folder / "facts.json").write_text(json.dumps(facts), "utf-8")


@pytest.mark.pipeline
@pytest.mark.xdist_group("recorded")
def test_page_and_ledger_name_a_damaged_run_and_go_on_with_all_others(make_workspace):
    workspace = smallest(make_workspace("recorded"))
    damaged, whole = "cracking-fig1", "poster-pair"
    workspace.run("dvc", "repro", "paper")
    for study in (damaged, whole):
        keep(workspace, study)
    workspace.run("dvc", "repro", "page")
    figures = workspace.path / "reports" / "figures"
    drawn = [
        figures / "singh2026cracking" / damaged / "recorded.png",
        figures / "singh2024poster" / whole / "recorded.png",
    ]
    assert [path.is_file() for path in drawn] == [True, True]
    before = drawn[1].read_bytes()
    path = f"reports/evidence/{damaged}/data.nc"
    junk(workspace.path / path)
    done = workspace.run("dvc", "repro", "page")
    assert [path.is_file() for path in drawn] == [False, True]
    assert drawn[1].read_bytes() == before
    said = (done.stdout + done.stderr).splitlines()
    beginning = f"{damaged}: its recorded run does not count: {path} is damaged ("
    (line,) = {each for each in said if each.startswith(beginning)}
    assert line.endswith(f"): delete it and run git checkout {path}")
    assert said.count(line) == 1
    reports = workspace.path / "reports"
    assert f"- {line}" in (reports / "claims.md").read_text("utf-8").splitlines()
    (page,) = reports.glob(f"*/{damaged}.html")
    assert page.read_text("utf-8").count(line) == 1
    ledger = json.loads((reports / "claims.json").read_text("utf-8"))
    scales = {study: [] for study in (damaged, whole)}
    for case in (case for statement in ledger for case in statement["cases"]):
        if case["study"] in scales:
            beside = case["beside"] or {"scale": None}
            scales[case["study"]].append({case["scale"], beside["scale"]})
    assert scales[damaged] == [{"demo", None}] * len(scales[damaged]) != []
    assert {"demo", "workstation"} in scales[whole]
    # What is read of a run of today that is cut off ends the stage in one line.
    folder = f"results/singh2024poster/{whole}"
    cut(workspace.path / folder / "numerics.nc")
    command = ("python", "-m", *["pipelines.paper", "-cn", "locked", "only=singh2024poster"])
    done = workspace.run(*command, check=False)
    *_, last = done.stderr.splitlines()
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert last.startswith(f"error: {folder}/numerics.nc is damaged (")
    assert last.endswith("delete it and run the stage that writes it (dvc repro)")
    # And that mends it.
    workspace.run("dvc", "repro", "paper@singh2024poster")
    assert drawn[1].read_bytes() == before


PLANTED, PAPER = "cracking-fig7", "singh2026cracking"


def picture(data):
    figure, grid = style.panels(1, 1, height=2.0, squeeze=False)
    grid[0, 0].plot([0, 1, 2], [0, 5, float(data["number"])])
    return figure


def text_of(data):
    return f"The number is {float(data['number']):g}."


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """A kind of studies whose pictures, texts and statement tell the number that they read."""
    kind = SimpleNamespace(statements=Statements(), draw=picture, caption=text_of)
    kind.controls = lambda data: (picture(data), text_of(data))

    bound = at_least(1.5, "between both runs")

    @kind.statements.statement("everywhere", "a place", bound, book="beyond")
    def planted_number(data):
        """The number is large. Statistic: the number."""
        return float(data["number"])

    monkeypatch.setattr(schema, "module_of", lambda *_: kind)
    monkeypatch.setattr(schema, "figure_of", lambda config: kind)
    monkeypatch.chdir(tmp_path)


def test_all_that_is_said_of_a_run_is_of_its_own_arrays(planted, params):
    """Two runs differ in everything: pictures, texts, statements, findings and page show it."""
    numbers = {"today": 2, "recorded": 1}
    places = {"today": Path("results") / PAPER / PLANTED, "recorded": EVIDENCE / PLANTED}
    configs = {run: params["studies"][PLANTED] | {"seed": seed} for seed, run in enumerate(places)}
    for file in ("closed_form", "numerics"):
        data = xr.Dataset({"number": float(numbers["today"])})
        labelled.write(places["today"] / f"{file}.nc", data)
    data = xr.Dataset({"number": float(numbers["recorded"])})
    labelled.write(places["recorded"] / labelled.WHOLE, data)
    facts = {"scale": "paper", "commit": "0" * 40, "study": configs["recorded"]}
    (places["recorded"] / "facts.json").write_text(json.dumps(facts), "utf-8")
    provenances = {
        PLANTED: inputs.provenances(params | {"studies": {PLANTED: configs["today"]}}, PLANTED)
    }

    def of(work, only, **settings):
        folders, config = (Path("results"), Path("reports")), read_only(settings)
        work(Context(config, only, None, True, *folders, None, False, provenances))

    lead = {"sentence": "It is large.", "rests_on": ["planted-number"]}
    finding = {
        **{"name": "planted", "study": PLANTED, "sentence": "It is {number}."},
        **{"setting": "Width 100.", "would_change": "Another one."},
        "picture": {"axis": "r", "groups": {"planted-number": "it"}},
        "rests_on": {"planted-number": "fails"},
        "numbers": {"number": {"largest": "planted-number"}},
    }
    sentences = {"sets": {}, "findings": [finding]}
    shown = {"leads": {PLANTED: lead}}
    artifacts = {PLANTED: [PAPER, configs["today"]["artifact"]]}
    own = {"studies": [PLANTED], "made": {PLANTED: "code"}, "artifacts": artifacts}
    of(paper, PAPER, **own)
    of(ledger, None, studies=[[PAPER, PLANTED]], findings=sentences, damaged=[], headlines={})
    of(page, None, findings=sentences, kept={}, durations={}, **shown)

    (statement, *_) = read_ledger(Path("reports"))
    (case,) = statement.cases
    (today,) = read_figures(Path("reports"))
    runs = {"today": (today, case.beside), "recorded": (today.recorded, case)}
    for name, (figure, record) in runs.items():
        number, said = numbers[name], f"The number is {numbers[name]}."
        assert (figure.caption, figure.controls.caption) == (said, said)
        series = figure.svg.with_name(f"{figure.svg.stem}-series.json")
        assert json.loads(series.read_text())[0]["curves"][0]["y"] == [0, 5, number]
        arrays = figure.provenance.arrays
        files = [places[name] / file for file in arrays]
        digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        assert [*arrays.values()] == digests
        assert figure.config == configs[name]
        assert (record.measured, record.digest) == (number, digest(configs[name]))
        assert (record.recorded, record.scale) == (name == "recorded", figure.provenance.scale)
    assert (today.provenance.scale, case.scale) == ("demo", "paper")
    assert (case.beside.outcome, case.outcome, statement.verdict) == ("holds", "fails", "differs")
    assert today.png != today.recorded.png
    assert Path("reports/findings.md").read_text() == "1. It is 1.0.\n"
    content = Path(f"reports/{PAPER}/{PLANTED}.html").read_text("utf-8")
    assert content.count("It is large.") == 1
    assert "It is large.</strong> The number is 2." in content
