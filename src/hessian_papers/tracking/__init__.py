"""Runs on W&B, offline unless asked otherwise; nothing else in the project imports wandb."""

from hessian_papers.tracking.dashboard import figure_key, log_dashboard
from hessian_papers.tracking.run import LiveRuns, TrackedRun, start_run
from hessian_papers.tracking.settings import About, Timeouts, TrackingError, resolve_mode
from hessian_papers.tracking.upload import upload_waiting
from hessian_papers.tracking.workspace import publish, report, workspace

__all__ = [
    "About",
    "LiveRuns",
    "Timeouts",
    "TrackedRun",
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
