"""The layout on W&B: each figure with its chart, by paper; and what stands before them."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import local_servers
import pytest
import sample_reports
import torch
import wandb
import xarray as xr
from torch import nn
from wandb_files import read_back

from hessian_papers import compute
from hessian_papers.drawing.record import read_figures
from hessian_papers.drawing.vega_lite import specification
from hessian_papers.ledger.record import all_cases, read_ledger
from hessian_papers.networks import classifiers
from hessian_papers.networks.tools.language_model import MATRICES, Measurements
from hessian_papers.papers import paper
from hessian_papers.studies.training import curvature_shown
from hessian_papers.tracking import TrackingError, log_dashboard, publish, report, workspace
from hessian_papers.tracking.dashboard import LINES, chart_title, statistics
from hessian_papers.tracking.upload import logged
from hessian_papers.tracking.workspace import TRAINING
from hessian_papers.training.descent import descend, follow
from hessian_papers.training.optimizers import stochastic_gradient_descent
from hessian_spectra import closed_form as cf
from hessian_spectra import pac_bayes
from hessian_spectra.files import MissingResultError
from tests.papers.networks.trainings import live, walks

# Before those of the papers.
SECTIONS = ("Statements", "Experiments", "Trainings")
PRESET = "me/chart"


@pytest.fixture(autouse=True)
def own_settings(no_wandb_settings, monkeypatch, tmp_path):
    """Nobody is logged in here, whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    wandb.teardown()


@pytest.fixture(scope="module")
def figures(sample_root):
    return read_figures(sample_root / "reports")


@pytest.fixture(scope="module")
def statements(sample_root):
    return read_ledger(sample_root / "reports")


def expected():
    """Title of each paper -> the media keys of its figures, in order."""
    keys = {}
    for study, (key, _) in sample_reports.STUDIES.items():
        own = keys.setdefault(paper(key).title, [])
        own.append(f"figures/{key}/{study}")
        if study == sample_reports.RECORDED:
            own.append(f"controls/{key}/{study}")
    return keys


def serialised(made):
    """The data that `save` would send."""
    return json.loads(made._to_model().model_dump_json(by_alias=True, exclude_none=True))


def media_keys(panels):
    """The keys of the figures and their second pictures; beside each, the chart of its curves."""
    pictures, charts = panels[::2], panels[1::2]
    assert {panel["viewType"] for panel in pictures} == {"Media Browser"}
    assert {panel["viewType"] for panel in charts} == {"Vega2"}
    keys = [key for panel in pictures for key in panel["config"]["mediaKeys"]]
    shown = [key for key in keys if not key.startswith("controls/")]
    tables = [key.replace("figures/", "charts/") + "_table" for key in shown]
    for panel, table in zip(charts, tables, strict=True):
        assert json.dumps(table) in json.dumps(panel["config"]["userQuery"])
        assert panel["config"]["panelDefId"] == PRESET
        assert panel["config"]["fieldSettings"].items() >= {"run": "name", "drawn": "drawn"}.items()
        said = panel["config"]["stringSettings"]
        assert (said["xname"], said["xscale"]) == ("made-up x", "linear")
    return keys


def view_of(figures, statements, trained=("loss",)):
    """The workspace as it is sent, and its sections."""
    view = serialised(workspace("me", "hessian-spectra", figures, statements, trained, PRESET))
    return view, view["spec"]["section"]["panelBankConfig"]["sections"]


def test_the_workspace_has_one_section_per_paper(figures, statements):
    view, (table, experiments, trainings, *papers) = view_of(figures, statements)
    assert (view["entity"], view["project"]) == ("me", "hessian-spectra")
    assert [item["name"] for item in (table, experiments, trainings)] == [*SECTIONS]
    assert '"statements"' in json.dumps(table["panels"])
    assert {s["name"]: media_keys(s["panels"]) for s in papers} == expected()
    assert all(s["isOpen"] for s in papers)
    titles = [panel["config"]["chartTitle"] for s in papers for panel in s["panels"][::2]]
    assert titles == [f"{figure.artifact}: {figure.title}" for figure in figures]
    for kind in ("dashboard", "recorded", "train"):
        assert kind in json.dumps(view["spec"]["section"]["runSets"])


def test_experiments_are_compared_by_what_a_case_of_each_study_measures(figures, statements):
    measured = statistics(statements, recorded=False)
    cases = [case for case in all_cases(statements) if case.id in measured]
    studies = {f"summary:{case.id}": case.study for case in cases}
    _, (_, experiments, *_) = view_of(figures, statements)
    assert {panel["viewType"] for panel in experiments["panels"]} == {"Parallel Coordinates Plot"}
    columns = [c for panel in experiments["panels"] for c in panel["config"]["columns"]]
    shown = [studies[column["accessor"]] for column in columns]
    assert sorted(map(str, shown)) == sorted(map(str, {*studies.values()}))


def in_training():
    """The names under which trainings of each kind log."""
    keys = set()

    def log(step, metrics):
        keys.update(metrics)

    x = torch.linspace(-1.0, 1.0, 8, dtype=torch.float64)
    model = nn.Sequential(nn.Linear(1, 2, bias=False), nn.Linear(2, 1, bias=False)).double()
    samples = x[:, None], x[:, None]
    optimizer = stochastic_gradient_descent(model, lr=0.1)

    def spectrum(v, w, x, y):
        return cf.two_layer_linear(w.flatten(), v.flatten(), x, y)

    descent = descend(model, nn.MSELoss(), *samples, optimizer, steps=2)
    follow({"linear": descent}, log, {"linear": curvature_shown(spectrum, x, x, 2)})
    names = ("loss", "residual", *MATRICES)
    measured = SimpleNamespace(_steps=[0], arrays={name: [1.0] for name in names})
    keys.update(Measurements.metrics(measured, 0))
    evaluated = SimpleNamespace(_updates=1, evaluations={0: (1.0, 0.5)})
    keys.update(classifiers._Kept.metrics(evaluated, 0))
    classifier, prior = (nn.Sequential(nn.Linear(1, 2)).double() for _ in range(2))
    labels = (x > 0).long()
    pac_bayes.bound(
        classifier, (x[:, None], labels), prior=prior, prior_saw="nothing", epochs=1, log=log
    )
    return keys


def test_every_panel_of_trainings_has_something_that_a_training_logs():
    keys = in_training()
    for title, names in TRAINING.items():
        assert [key for key in keys if re.search(names, key)], title


def asked(panel):
    """The names of what a panel shows, or patterns of them."""
    config = panel["config"]
    if "metricRegex" in config:
        return [config["metricRegex"]]
    if "columns" in config:
        own = [column["accessor"].removeprefix("summary:") for column in config["columns"]]
    elif "mediaKeys" in config:
        own = config["mediaKeys"]
    else:
        text = json.dumps(config)
        own = re.findall(r'"(?:tableKey", "value": |key": {[^}]*"val": )"([^"]+)"', text)
    return [f"^{re.escape(name)}$" for name in own]


def test_every_panel_has_data_in_the_runs_that_are_there(
    sample_root, figures, statements, tmp_path
):
    reports, results = sample_root / "reports", sample_root / "results"
    logged_one = {"group": "g", "config": {}, "project": "p", "directory": tmp_path}
    log_dashboard(reports, results, **logged_one)
    data = xr.Dataset({"values": ("value", [4])})
    given = {"work": walks, "config": 5, "given": data, "folder": tmp_path / "shards"}
    training = compute.Computation(name="walks", **given, live=live(tmp_path))
    training.train(compute.Launcher(cluster="debug"), tmp_path / "networks")
    (tmp_path / "wandb" / "offline-run-1-train-killed").mkdir()
    trained = logged(tmp_path, "train")
    assert trained == {"loss"}
    runs = [read_back(file.parent) for file in tmp_path.glob("wandb/offline-run-*/*.wandb")]
    assert len(runs) == 3
    names = {name for run in runs for name in run.summary}
    _, sections = view_of(figures, statements, trained)
    panels = [(section["name"], panel) for section in sections for panel in section["panels"]]
    assert len(panels) > len(figures)
    for place, panel in panels:
        for pattern in (wanted := asked(panel)):
            assert any(re.search(pattern, name) for name in names), (place, pattern)
        assert wanted, panel
    (losses,) = (panel for place, panel in panels if place == "Trainings")
    assert losses["config"]["metricRegex"] == TRAINING["Loss"]
    _, sections = view_of(figures, statements, set())
    assert "Trainings" not in [section["name"] for section in sections]


def test_a_chart_is_titled_by_its_axes_where_these_have_no_names(figures):
    shown = {"title": "λ_1 of H", "x": "steps", "y": "η"}
    figure = replace(figures[0], chart=shown)
    assert chart_title(figure) == f"{figure.artifact} λ_1 of H"
    assert chart_title(figure, of_axes=True) == f"{figure.artifact} λ_1 of H: η over steps"
    figure = replace(figures[0], chart={"title": "", "x": "", "y": "η"})
    assert chart_title(figure, of_axes=True) == f"{figure.artifact}: η"


def test_the_report_has_one_panel_grid_per_paper(figures):
    made = serialised(report("me", "hessian-spectra", figures, preset=PRESET))
    blocks = made["spec"]["blocks"]
    headings = [b["children"][0]["text"] for b in blocks if b["type"] == "heading"]
    grids = [b["metadata"] for b in blocks if b["type"] == "panel-grid"]
    shown = [media_keys(grid["panelBankSectionConfig"]["panels"]) for grid in grids]
    assert dict(zip(headings, shown, strict=True)) == expected()
    assert all("dashboard" in json.dumps(grid["runSets"]) for grid in grids)


def test_the_report_opens_with_the_findings_and_their_pictures(figures):
    findings = [("$λ_1 < 2$ holds.", "cracking-fig7"), ("It has no picture.", "no-study")]
    made = serialised(report("me", "hessian-spectra", figures, findings))
    blocks = made["spec"]["blocks"]
    start = [block["type"] for block in blocks].index("heading")
    heading, first, picture, second, after = blocks[start : start + 5]
    texts = [block["children"][0]["text"] for block in (heading, first, second)]
    assert texts == ["Findings", "λ_1 < 2 holds.", "It has no picture."]
    assert "cracking-fig7" in json.dumps(picture)
    assert after["type"] == "heading"


def test_a_figure_without_curves_has_no_chart(figures, statements):
    bare = [replace(figure, chart={}) for figure in figures]
    _, sections = view_of(bare, statements)
    panels = [panel for section in sections[len(SECTIONS) :] for panel in section["panels"]]
    assert len(panels) == len(figures)


def test_the_forms_can_be_read_again(figures, statements):
    made = workspace("me", "hessian-spectra", figures, statements, ["loss"])
    again = type(made)._from_model(made._to_model())
    assert [section.name for section in again.sections] == [*SECTIONS, *expected()]


@pytest.mark.parametrize("keeps_no_charts", [False, True])
def test_publishing_saves_charts_workspace_and_report(
    keeps_no_charts, sample_root, monkeypatch, capsys
):
    findings = [("$λ_1 < 2$ holds.", "cracking-fig7")]
    with local_servers.wandb_server() as server:
        server.keeps_no_charts = keeps_no_charts
        monkeypatch.setenv("WANDB_BASE_URL", server.address)
        monkeypatch.setenv("WANDB_API_KEY", local_servers.KEY)
        addresses = publish("p", None, sample_root / "reports", sample_root, findings)
    assert len(addresses) == len(server.views) == 2
    assert all(address.startswith(f"{server.address}/me/p") for address in addresses)
    charts = [part for view in server.views.values() for part in parts(view, "panelDefId")]
    said = capsys.readouterr().err
    if keeps_no_charts:
        assert {chart["panelDefId"] for chart in charts} == {LINES}
        assert "over made-up x" in json.dumps([chart["stringSettings"] for chart in charts])
        assert re.fullmatch("W&B: charts are plain lines: .+\n", said)
    else:
        assert [*server.charts.values()] == [specification()]
        assert {chart["panelDefId"] for chart in charts} == {server.CHART}
        assert said == ""
    assert '"Findings"' in json.dumps(server.views["runs"])


def parts(value, key):
    """All parts of a view that have a key."""
    if isinstance(value, dict):
        yield from [value] * (key in value)
        value = [*value.values()]
    for entry in value if isinstance(value, list) else []:
        yield from parts(entry, key)


def test_publishing_without_a_login_is_one_line(sample_root, monkeypatch):
    with local_servers.wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.address)
        with pytest.raises(TrackingError, match="cannot publish: nobody is logged in") as caught:
            publish("p", None, sample_root / "reports", sample_root)
    assert "\n" not in str(caught.value)


def test_publishing_without_a_server_is_one_line(sample_root, monkeypatch):
    with local_servers.closed_port() as address:
        monkeypatch.setenv("WANDB_BASE_URL", address)
        with pytest.raises(TrackingError, match=r"cannot be reached \(Connection refused\)"):
            publish("p", "me", sample_root / "reports", sample_root)


def test_publishing_without_figures_names_the_stage(tmp_path):
    with pytest.raises(MissingResultError, match="run dvc repro"):
        publish("p", "me", tmp_path, tmp_path)
