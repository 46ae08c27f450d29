import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import local_servers
import pytest
import sample_reports

from hessian_papers.drawing.record import FigureRecord, read_figures
from hessian_papers.ledger.record import StatementRecord, all_cases, read_ledger
from hessian_papers.papers import paper
from hessian_papers.tracking import TrackingError, publish, report, workspace
from hessian_papers.tracking.dashboard import statistics
from hessian_spectra.files import MissingResultError

# Before those of the papers.
SECTIONS = ("Statements", "Experiments", "Trainings")


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nobody is logged in here, whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    import wandb

    wandb.teardown()
    yield
    wandb.teardown()


@pytest.fixture(scope="module")
def figures(sample_root: Path) -> list[FigureRecord]:
    return read_figures(sample_root / "reports")


@pytest.fixture(scope="module")
def statements(sample_root: Path) -> list[StatementRecord]:
    return read_ledger(sample_root / "reports")


def expected() -> dict[str, list[str]]:
    """Title of each paper -> the media keys of its figures, in order."""
    keys: dict[str, list[str]] = {}
    for study, (key, _) in sample_reports.STUDIES.items():
        own = keys.setdefault(paper(key).title, [])
        own.append(f"figures/{key}/{study}")
        if study == sample_reports.RECORDED:
            own.append(f"controls/{key}/{study}")
    return keys


def serialised(made: Any) -> dict[str, Any]:
    """The data that `save` would send."""
    return json.loads(made._to_model().model_dump_json(by_alias=True, exclude_none=True))


def media_keys(panels: list[dict[str, Any]]) -> list[str]:
    """The keys of the figures and their second pictures; beside each, the chart of its curves."""
    pictures, charts = panels[::2], panels[1::2]
    assert {panel["viewType"] for panel in pictures} == {"Media Browser"}
    assert {panel["viewType"] for panel in charts} == {"Vega2"}
    keys = [key for panel in pictures for key in panel["config"]["mediaKeys"]]
    shown = [key for key in keys if not key.startswith("controls/")]
    tables = [key.replace("figures/", "charts/") + "_table" for key in shown]
    for panel, table in zip(charts, tables, strict=True):
        assert json.dumps(table) in json.dumps(panel["config"]["userQuery"])
        assert panel["config"]["panelDefId"] == "wandb/line/v0"
        assert panel["config"]["fieldSettings"] == {"x": "x", "y": "y", "stroke": "curve"}
    return keys


def test_the_workspace_has_one_section_per_paper(
    figures: list[FigureRecord], statements: list[StatementRecord]
) -> None:
    view = serialised(workspace("me", "hessian-spectra", figures, statements))
    assert (view["entity"], view["project"]) == ("me", "hessian-spectra")
    section = view["spec"]["section"]
    table, experiments, trainings, *papers = section["panelBankConfig"]["sections"]
    assert [item["name"] for item in (table, experiments, trainings)] == [*SECTIONS]
    assert '"statements"' in json.dumps(table["panels"])
    assert {s["name"]: media_keys(s["panels"]) for s in papers} == expected()
    assert all(s["isOpen"] for s in papers)
    for kind in ("dashboard", "recorded", "train"):
        assert kind in json.dumps(section["runSets"])


def test_experiments_are_compared_by_what_a_case_of_each_study_measures(
    figures: list[FigureRecord], statements: list[StatementRecord]
) -> None:
    measured = statistics(statements, recorded=False)
    cases = [case for case in all_cases(statements) if case.id in measured]
    studies = {f"summary:{case.id}": case.study for case in cases}
    view = serialised(workspace("me", "hessian-spectra", figures, statements))
    _, experiments, trainings, *_ = view["spec"]["section"]["panelBankConfig"]["sections"]
    shown: list[str | None] = []
    for panel in experiments["panels"]:
        assert panel["viewType"] == "Parallel Coordinates Plot"
        shown += [studies[column["accessor"]] for column in panel["config"]["columns"]]
    assert sorted(map(str, shown)) == sorted(map(str, {*studies.values()}))
    assert ["loss"] in [panel["config"]["metrics"] for panel in trainings["panels"]]


def test_panels_are_titled_like_the_figures(
    figures: list[FigureRecord], statements: list[StatementRecord]
) -> None:
    view = serialised(workspace("me", "hessian-spectra", figures, statements))
    sections = view["spec"]["section"]["panelBankConfig"]["sections"][len(SECTIONS) :]
    titles = [panel["config"]["chartTitle"] for s in sections for panel in s["panels"][::2]]
    assert titles == [f"{figure.artifact}: {figure.title}" for figure in figures]


def test_the_report_has_one_panel_grid_per_paper(figures: list[FigureRecord]) -> None:
    made = serialised(report("me", "hessian-spectra", figures))
    blocks = made["spec"]["blocks"]
    headings = [b["children"][0]["text"] for b in blocks if b["type"] == "heading"]
    grids = [b["metadata"] for b in blocks if b["type"] == "panel-grid"]
    shown = [media_keys(grid["panelBankSectionConfig"]["panels"]) for grid in grids]
    assert dict(zip(headings, shown, strict=True)) == expected()
    assert all("dashboard" in json.dumps(grid["runSets"]) for grid in grids)


def test_a_figure_without_curves_has_no_chart(
    figures: list[FigureRecord], statements: list[StatementRecord]
) -> None:
    bare = [replace(figure, chart={}) for figure in figures]
    view = serialised(workspace("me", "hessian-spectra", bare, statements))
    sections = view["spec"]["section"]["panelBankConfig"]["sections"][len(SECTIONS) :]
    assert sum(len(section["panels"]) for section in sections) == len(figures)


def test_the_forms_can_be_read_again(
    figures: list[FigureRecord], statements: list[StatementRecord]
) -> None:
    made = workspace("me", "hessian-spectra", figures, statements)
    again = type(made)._from_model(made._to_model())
    assert [section.name for section in again.sections] == [*SECTIONS, *expected()]


def test_publishing_without_a_login_is_one_line(
    sample_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_servers.wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.address)
        with pytest.raises(TrackingError, match="cannot publish: nobody is logged in") as caught:
            publish("p", None, sample_root / "reports")
    assert "\n" not in str(caught.value)


def test_publishing_without_a_server_is_one_line(
    sample_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_servers.closed_port() as address:
        monkeypatch.setenv("WANDB_BASE_URL", address)
        with pytest.raises(TrackingError, match=r"cannot be reached \(Connection refused\)"):
            publish("p", "me", sample_root / "reports")


def test_publishing_without_figures_names_the_stage(tmp_path: Path) -> None:
    with pytest.raises(MissingResultError, match="run the stage figures"):
        publish("p", "me", tmp_path)
