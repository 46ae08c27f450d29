"""What all studies of points of an ensemble have."""

import numpy as np

from hessian_papers.labelled import LEFT_OUT
from hessian_spectra.files import Arrays

PLAIN = ("parametrisation", "time", "along", "width", "activation", "networks")


def points(old: Arrays) -> Arrays:
    """The arrays of points along depth and size."""
    fixed = np.atleast_1d(old.get("fixed", old.get("size")))
    sizes, depths = old["position"], fixed
    if old["along"] == "depth":
        sizes, depths = fixed, old["position"]
    return {
        **{name: old[name] for name in PLAIN},
        "teacher": np.arange(old["teachers"]),
        "size": sizes,
        "depth": depths,
        **{name: on_grid(old, old[name]) for name in ("diverged", "epoch_limit")},
        **left_out(old),
    }


def left_out(old: Arrays) -> Arrays:
    """How many networks are left out, if any."""
    gone = old["diverged"].sum()
    return {LEFT_OUT: gone} if gone else {}


def on_grid(old: Arrays, array: np.ndarray, place: int = 1) -> np.ndarray:
    """An array whose axis of positions stands at a place, as one along depth and size."""
    return np.expand_dims(array, place + (old["along"] == "depth"))


def with_intervals(old: Arrays) -> Arrays:
    """Statistics with the ends of their intervals along a last axis."""
    names = [name.removesuffix("_low") for name in old if name.endswith("_low")]
    return {
        name: np.stack([old[name], old[f"{name}_low"], old[f"{name}_high"]], axis=-1)
        for name in names
    }


def resampled(old: Arrays) -> Arrays:
    """What is said of the bootstrap."""
    settings = {name: old[name] for name in ("resamples", "confidence")}
    return {"estimate": np.array(["value", "low", "high"]), **settings}
