"""The dashboard: every registered figure, its curves and its data, the ledger and the metrics.

Today's run is one W&B run, the recorded runs are another: panels show the two beside each other.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from PIL.ImageFile import ImageFile

from hessian_papers.drawing import vega_lite
from hessian_papers.drawing.record import CONTROLS, FigureRecord, Picture, read_figures
from hessian_papers.formulas import plain
from hessian_papers.labelled import files_of
from hessian_papers.ledger.leads import Leads, lead
from hessian_papers.ledger.record import CaseRecord, StatementRecord, read_ledger
from hessian_papers.memory import sha256
from hessian_papers.results import SIDES, folder_of
from hessian_papers.tracking.run import start_run
from hessian_papers.tracking.server import import_wandb
from hessian_papers.tracking.settings import About
from hessian_papers.tracking.upload import is_whole, runs_of, upload_waiting
from hessian_spectra.files import MissingResultError, digest, read_json

# The preset that everybody has: lines without names of axes, which are linear.
LINES = "wandb/line/v0"
# A chart's columns by what the presets call them; W&B adds that of the run's name.
CHART_COLUMNS = {**{name: name for name in vega_lite.COLUMNS}, "stroke": "curve", "run": "name"}
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


def figure_key(figure: FigureRecord, part: str = "figures") -> str:
    """The key under which a figure is logged, or its ``controls``, or its main panel in ``charts``.

    It is ``figures/<paper>/<study>``, and so on.
    """
    return f"{part}/{figure.paper}/{figure.study}"


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


def _sides(folder: Path, remedy: str) -> dict[str, Path]:
    """The arrays under a figure by file: the sides of today's run, or a whole run.

    Raises:
        MissingResultError: there are none; ``remedy`` says what to run.
    """
    paths = {path.stem: path for path in files_of(folder, SIDES) if path.is_file()}
    if not paths:
        raise MissingResultError(f"{folder} holds no arrays: run {remedy}")
    return paths


def _statement(statement: StatementRecord) -> dict[str, Any]:
    """A row of the table of statements."""
    return {
        **{name: getattr(statement, name) for name in ("verdict", "id")},
        "papers": ", ".join(statement.places),
        "where": "; ".join(statement.places.values()),
        **{n: getattr(statement, n) for n in ("sentence", "quantifier", "book", "pooled")},
        "cases": len(statement.cases),
        "holds": sum(case.outcome == "holds" for case in statement.cases),
    }


def _row(statement: StatementRecord, case: CaseRecord) -> dict[str, Any]:
    """A row of the table of cases."""
    row = {"statement": statement.id, "labels": ", ".join(case.labels.values())}
    row |= {column: getattr(case, column) for column in _COLUMNS}
    low, high = case.interval or (None, None)
    return row | {"low": low, "high": high, "departs": ", ".join(case.departs)}


def _with_both(statement: StatementRecord, case: CaseRecord) -> dict[str, Any]:
    """A row with what decides, and what both runs say beside it."""
    runs = {"recorded" if run.recorded else "today": run for run in case.runs}
    return _row(statement, case) | {
        f"{field}_{name}": getattr(runs.get(name), field, None)
        for name in ("today", "recorded")
        for field in ("outcome", "measured")
    }


@dataclass(frozen=True, kw_only=True)
class _Content:
    """The content that one W&B run shows: of today's runs of the studies, or of recorded ones.

    Args:
        kind: what the run is called, and its group: by their names in ``wandb.init``.
        config: of the run.
        notes: what it is.
        figures: of one run of the studies.
        sides: the files of arrays under each of them.
        tables: the ledger's.
        numbers: of the run's summary.
        artifact: names the artifact of a study's arrays.
        leads: the sentences that stand over figures, by study, of those that hold.
        cards: the findings by their names, each a document.
    """

    kind: Mapping[str, Any]
    config: Mapping[str, Any]
    notes: str
    figures: Sequence[FigureRecord]
    sides: Mapping[str, Mapping[str, Path]]
    tables: Tables
    numbers: Mapping[str, Any]
    artifact: str
    leads: Mapping[str, str]
    cards: Mapping[str, str]

    @cached_property
    def pictures(self) -> dict[str, tuple[Picture, str]]:
        """The pictures and what stands under each, by their keys."""
        pictures: dict[str, tuple[Picture, str]] = {}
        for figure in self.figures:
            # What one sees stands first, then how to read it.
            said = " ".join(filter(None, (self.leads[figure.study], figure.caption)))
            pictures[figure_key(figure)] = figure, f"{figure.heading}. {plain(said)}"
            if (second := figure.controls) is not None:
                pictures[figure_key(figure, CONTROLS)] = second, plain(second.caption)
        return pictures

    def state(self) -> dict[str, Any]:
        """The digests of the files, for the record of what was logged."""
        second = {each.study: each.controls for each in self.figures}
        return {
            "figures": {figure.study: figure.sha256 for figure in self.figures},
            "data": {
                study: {side: sha256(path) for side, path in paths.items()}
                for study, paths in self.sides.items()
            },
            "charts": {figure.study: digest(figure.chart) for figure in self.figures},
            CONTROLS: {study: each.sha256 for study, each in second.items() if each is not None},
            **{name: len(rows) for name, rows in self.tables.items()},
        }

    def logged(self, directory: Path, commit: str | None, **arguments: Any) -> dict[str, Any]:
        """Log all of it, unless a whole run of this very state is there.

        Returns:
            What was logged: the id of the run, and its :meth:`state`.
        """
        state = self.state()
        texts = [text for _, text in self.pictures.values()]
        held = [state, dict(self.kind), dict(self.config), texts, dict(self.cards)]
        run_id = f"{self.kind['job_type']}-{digest([*held, dict(self.tables), dict(self.numbers)])}"
        record = {"run": run_id, **state}
        if any(map(is_whole, runs_of(directory, run_id))):
            upload_waiting(directory, arguments.get("mode", "offline"), run_id=run_id)
            return record
        scales = sorted({figure.provenance.scale for figure in self.figures})
        # Studies are no tags, as it has all of them.
        tags = (*scales, *dict.fromkeys(figure.paper for figure in self.figures))
        with start_run(
            run_id=run_id,
            config=dict(self.config),
            directory=directory,
            upload_at_end=True,
            about=About(commit=commit, tags=tags, notes=self.notes),
            **self.kind,
            **arguments,
        ) as run:
            if run.directory is not None:
                self._log(run.wandb_run)
        return record

    def _log(self, run: Any) -> None:
        wandb = import_wandb()
        with _undecoded():
            entries: dict[str, Any] = {
                key: wandb.Image(str(picture.image), caption=text)
                for key, (picture, text) in self.pictures.items()
            }
        entries |= {
            figure_key(figure, "charts"): _chart(figure) for figure in self.figures if figure.chart
        }
        entries |= {
            f"findings/{name}": wandb.Html(text, inject=False) for name, text in self.cards.items()
        }
        for name, rows in self.tables.items():
            if not rows:
                continue
            cells = [[plain(v) if isinstance(v, str) else v for v in row.values()] for row in rows]
            entries[name] = wandb.Table(columns=[*rows[0]], data=cells)
        # One step for everything: a dashboard is one state, not a course of training.
        run.log(entries)
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


@contextlib.contextmanager
def _undecoded() -> Iterator[None]:
    """Let the client open pictures and not decode them: it logs the files as they are."""
    decode = ImageFile.load
    ImageFile.load = ImageFile.close  # type: ignore[method-assign]
    try:
        yield
    finally:
        ImageFile.load = decode  # type: ignore[method-assign]


def _chart(figure: FigureRecord) -> Any:
    """A figure's main panel as a table, and a line chart of it.

    The workspace shows the same table by a preset of ours, with names and kinds of axes, bands and
    thresholds. That is on a server only when somebody has published there; until then, and in
    workspaces of others, the run's own chart has the curves.
    """
    wandb = import_wandb()
    table = wandb.Table(columns=[*vega_lite.COLUMNS], data=[*vega_lite.rows(figure.chart)])
    strings = {"title": chart_title(figure, of_axes=True)}
    return wandb.plot_table(LINES, table, CHART_COLUMNS, strings)


def chart_title(figure: FigureRecord, *, of_axes: bool = False) -> str:
    """The title of the chart of a figure's main panel.

    Args:
        figure: with a chart.
        of_axes: whether it names the axes, too, for a preset that has no places for these.
    """
    shown = figure.chart
    axes = " over ".join(filter(None, (shown["y"], shown["x"]))) if of_axes else ""
    return ": ".join(filter(None, (f"{figure.artifact} {shown['title']}".rstrip(), axes)))


def _content(
    figures: Sequence[FigureRecord],
    statements: Sequence[StatementRecord],
    leads: Leads,
    folders: Mapping[str, Path],
    *,
    recorded: bool,
    metrics: Mapping[str, Any] = MappingProxyType({}),
    **of: Any,
) -> _Content:
    """The content of a run: figures with the arrays in their folders, and what cases measured."""
    remedy = "git checkout reports/evidence" if recorded else "dvc repro"
    return _Content(
        figures=figures,
        sides={study: _sides(folder, remedy) for study, folder in folders.items()},
        leads={study: lead(leads, statements, study, recorded=recorded) for study in folders},
        numbers={**statistics(statements, recorded=recorded), **metrics},
        notes=RECORDED if recorded else TODAY,
        artifact="data-{}-recorded" if recorded else "data-{}",
        **of,
    )


def log_dashboard(
    reports: Path,
    results: Path,
    *,
    group: str,
    config: Mapping[str, Any],
    directory: Path,
    leads: Leads = MappingProxyType({}),
    cards: Mapping[str, str] = MappingProxyType({}),
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
    of the recorded runs in its configuration. The id of each is the digest of its state: where a
    run of that state came to its end, none is logged again, and one that was killed is replaced.

    Args:
        reports: holds ``figures/``, ``claims.json``, ``metrics.json``, and ``evidence/`` with the
            arrays of the recorded runs.
        results: holds ``<paper>/<study>/<side>.nc`` for the sides of each study.
        group: digest of the configuration, or the experiment's name.
        config: the configuration of today's run.
        directory: below it the client keeps its folder ``wandb``.
        leads: the sentences that stand over figures, by study.
        cards: the findings, each a document, which today's run has under ``findings/<name>``.
        commit: of the code that runs.
        arguments: further ones of :func:`~hessian_papers.tracking.start_run`: project, and if need
            be entity, mode and timeouts.

    Returns:
        What was logged: ``run`` (the id), ``group``, ``figures`` with the SHA-256 of each study's
        image, ``data`` with those of its arrays, the numbers of ``statements`` and ``cases``,
        ``metrics``, and ``recorded`` with the same of the recorded runs, or ``None``. Equal inputs
        give equal records.

    Raises:
        MissingResultError: an input is missing.
        DamagedFileError: an input is broken.
        TrackingError: an unknown mode.
    """
    figures, statements = read_figures(reports), read_ledger(reports)
    metrics = read_json(reports / "metrics.json", "the stage ledger (dvc repro ledger)")
    kept = [figure.recorded for figure in figures if figure.recorded is not None]

    today = _content(
        figures,
        statements,
        leads,
        {each.study: folder_of(results, each.paper, each.study) for each in figures},
        recorded=False,
        metrics=dict(_flat(metrics, "metrics")),
        kind={"job_type": "dashboard", "group": group, "name": f"dashboard {group}"},
        config=config,
        cards=cards,
        tables={
            "statements": [_statement(statement) for statement in statements],
            "cases": [_with_both(s, case) for s in statements for case in s.cases],
        },
    )
    record = {"group": group, "metrics": metrics}
    if not kept:
        return record | today.logged(directory, commit, **arguments) | {"recorded": None}
    runs = [(s, run) for s in statements for case in s.cases for run in case.runs]
    old = _content(
        kept,
        statements,
        leads,
        {each.study: reports / "evidence" / each.study for each in kept},
        recorded=True,
        kind={"job_type": "recorded", "group": "recorded", "name": "recorded runs"},
        cards={},
        config={"facts": {figure.study: dict(figure.provenance.facts) for figure in kept}},
        tables={"cases": [_row(statement, run) for statement, run in runs if run.recorded]},
    )
    logged = [each.logged(directory, commit, **arguments) for each in (today, old)]
    return record | logged[0] | {"recorded": logged[1]}
