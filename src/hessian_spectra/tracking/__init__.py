"""Runs on W&B, offline unless asked otherwise; nothing else in the project imports wandb."""

from hessian_spectra.tracking.dashboard import figure_key, log_dashboard
from hessian_spectra.tracking.run import LiveRuns, Run, start_run
from hessian_spectra.tracking.settings import Timeouts, TrackingError, resolve_mode
from hessian_spectra.tracking.upload import upload_waiting
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
    "upload_waiting",
    "workspace",
]
