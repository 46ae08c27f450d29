"""Trainings for the tests, in a module that other processes can import; run as a program, one."""

import itertools
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers import compute
from hessian_papers.labelled import Variable
from hessian_papers.tracking import About, LiveRuns
from hessian_papers.training import SampleObjective, full_batch_descent
from hessian_papers.training.objectives import Evaluation, Factors
from hessian_papers.work import FanOut, TrainingRun, alone
from hessian_spectra.files import Arrays, read_arrays
from hessian_spectra.training import unfinished

# What live runs say of themselves.
ABOUT = About(commit="1234abcd" * 5, tags=("demo", "walks"), notes="Walks for a test.")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The length of a training, and where it tells of its steps."""

    epochs: int
    notes: str


def descent(config: Config, data: Arrays, run: TrainingRun) -> Arrays:
    """Full-batch descent, slowly, and its weights as a file."""
    unfinished.CHECKPOINT_SECONDS, unfinished.CHECKPOINT_SHARE = 0.0, float("inf")
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(3, 3, generator=generator).double() for _ in range(2)]
    assert run.checkpoint is not None
    steps, state = Path(config.notes) / "steps", run.checkpoint / "state.npz"

    class Slow(SampleObjective):
        """One that notes each epoch."""

        def follow(self, weights: Sequence[Tensor]) -> tuple[Evaluation, Factors]:
            evaluate, factors = super().follow(weights)
            epochs = itertools.count(int(read_arrays(state)["epoch"]) if state.exists() else 0)

            def slowly() -> float:
                with steps.open("a") as file:
                    file.write(f"{next(epochs)}\n")
                time.sleep(0.005)
                return evaluate()

            return slowly, factors

    ended = full_batch_descent(
        Slow(torch.from_numpy(data["x"]), torch.from_numpy(data["y"]), "tanh"),
        weights,
        learning_rate=0.1,
        epochs=config.epochs,
        record=[0, config.epochs],
        log=run.log,
        checkpoint=run.checkpoint,
    )
    assert run.folder is not None
    torch.save(list(ended.weights[-1]), run.folder / "weights.pt")
    (run.folder / "more").mkdir()
    (run.folder / "more" / "words.txt").write_text("trained")
    return {"losses": ended.losses.numpy()}


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


def train(folder: Path, config: Config) -> xr.Dataset:
    """The descent, as the pipeline trains it."""
    x = np.random.default_rng(0).normal(size=(8, 3))
    return compute.train(
        "descent",
        alone(descent, lambda config: {"losses": Variable("epoch", "loss")}),
        config,
        xr.Dataset({"x": (("sample", "feature"), x), "y": (("sample", "feature"), np.tanh(x))}),
        result=folder / "networks" / "descent",
        folder=folder / "shards",
        launcher=compute.Launcher(cluster="local", workers=1),
    )


if __name__ == "__main__":
    # By its name in the package, as other processes import it.
    from tests.papers.networks import trainings

    call = json.loads(sys.argv[1])
    trainings.train(Path(call["folder"]), trainings.Config(**call["config"]))
