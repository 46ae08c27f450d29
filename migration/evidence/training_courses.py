"""Courses of training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.studies.images.training_courses.study import BALANCED, KAIMING, LABELS, LEFT
from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numeric = sides["closed_form"], sides["numerics"]
    facts = {name: exact[name] for name in ("epoch", "source", "weight_decay")}
    runs = {name: exact[name] for name in ("rate", "solution")} | {"law": exact["unbalance"]}
    runs |= {name: values for name, values in numeric.items() if name not in LEFT}
    # Ten runs, or the four of which the sharpness is measured.
    by_run = {
        name: values.reshape(len(LABELS), -1, *values.shape[1:]) for name, values in runs.items()
    }
    epochs = [numeric[name].reshape(len(LABELS), -1, numeric[name].shape[1]) for name in LEFT]
    number = int(numeric["diverged"].sum())
    return {
        **facts,
        **by_run,
        **({"trainings_left_out": np.array(number)} if number else {}),
        "labels": np.array(LABELS),
        "treated": np.array(BALANCED + KAIMING),
        "inputs": np.array(BALANCED),
        "replicate": np.arange(len(exact["source"])),
        "done": np.array([*LEFT]),
        "layer": np.arange(1, numeric["top"].shape[-1] + 1),
        "epochs": np.stack(epochs),
    }
