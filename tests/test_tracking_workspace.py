import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import local_servers
import pytest
import sample_reports

from hessian_spectra.drawing.record import FigureRecord, read_figures
from hessian_spectra.papers import paper
from hessian_spectra.results import MissingResultError
from hessian_spectra.tracking import TrackingError, publish, report, workspace


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


def expected() -> dict[str, list[str]]:
    """Title of each paper -> the media keys of its figures, in order."""
    keys: dict[str, list[str]] = {}
    for study, (key, _) in sample_reports.STUDIES.items():
        keys.setdefault(paper(key).title, []).append(f"figures/{key}/{study}")
    return keys


def serialised(made: Any) -> dict[str, Any]:
    """What `save` would send."""
    return json.loads(made._to_model().model_dump_json(by_alias=True, exclude_none=True))


def media_keys(panels: list[dict[str, Any]]) -> list[str]:
    assert {panel["viewType"] for panel in panels} == {"Media Browser"}
    return [key for panel in panels for key in panel["config"]["mediaKeys"]]


def test_the_workspace_has_one_section_per_paper(figures: list[FigureRecord]) -> None:
    view = serialised(workspace("me", "hessian-spectra", figures))
    assert (view["entity"], view["project"]) == ("me", "hessian-spectra")
    section = view["spec"]["section"]
    claims, *papers = section["panelBankConfig"]["sections"]
    assert claims["name"] == "Claims"
    assert '"claims"' in json.dumps(claims["panels"])
    assert {s["name"]: media_keys(s["panels"]) for s in papers} == expected()
    assert all(s["isOpen"] for s in papers)
    assert "dashboard" in json.dumps(section["runSets"])


def test_panels_are_titled_like_the_figures(figures: list[FigureRecord]) -> None:
    view = serialised(workspace("me", "hessian-spectra", figures))
    sections = view["spec"]["section"]["panelBankConfig"]["sections"][1:]
    titles = [panel["config"]["chartTitle"] for s in sections for panel in s["panels"]]
    assert titles == [f"{figure.artifact}: {figure.title}" for figure in figures]


def test_the_report_has_one_panel_grid_per_paper(figures: list[FigureRecord]) -> None:
    made = serialised(report("me", "hessian-spectra", figures))
    blocks = made["spec"]["blocks"]
    headings = [b["children"][0]["text"] for b in blocks if b["type"] == "heading"]
    grids = [b["metadata"] for b in blocks if b["type"] == "panel-grid"]
    shown = [media_keys(grid["panelBankSectionConfig"]["panels"]) for grid in grids]
    assert dict(zip(headings, shown, strict=True)) == expected()
    assert all("dashboard" in json.dumps(grid["runSets"]) for grid in grids)


def test_the_forms_can_be_read_again(figures: list[FigureRecord]) -> None:
    made = workspace("me", "hessian-spectra", figures)
    again = type(made)._from_model(made._to_model())
    assert [section.name for section in again.sections] == ["Claims", *expected()]


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
