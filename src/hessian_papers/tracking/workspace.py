"""The dashboard's layout on W&B: a workspace and a report, one group of panels per paper."""

import math
import re
import secrets
import warnings
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

from hessian_papers.drawing import vega_lite
from hessian_papers.drawing.record import CONTROLS, FigureRecord, read_figures
from hessian_papers.formulas import plain
from hessian_papers.ledger.record import StatementRecord, all_cases, read_ledger
from hessian_papers.papers import paper
from hessian_papers.tracking.dashboard import (
    CHART_COLUMNS,
    LINES,
    chart_title,
    figure_key,
    statistics,
)
from hessian_papers.tracking.server import first_line, import_wandb, why_not_online
from hessian_papers.tracking.settings import TrackingError, say
from hessian_papers.tracking.upload import logged
from hessian_spectra.files import digest

_NAME = "Hessian spectra"
# A figure, and beside it the chart of its main panel.
_COLUMNS = 2
# Today's run, the recorded ones and experiments beside it; and trainings.
_DASHBOARDS = "JobType in ['dashboard', 'recorded']"
_ALL = "JobType in ['dashboard', 'recorded', 'train']"
# Axes of a panel of parallel coordinates.
_AXES = 8
# What trainings log along their steps, by the names that it has: networks that are trained side by
# side put their own name before it. Each has a panel if any training logged it: of short trainings,
# all of some kinds at the demo's sizes, there are no runs.
TRAINING = {
    "Loss": r"^(.*/)?loss$",
    "Loss and accuracy of all samples": r"^(loss_of_all|accuracy)$",
    "Sharpness": r"^(.*/)?sharpness$",
    "Largest eigenvalue of the Hessian and the GGN": r"^measured/(hessian|ggn)$",
    "Terms of a PAC-Bayes bound": r"^(complexity|divergence)$",
    "Learning rate": r"^learning_rate$",
}


def _import_workspaces() -> tuple[ModuleType, ModuleType]:
    import_wandb()
    with warnings.catch_warnings():
        # The package is written for an older pydantic; that is no concern of our users.
        warnings.simplefilter("ignore", DeprecationWarning)
        import wandb_workspaces.reports.v2 as reports
        import wandb_workspaces.workspaces as workspaces
    return workspaces, reports


def _by_paper(figures: Sequence[FigureRecord]) -> dict[str, list[FigureRecord]]:
    return {key: [*own] for key, own in groupby(figures, key=lambda figure: figure.paper)}


def _panels(figures: Sequence[FigureRecord], preset: str) -> list[Any]:
    """Each figure, with the chart of its main panel if there are curves in it."""
    _, reports = _import_workspaces()
    panels: list[Any] = []
    for figure in figures:
        keys = [figure_key(figure)]
        if figure.controls is not None:
            keys.append(figure_key(figure, CONTROLS))
        panels.append(reports.MediaBrowser(title=figure.heading, media_keys=keys, num_columns=1))
        if figure.chart:
            panels.append(
                reports.CustomChart(
                    query={"summaryTable": {"tableKey": f"{figure_key(figure, 'charts')}_table"}},
                    chart_name=preset,
                    chart_fields=dict(CHART_COLUMNS),
                    chart_strings=vega_lite.words(figure.chart)
                    | {"title": chart_title(figure, of_axes=preset == LINES)},
                )
            )
    return panels


def _experiments(
    figures: Sequence[FigureRecord], statements: Sequence[StatementRecord]
) -> list[Any]:
    """Parallel coordinates of each paper: the first statistic of each of its first studies."""
    _, reports = _import_workspaces()
    measured = statistics(statements, recorded=False)
    # The first one of each study stays.
    cases = reversed(all_cases(statements))
    names = {case.study: case.id for case in cases if case.id in measured}
    panels = []
    for key, own in _by_paper(figures).items():
        shown = [names[figure.study] for figure in own if figure.study in names][:_AXES]
        columns = [
            reports.ParallelCoordinatesPlotColumn(metric=reports.SummaryMetric(name))
            for name in shown
        ]
        if columns:
            panels.append(reports.ParallelCoordinatesPlot(title=paper(key).title, columns=columns))
    return panels


def workspace(
    entity: str,
    project: str,
    figures: Sequence[FigureRecord],
    statements: Sequence[StatementRecord],
    trained: Collection[str] = (),
    preset: str = LINES,
) -> Any:
    """The workspace: statements, experiments and trainings, then one section per paper.

    A paper's section has a panel for each figure, and beside it a chart of its main panel, in
    which the curves of all visible runs lie over each other. The section of experiments compares
    what cases measured in runs of other settings. It is built without a server; ``save()`` needs
    one.

    Args:
        entity: W&B user or team.
        project: name of the project.
        figures: the registered figures, in the order in which they are shown.
        statements: the ledger.
        trained: the names of what trainings logged.
        preset: of the charts, see :func:`chart_preset`.

    Returns:
        A ``wandb_workspaces.workspaces.Workspace``.
    """
    workspaces, reports = _import_workspaces()
    tables = [reports.WeavePanelSummaryTable(table_name=name) for name in ("statements", "cases")]
    trainings = [
        reports.LinePlot(title=title, metric_regex=names)
        for title, names in TRAINING.items()
        if any(re.search(names, name) for name in trained)
    ]
    sections = {
        "Statements": tables,
        "Experiments": _experiments(figures, statements),
        "Trainings": trainings,
        **{paper(key).title: _panels(own, preset) for key, own in _by_paper(figures).items()},
    }
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=_NAME,
        sections=[
            workspaces.Section(
                name=name,
                panels=panels,
                is_open=True,
                layout_settings=workspaces.SectionLayoutSettings(
                    columns=min(_COLUMNS, len(panels)), rows=math.ceil(len(panels) / _COLUMNS)
                ),
            )
            for name, panels in sections.items()
            if panels
        ],
        runset_settings=workspaces.RunsetSettings(filters=_ALL),
    )


def report(
    entity: str,
    project: str,
    figures: Sequence[FigureRecord],
    findings: Sequence[tuple[str, str]] = (),
    preset: str = LINES,
) -> Any:
    """The report: the findings, then for each paper a heading and a panel for each figure.

    Args:
        entity: W&B user or team.
        project: name of the project.
        figures: the registered figures, in the order in which they are shown.
        findings: the sentences that open it, each with the study whose figure shows it.
        preset: of the charts, see :func:`chart_preset`.

    Returns:
        A ``wandb_workspaces.reports.v2.Report``.
    """
    _, reports = _import_workspaces()

    def grid(shown: Sequence[FigureRecord]) -> Any:
        # A run set without a project stands for the report's own, and needs no server to build.
        runs = reports.Runset(name="dashboard", filters=_DASHBOARDS)
        return reports.PanelGrid(runsets=[runs], panels=_panels(shown, preset))

    blocks: list[Any] = [reports.TableOfContents()]
    if findings:
        blocks.append(reports.H1("Findings"))
    for text, study in findings:
        blocks.append(reports.P(plain(text)))
        blocks += [grid([figure]) for figure in figures if figure.study == study]
    for key, own in _by_paper(figures).items():
        about = paper(key)
        credit = reports.P(f"{about.authors}, {key}: {len(own)} figures.")
        blocks += [reports.H1(about.title), credit, grid(own)]
    return reports.Report(
        entity=entity,
        project=project,
        title=_NAME,
        description="Closed forms of Hessian spectra beside Hessian-vector products, by paper.",
        blocks=blocks,
    )


def chart_preset(entity: str) -> str:
    """Save the chart of all figures on the server, and say what it is called there.

    Where it cannot be saved, as on a server without charts of one's own, it is the lines that every
    server has, and that is said.

    Args:
        entity: W&B user or team.
    """
    wandb, chart = import_wandb(), vega_lite.specification()
    about = {"display_name": f"{_NAME}: a panel of a figure", "spec_type": "vega2"}
    name, problem = f"hessian-spectra-{digest(chart)}", ""
    # A server may refuse a name that it has; nothing asks it for what it keeps under one.
    for own in (name, f"{name}-{secrets.token_hex(3)}"):
        try:
            saved = wandb.Api().create_custom_chart(
                entity=entity, name=own, access="private", spec=chart, **about
            )
            return str(saved)
        except Exception as error:  # the package raises plain ones
            problem = first_line(error)
    say(f"charts are plain lines: {problem}")
    return LINES


def publish(
    project: str,
    entity: str | None,
    reports: Path,
    directory: Path,
    findings: Sequence[tuple[str, str]] = (),
    timeout: float = 10.0,
) -> list[str]:
    """Save the workspace, the report and the chart of their figures on the server.

    Every call makes a new view and a new report.

    Args:
        project: name of the project.
        entity: W&B user or team; ``None`` for the default of whoever is logged in.
        reports: holds ``figures/`` and ``claims.json``.
        directory: below it the client keeps its folder ``wandb``, with the trainings' runs.
        findings: as :func:`report` takes them.
        timeout: for the server's first answer, in seconds.

    Returns:
        The URLs of the workspace and of the report.

    Raises:
        TrackingError: nobody is logged in, the server cannot be reached, or it refuses.
    """
    figures, statements = read_figures(reports), read_ledger(reports)
    problem = why_not_online(timeout)
    if problem is not None:
        raise TrackingError(f"cannot publish: {problem}")
    wandb = import_wandb()
    try:
        owner = entity or wandb.Api().default_entity
        trained, preset = logged(directory, "train"), chart_preset(owner)
        # Both are built before either is saved: a mistake leaves nothing half-published.
        made = [
            workspace(owner, project, figures, statements, trained, preset),
            report(owner, project, figures, findings, preset),
        ]
        return [saved.save().url for saved in made]
    except Exception as error:  # the package raises plain exceptions, requests' and GraphQL's
        raise TrackingError(f"cannot publish: {first_line(error)}") from error
