"""Trainings for the tests, in a module that other processes can import."""

from pathlib import Path

import numpy as np
import xarray as xr

from hessian_papers.tracking import About, LiveRuns
from hessian_papers.work import FanOut, TrainingRun
from hessian_spectra.files import Arrays

# What live runs say of themselves.
ABOUT = About(commit="1234abcd" * 5, tags=("demo", "walks"), notes="Walks for a test.")


def walk(value: int, epochs: int, run: TrainingRun) -> Arrays:
    """A loss that falls; odd items make a file beside it."""
    losses = value / np.arange(1.0, epochs + 1)
    for epoch, loss in enumerate(losses):
        run.log(epoch, {"loss": float(loss)})
    if value % 2:
        assert run.folder is not None
        (run.folder / "value.txt").write_text(str(value))
    return {"losses": losses}


walks = FanOut(
    items=lambda config, data: [
        {"value": v, "epochs": config} for v in data["values"].values.tolist()
    ],
    compute=walk,
    gather=lambda config, parts: xr.Dataset(
        {"losses": (("value", "epoch"), np.stack([part["losses"] for part in parts]))}
    ),
    trains=True,
)


def live(folder: Path) -> LiveRuns:
    """Offline runs that begin at once."""
    return LiveRuns(
        project="tests",
        group="one-state",
        job_type="train",
        directory=folder,
        after=0.0,
        about=ABOUT,
    )
