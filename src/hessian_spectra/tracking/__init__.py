"""Runs on W&B, offline unless asked otherwise; nothing else in the project imports wandb."""

from hessian_spectra.tracking.dashboard import figure_key, log_dashboard
from hessian_spectra.tracking.read_back import RunFile, read_back
from hessian_spectra.tracking.run import Run, Timeouts, TrackingError, resolve_mode, start_run
from hessian_spectra.tracking.workspace import publish, report, workspace

__all__ = [
    "Run",
    "RunFile",
    "Timeouts",
    "TrackingError",
    "figure_key",
    "log_dashboard",
    "publish",
    "read_back",
    "report",
    "resolve_mode",
    "start_run",
    "workspace",
]
