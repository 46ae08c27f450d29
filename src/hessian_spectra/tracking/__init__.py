"""Runs on W&B, offline unless asked otherwise; nothing else in the project imports wandb."""

from hessian_spectra.tracking.dashboard import figure_key, log_dashboard
from hessian_spectra.tracking.run import (
    LiveRuns,
    Run,
    Timeouts,
    TrackingError,
    resolve_mode,
    start_run,
)
from hessian_spectra.tracking.workspace import publish, report, workspace

__all__ = [
    "LiveRuns",
    "Run",
    "Timeouts",
    "TrackingError",
    "figure_key",
    "log_dashboard",
    "publish",
    "report",
    "resolve_mode",
    "start_run",
    "workspace",
]
