"""The dashboard's layout on W&B: a workspace and a report, one group of panels per paper."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hessian_spectra.drawing.record import FigureRecord, read_figures
from hessian_spectra.papers import paper
from hessian_spectra.tracking.dashboard import figure_key
from hessian_spectra.tracking.server import first_line, import_wandb, why_not_online
from hessian_spectra.tracking.settings import TrackingError

_NAME = "Hessian spectra"
_COLUMNS = 2
# Today's run, and the recorded ones beside it.
_FILTER = "JobType in ['dashboard', 'recorded']"


def _import_workspaces() -> tuple[ModuleType, ModuleType]:
    import_wandb()
    with warnings.catch_warnings():
        # The package is written for an older pydantic; that is no concern of our users.
        warnings.simplefilter("ignore", DeprecationWarning)
        import wandb_workspaces.reports.v2 as reports
        import wandb_workspaces.workspaces as workspaces
    return workspaces, reports


def _by_paper(figures: Sequence[FigureRecord]) -> dict[str, list[FigureRecord]]:
    groups: dict[str, list[FigureRecord]] = {}
    for figure in figures:
        groups.setdefault(figure.paper, []).append(figure)
    return groups


def _panels(figures: Sequence[FigureRecord]) -> list[Any]:
    _, reports = _import_workspaces()
    return [
        reports.MediaBrowser(
            title=f"{figure.artifact}: {figure.title}",
            media_keys=[figure_key(figure)],
            num_columns=1,
        )
        for figure in figures
    ]


def workspace(entity: str, project: str, figures: Sequence[FigureRecord]) -> Any:
    """The workspace: the claims, then one section per paper with a panel for each figure.

    It is built without a server; ``save()`` needs one.

    Args:
        entity: W&B user or team.
        project: name of the project.
        figures: the registered figures, in the order in which they are shown.

    Returns:
        A ``wandb_workspaces.workspaces.Workspace``.
    """
    workspaces, reports = _import_workspaces()
    table = reports.WeavePanelSummaryTable(table_name="claims")
    sections = [workspaces.Section(name="Claims", panels=[table], is_open=True)]
    for key, own in _by_paper(figures).items():
        rows = math.ceil(len(own) / _COLUMNS)
        sections.append(
            workspaces.Section(
                name=paper(key).title,
                panels=_panels(own),
                is_open=True,
                layout_settings=workspaces.SectionLayoutSettings(columns=_COLUMNS, rows=rows),
            )
        )
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=_NAME,
        sections=sections,
        runset_settings=workspaces.RunsetSettings(filters=_FILTER),
    )


def report(entity: str, project: str, figures: Sequence[FigureRecord]) -> Any:
    """The report: for each paper a heading and a grid with a panel for each figure.

    Args:
        entity: W&B user or team.
        project: name of the project.
        figures: the registered figures, in the order in which they are shown.

    Returns:
        A ``wandb_workspaces.reports.v2.Report``.
    """
    _, reports = _import_workspaces()
    blocks: list[Any] = [reports.TableOfContents()]
    for key, own in _by_paper(figures).items():
        about = paper(key)
        # A run set without a project stands for the report's own, and needs no server to build.
        runs = reports.Runset(name="dashboard", filters=_FILTER)
        blocks += [
            reports.H1(about.title),
            reports.P(f"{about.authors}, {key}: {len(own)} figures."),
            reports.PanelGrid(runsets=[runs], panels=_panels(own)),
        ]
    return reports.Report(
        entity=entity,
        project=project,
        title=_NAME,
        description="Closed forms of Hessian spectra beside Hessian-vector products, by paper.",
        blocks=blocks,
    )


def publish(project: str, entity: str | None, reports: Path, timeout: float = 10.0) -> list[str]:
    """Save the workspace and the report on the server.

    Every call makes a new view and a new report.

    Args:
        project: name of the project.
        entity: W&B user or team; ``None`` for the default of whoever is logged in.
        reports: holds ``figures/``.
        timeout: for the server's first answer, in seconds.

    Returns:
        The URLs of the workspace and of the report.

    Raises:
        TrackingError: nobody is logged in, the server cannot be reached, or it refuses.
    """
    figures = read_figures(reports)
    problem = why_not_online(timeout)
    if problem is not None:
        raise TrackingError(f"cannot publish: {problem}")
    wandb = import_wandb()
    try:
        owner = entity or wandb.Api().default_entity
        # Both are built before either is saved: a mistake leaves nothing half-published.
        made = [workspace(owner, project, figures), report(owner, project, figures)]
        return [saved.save().url for saved in made]
    except Exception as error:  # the package raises plain exceptions, requests' and GraphQL's
        raise TrackingError(f"cannot publish: {first_line(error)}") from error
