"""Language models that are trained in a moment; run as a program, through the fan-out."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers import compute
from hessian_papers.data.text import VARIABLES
from hessian_papers.labelled import data_set
from hessian_papers.networks import gpt2
from hessian_papers.networks.tools.language_model import Measurements
from hessian_spectra.training import unfinished

VOCABULARY = 13
TEXT = data_set(
    {
        "train": np.random.default_rng(0).integers(0, VOCABULARY, 400).astype(np.uint16),
        "vocabulary": np.array(VOCABULARY),
    },
    VARIABLES,
)


def config(**changes: Any) -> gpt2.Config:
    """A configuration with all that there is, as small as it can be."""
    settings = {
        "kind": "gpt2",
        "seed": 3,
        "data": "text",
        "start": "",
        "variants": ["attention", "no attention"],
        "seeds": 2,
        "layers": 1,
        "width": 4,
        "heads": 2,
        "context": 6,
        "dropout": 0.0,
        "steps": 12,
        "batch_size": 4,
        "accumulation": 1,
        "learning_rate": 0.02,
        "smallest_learning_rate": 0.002,
        "warmup": 2,
        "decay_steps": 12,
        "weight_decay": 0.1,
        "betas": [0.9, 0.95],
        "clip": 1.0,
        "sequences": 2,
        "measured": [[8, 12]],
        "tolerance": 1e-3,
        "kept": [0, 8],
        "memory": 100,
        "precision": "float32",
        "compile": False,
    }
    return gpt2.Config(**{**settings, **changes})


def train(folder: Path, cluster: str = "debug", **changes: Any) -> xr.Dataset:
    """All of them, as the pipeline trains them, by default in this process."""
    settings = {"config": config(**changes), "given": TEXT, "folder": folder / "shards"}
    training = compute.Computation(name="gpt2", work=gpt2.train, **settings)
    return training.train(compute.Launcher(cluster=cluster), folder / "networks" / "gpt2")


def slowly(folder: Path) -> None:
    """Note each look at a network, and leave time to be killed after it."""
    look = Measurements.__call__

    def slow(self: Measurements, step: int) -> None:
        look(self, step)
        with (folder / "steps").open("a") as file:
            file.write(f"{step}\n")
        time.sleep(0.3)

    Measurements.__call__ = slow  # type: ignore[method-assign]
    unfinished.CHECKPOINT_SECONDS, unfinished.CHECKPOINT_SHARE = 0.0, float("inf")


if __name__ == "__main__":
    call = json.loads(sys.argv[1])
    if call["slowly"]:
        slowly(Path(call["folder"]))
    train(Path(call["folder"]), **call["changes"])
