"""The dashboard: every registered figure, the data under it, the claims and the metrics."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from hessian_spectra.drawing.record import FigureRecord, read_figures
from hessian_spectra.ledger.record import ClaimRecord, read_claims
from hessian_spectra.results import SIDES, MissingResultError, read_record
from hessian_spectra.tracking.run import start_run
from hessian_spectra.tracking.server import import_wandb

# The interval stands in two columns.
_CLAIM_COLUMNS = (*(f.name for f in fields(ClaimRecord) if f.name != "interval"), "low", "high")


def figure_key(figure: FigureRecord) -> str:
    """The key under which a figure is logged: ``figures/<paper>/<study>``."""
    return f"figures/{figure.paper}/{figure.study}"


def _flat(record: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """The numbers of nested mappings, with their names joined by slashes."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}/{name}")
        else:
            yield f"{prefix}/{name}", value


def _sides(results: Path, study: str) -> dict[str, Path]:
    """The arrays under a figure, by their side.

    Raises:
        MissingResultError: there are none.
    """
    found = {side: results / study / f"{side}.npz" for side in SIDES}
    found = {side: path for side, path in found.items() if path.is_file()}
    if not found:
        raise MissingResultError(
            f"{results / study} holds no arrays: run dvc repro 'figures@{study}'"
        )
    return found


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _artifact(figure: FigureRecord, sides: Mapping[str, Path]) -> Any:
    """The arrays under a figure as one versioned artifact, exact and complete."""
    artifact = import_wandb().Artifact(
        name=f"data-{figure.study}",
        type="figure-data",
        description=f"Arrays under {figure.artifact} of {figure.paper}: {figure.title}",
        metadata={"study": figure.study, "digest": figure.digest, "figure": figure_key(figure)},
    )
    for side, path in sides.items():
        artifact.add_file(str(path), name=f"{side}.npz")
    return artifact


def _claims_table(claims: Sequence[ClaimRecord]) -> Any:
    rows = [[getattr(claim, column) for column in _CLAIM_COLUMNS] for claim in claims]
    return import_wandb().Table(columns=list(_CLAIM_COLUMNS), data=rows)


def _log(
    run: Any,
    reports: Path,
    figures: Sequence[FigureRecord],
    sides: Mapping[str, Mapping[str, Path]],
    claims: Sequence[ClaimRecord],
    metrics: Mapping[str, Any],
) -> None:
    image = import_wandb().Image
    entries = {
        figure_key(figure): image(
            str(reports / "figures" / f"{figure.study}.png"),
            caption=f"{figure.artifact}: {figure.title}. {figure.caption}",
        )
        for figure in figures
    }
    # One step for everything: a dashboard is one state, not a course of training.
    run.log(entries | {"claims": _claims_table(claims)})
    for figure in figures:
        run.log_artifact(_artifact(figure, sides[figure.study]))
    run.summary.update(dict(_flat(metrics, "metrics")))


def log_dashboard(reports: Path, results: Path, *, group: str, **arguments: Any) -> dict[str, Any]:
    """Log one run that shows the state of ``reports/``.

    It holds each registered figure under ``figures/<paper>/<study>``, the arrays under it as the
    artifact ``data-<study>``, the claims as the table ``claims`` and the metrics in the summary.
    Its id is the digest of the state, so that logging the same state again replaces the run.

    Args:
        reports: holds ``figures/``, ``claims.json`` and ``metrics.json``.
        results: holds ``<study>/<side>.npz`` for the sides of each study.
        group: digest of the configuration, or the experiment's name.
        arguments: further ones of :func:`~hessian_spectra.tracking.start_run`: project, config and
            directory, and if need be entity, mode and timeouts.

    Returns:
        What was logged: ``run`` (the id), ``group``, ``figures`` with the SHA-256 of each study's
        image, ``data`` with those of its arrays, the number of ``claims``, and ``metrics``. Equal
        inputs give equal records.

    Raises:
        MissingResultError: an input is missing.
        RecordError: an input is broken.
        TrackingError: an unknown mode.
    """
    figures, claims = read_figures(reports), read_claims(reports)
    metrics = read_record(reports / "metrics.json", "the stage claims (dvc repro claims)")
    sides = {figure.study: _sides(results, figure.study) for figure in figures}
    state: dict[str, Any] = {
        "group": group,
        "figures": {figure.study: figure.sha256 for figure in figures},
        "data": {
            study: {side: _sha256(path.read_bytes()) for side, path in paths.items()}
            for study, paths in sides.items()
        },
        "claims": len(claims),
        "metrics": metrics,
    }
    content = (reports / "claims.json").read_bytes() + json.dumps(state, sort_keys=True).encode()
    run_id = f"dashboard-{_sha256(content)[:16]}"
    with start_run(
        group=group,
        job_type="dashboard",
        name=f"dashboard {group}",
        run_id=run_id,
        upload_at_end=True,
        **arguments,
    ) as run:
        if run.directory is not None:
            _log(run.wandb_run, reports, figures, sides, claims, metrics)
    return {"run": run_id} | state
