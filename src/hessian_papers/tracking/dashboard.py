"""The dashboard: every registered figure, its curves and its data, the ledger and the metrics.

Today's run is one W&B run, the recorded runs are another: panels show the two beside each other.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hessian_papers.drawing.interactive import signs
from hessian_papers.drawing.record import FigureRecord, read_figures
from hessian_papers.formulas import plain
from hessian_papers.labelled import files_of
from hessian_papers.ledger.leads import Leads, lead
from hessian_papers.ledger.record import CaseRecord, StatementRecord, read_ledger
from hessian_papers.results import SIDES, folder_of
from hessian_papers.tracking.run import start_run
from hessian_papers.tracking.server import import_wandb
from hessian_papers.tracking.settings import About
from hessian_papers.tracking.upload import is_uploaded
from hessian_spectra.files import MissingResultError, digest, read_json

# A chart's columns, by what the preset calls them.
CHART_COLUMNS = {"stroke": "curve", "x": "x", "y": "y"}
# What the two runs are.
TODAY = "Every figure as this state of the project makes it, with its data, and all statements."
RECORDED = (
    "The recorded runs, drawn by this commit; the commit that computed each is in its facts, in "
    "the configuration."
)
# What is no number, word or truth value stands in columns of its own.
_NESTED = ("labels", "interval", "departs", "beside")
_COLUMNS = tuple(f.name for f in fields(CaseRecord) if f.name not in _NESTED)
# Tables: what they are called, and the rows of each.
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def figure_key(figure: FigureRecord) -> str:
    """The key under which a figure is logged: ``figures/<paper>/<study>``."""
    return f"figures/{figure.paper}/{figure.study}"


def controls_key(figure: FigureRecord) -> str:
    """The key of a figure's second picture: ``controls/<paper>/<study>``."""
    return f"controls/{figure.paper}/{figure.study}"


def chart_key(figure: FigureRecord) -> str:
    """The key of the chart of a figure's main panel: ``charts/<paper>/<study>``."""
    return f"charts/{figure.paper}/{figure.study}"


def statistics(statements: Sequence[StatementRecord], *, recorded: bool) -> dict[str, float]:
    """The values measured in today's run, or in the recorded ones, by the ids of the cases.

    An identity's number is a rounding error: it has none here.
    """
    cases = (case for statement in statements if not statement.identity for case in statement.cases)
    runs = {case.id: run for case in cases for run in case.runs if run.recorded == recorded}
    return {name: run.measured for name, run in runs.items() if run.measured is not None}


def _flat(record: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """The numbers of nested mappings, with their names joined by slashes."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}/{name}")
        else:
            yield f"{prefix}/{name}", value


def _sides(folders: Mapping[str, Path], remedy: str) -> dict[str, dict[str, Path]]:
    """The arrays under each figure, by study and file: the sides of today's run, or a whole run.

    Raises:
        MissingResultError: there are none in one of the folders; ``remedy`` says what to run.
    """
    entries = {}
    for study, folder in folders.items():
        paths = files_of(folder, SIDES)
        entries[study] = {path.stem: path for path in paths if path.is_file()}
        if not entries[study]:
            raise MissingResultError(f"{folder} holds no arrays: run {remedy}")
    return entries


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _statement(statement: StatementRecord) -> dict[str, Any]:
    """A row of the table of statements."""
    return {
        "verdict": statement.verdict,
        "id": statement.id,
        "papers": ", ".join(statement.places),
        "where": "; ".join(statement.places.values()),
        "sentence": statement.sentence,
        "quantifier": statement.quantifier,
        "book": statement.book,
        "pooled": statement.pooled,
        "cases": len(statement.cases),
        "holds": sum(case.outcome == "holds" for case in statement.cases),
    }


def _row(statement: StatementRecord, case: CaseRecord) -> dict[str, Any]:
    """A row of the table of cases."""
    row = {"statement": statement.id, "labels": ", ".join(case.labels.values())}
    row |= {column: getattr(case, column) for column in _COLUMNS}
    return row | {"low": case.low, "high": case.high, "departs": ", ".join(case.departs)}


def _with_both(statement: StatementRecord, case: CaseRecord) -> dict[str, Any]:
    """A row with what decides, and what both runs say beside it."""
    row, runs = _row(statement, case), {run.recorded: run for run in case.runs}
    for name, recorded in (("today", False), ("recorded", True)):
        for field in ("outcome", "measured"):
            row[f"{field}_{name}"] = getattr(runs.get(recorded), field, None)
    return row


@dataclass(frozen=True, kw_only=True)
class _Content:
    """The content that one W&B run shows.

    Args:
        figures: of one run of the studies.
        sides: the files of arrays under each of them.
        tables: the ledger's.
        numbers: of the run's summary.
        artifact: names the artifact of a study's arrays.
        leads: the sentences that stand over figures, by study, of those that hold.
    """

    figures: Sequence[FigureRecord]
    sides: Mapping[str, Mapping[str, Path]]
    tables: Tables
    numbers: Mapping[str, Any]
    artifact: str
    leads: Mapping[str, str]

    def state(self) -> dict[str, Any]:
        """The digests of the files, for the record of what was logged."""
        return {
            "figures": {figure.study: figure.sha256 for figure in self.figures},
            "data": {
                study: {side: _sha256(path.read_bytes()) for side, path in paths.items()}
                for study, paths in self.sides.items()
            },
            "charts": {figure.study: digest(figure.chart) for figure in self.figures},
            "controls": {
                figure.study: figure.controls.sha256
                for figure in self.figures
                if figure.controls is not None
            },
            **{name: len(rows) for name, rows in self.tables.items()},
        }

    def about(self, commit: str | None, notes: str) -> About:
        """The commit, tags and notes of the run; studies are no tags, as it has all of them."""
        scales = sorted({figure.provenance.scale for figure in self.figures})
        papers = dict.fromkeys(figure.paper for figure in self.figures)
        return About(commit=commit, tags=(*scales, *papers), notes=notes)

    def text(self, figure: FigureRecord) -> str:
        """The text under a figure: where it is from, its lead sentence, how to read it."""
        said = filter(None, (self.leads.get(figure.study), figure.caption))
        return f"{figure.heading}. {plain(' '.join(said))}"

    def log(self, run: Any) -> None:
        """Log all of it."""
        wandb = import_wandb()
        entries = {
            figure_key(figure): wandb.Image(str(figure.image), caption=self.text(figure))
            for figure in self.figures
        } | {
            controls_key(figure): wandb.Image(
                str(figure.controls.image), caption=plain(figure.controls.caption)
            )
            for figure in self.figures
            if figure.controls is not None
        }
        tables = {
            name: wandb.Table(columns=[*rows[0]], data=[_in_plain_signs(row) for row in rows])
            for name, rows in self.tables.items()
            if rows
        }
        charts = {chart_key(figure): _chart(figure) for figure in self.figures if figure.chart}
        # One step for everything: a dashboard is one state, not a course of training.
        run.log(entries | charts | tables)
        run.summary.update(dict(self.numbers))
        for figure in self.figures:
            run.log_artifact(self._arrays(figure))

    def _arrays(self, figure: FigureRecord) -> Any:
        """The arrays under a figure as one versioned artifact, exact and complete."""
        artifact = import_wandb().Artifact(
            name=self.artifact.format(figure.study),
            type="figure-data",
            description=f"Arrays under {figure.heading} ({figure.paper})",
            metadata={
                "study": figure.study,
                "digest": figure.digest,
                "figure": figure_key(figure),
                "scale": figure.provenance.scale,
            },
        )
        for side, path in self.sides[figure.study].items():
            artifact.add_file(str(path), name=f"{side}.nc")
        return artifact


def _in_plain_signs(row: Mapping[str, Any]) -> list[Any]:
    return [plain(value) if isinstance(value, str) else value for value in row.values()]


def _chart(figure: FigureRecord) -> Any:
    """The curves of a figure's main panel as a table and a line chart of W&B's own."""
    wandb, shown = import_wandb(), figure.chart
    rows = [
        [curve["name"], *point]
        for curve in shown["curves"]
        for point in zip(curve["x"], curve["y"], strict=True)
    ]
    table = wandb.Table(columns=[*CHART_COLUMNS.values()], data=rows)
    return wandb.plot.line(table, title=chart_title(figure), **CHART_COLUMNS)


def chart_title(figure: FigureRecord) -> str:
    """The title of the chart of a figure's main panel, in plain signs.

    The preset has no places for names of axes, and draws both axes linearly.
    """
    shown = figure.chart
    axes = [f"{shown['y']} over {shown['x']}" if shown["x"] and shown["y"] else shown["y"]]
    return signs(": ".join(filter(None, (f"{figure.artifact} {shown['title']}".rstrip(), *axes))))


def _recorded(
    reports: Path,
    figures: Sequence[FigureRecord],
    statements: Sequence[StatementRecord],
    leads: Leads,
) -> _Content | None:
    """The content of the run of the recorded runs, if there are any."""
    kept = [figure.recorded for figure in figures if figure.recorded is not None]
    if not kept:
        return None
    return _Content(
        figures=kept,
        sides=_sides(
            {figure.study: reports / "evidence" / figure.study for figure in kept},
            "git checkout reports/evidence",
        ),
        tables={
            "cases": [
                _row(statement, run)
                for statement in statements
                for case in statement.cases
                for run in case.runs
                if run.recorded
            ]
        },
        numbers=statistics(statements, recorded=True),
        artifact="data-{}-recorded",
        leads=_said(leads, kept, statements, recorded=True),
    )


def _said(
    leads: Leads,
    figures: Sequence[FigureRecord],
    statements: Sequence[StatementRecord],
    *,
    recorded: bool,
) -> dict[str, str]:
    """The lead sentences of some figures, of those whose statements hold."""
    names = [figure.study for figure in figures]
    return {name: lead(leads, statements, name, recorded=recorded) for name in names}


def _log_recorded(
    content: _Content, directory: Path, commit: str | None, **arguments: Any
) -> dict[str, Any]:
    """Log the recorded runs, unless this very state of them was uploaded before."""
    state = content.state()
    facts = {figure.study: dict(figure.provenance.facts) for figure in content.figures}
    texts = [content.text(figure) for figure in content.figures]
    held = json.dumps([state, facts, texts, dict(content.tables)], sort_keys=True)
    run_id = f"recorded-{_sha256(held.encode())[:16]}"
    record = {"run": run_id} | state
    if any(map(is_uploaded, (directory / "wandb").glob(f"offline-run-*-{run_id}"))):
        return record
    with start_run(
        group="recorded",
        job_type="recorded",
        name="recorded runs",
        run_id=run_id,
        config={"facts": facts},
        directory=directory,
        upload_at_end=True,
        about=content.about(commit, RECORDED),
        **arguments,
    ) as run:
        if run.directory is not None:
            content.log(run.wandb_run)
    return record


def log_dashboard(
    reports: Path,
    results: Path,
    *,
    group: str,
    config: Mapping[str, Any],
    directory: Path,
    leads: Leads = MappingProxyType({}),
    commit: str | None = None,
    **arguments: Any,
) -> dict[str, Any]:
    """Log the state of ``reports/``: one run of today's results, and one of the recorded runs.

    Each holds its figures under ``figures/<paper>/<study>``, their second pictures, of errors and
    controls, under ``controls/<paper>/<study>``, the curves of their main panels as
    line charts under ``charts/<paper>/<study>``, the arrays under them as the artifacts
    ``data-<study>`` and ``data-<study>-recorded``, and the ledger as the tables ``statements`` and
    ``cases``; what cases measured stands in the summary under their ids, ``<study>/<case>``.
    Today's has the verdicts of both runs, and the metrics in its summary, the other the facts
    of the recorded runs in its configuration. The id of each is the digest of its state, so that
    logging the same state again replaces the run.

    Args:
        reports: holds ``figures/``, ``claims.json``, ``metrics.json``, and ``evidence/`` with the
            arrays of the recorded runs.
        results: holds ``<paper>/<study>/<side>.nc`` for the sides of each study.
        group: digest of the configuration, or the experiment's name.
        config: the configuration of today's run.
        directory: below it the client keeps its folder ``wandb``.
        leads: the sentences that stand over figures, by study.
        commit: of the code that runs.
        arguments: further ones of :func:`~hessian_papers.tracking.start_run`: project, and if need
            be entity, mode and timeouts.

    Returns:
        What was logged: ``run`` (the id), ``group``, ``figures`` with the SHA-256 of each study's
        image, ``data`` with those of its arrays, the numbers of ``statements`` and
        ``cases``, ``metrics``, and
        ``recorded`` with the same of the recorded runs, or ``None``. Equal inputs give equal
        records.

    Raises:
        MissingResultError: an input is missing.
        DamagedFileError: an input is broken.
        TrackingError: an unknown mode.
    """
    figures, statements = read_figures(reports), read_ledger(reports)
    metrics = read_json(reports / "metrics.json", "the stage ledger (dvc repro ledger)")
    today = _Content(
        figures=figures,
        sides=_sides(
            {each.study: folder_of(results, each.paper, each.study) for each in figures},
            "dvc repro",
        ),
        tables={
            "statements": [_statement(statement) for statement in statements],
            "cases": [_with_both(s, case) for s in statements for case in s.cases],
        },
        numbers=statistics(statements, recorded=False) | dict(_flat(metrics, "metrics")),
        artifact="data-{}",
        leads=_said(leads, figures, statements, recorded=False),
    )
    recorded = _recorded(reports, figures, statements, leads)
    state = {"group": group, "metrics": metrics} | today.state()
    content = (reports / "claims.json").read_bytes() + json.dumps(state, sort_keys=True).encode()
    run_id = f"dashboard-{_sha256(content)[:16]}"
    with start_run(
        group=group,
        job_type="dashboard",
        name=f"dashboard {group}",
        run_id=run_id,
        config=config,
        directory=directory,
        upload_at_end=True,
        about=today.about(commit, TODAY),
        **arguments,
    ) as run:
        if run.directory is not None:
            today.log(run.wandb_run)
    record = {"run": run_id} | state
    kept = None if recorded is None else _log_recorded(recorded, directory, commit, **arguments)
    return record | {"recorded": kept}
