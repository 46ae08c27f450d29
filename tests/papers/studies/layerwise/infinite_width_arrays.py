"""Arrays of the study of infinite width; nothing is measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from study_configs import configured

from hessian_papers.studies.layerwise.infinite_width import study

# What falls, as a multiple of 1/n or, of H, 1/d, and what stays: (rectified, Gaussian inputs).
FALLING = {
    "independence": (0.02, 0.1),
    "ratio": (6.0, 10.0),
    "space": (0.2, 0.6),
    "formula": (0.05, 0.2),
    "layer": (1.2, np.nan),
    "layer_ratio": (6.0, np.nan),
    "row_norms": (1.0, np.nan),
    "first_gram": (2.0, np.nan),
    "second_gram": (3.0, np.nan),
    "conditioned": (0.05, np.nan),
}
STAYING = {
    "printed_space": (0.171, 0.001),
    "printed_formula": (0.3, 0.001),
    "active": (1e-5, 1e-5),
    "printed_active": (0.05, 1e-5),
    "softmax": (1e-5, 1e-5),
    "printed_softmax": (0.06, 0.04),
    "norms": (1.0, 1.0),
    "projections": (1.0, 1.0),
    "projected": (0.7, 1.02),
    "projected_copy": (0.7, 1.02),
    "row_sum": (1.05, 1.05),
    "largest_first": (0.8, np.nan),
    "largest_second": (0.9, np.nan),
    "columns": (0.25, np.nan),
}


def config(**changes: object) -> study.Config:
    """A small study."""
    fields = {"seed": 0, "laws": ["rectified", "gaussian"], "widths": [16, 64, 256]}
    fields |= {"classes": [4], "alpha": [0.5], "draws": 6, "samples": 64, "layer_samples": 32}
    return configured(study, fields | changes)


def sides(
    laws: Sequence[str] = ("rectified", "gaussian"),
    classes: Sequence[int] = (3, 10),
    alpha: Sequence[float] = (0.1, 0.5),
    widths: Sequence[int] = (16, 64, 256),
    draws: int = 6,
    noise: float = 0.01,
    constant: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Both sides of a study.

    Args:
        laws: of the inputs.
        classes: their numbers.
        alpha: exponents less one of the inputs.
        widths: hidden units.
        draws: of the weights.
        noise: of all quantities over the draws, relative.
        constant: quantities that are this number at every width instead, under both laws.
    """
    draw = np.random.default_rng(0)
    shape = len(laws), len(classes), len(alpha), len(widths), draws
    places = [("rectified", "gaussian").index(law) for law in laws]
    labels = {"laws": laws, "widths": widths, "classes": classes, "alpha": alpha}
    settings = {name: list(values) for name, values in labels.items()}
    theory = study.closed_form(config(layer_samples=64, **settings), xr.Dataset())
    actual = {
        "law": np.array(laws),
        "width": np.array(widths),
        "draw": np.arange(draws),
        "classes": np.array(classes),
        "alpha": np.array(alpha),
        "samples": np.array(64),
        "fourth": theory["exact_fourth"].values,
        "norm": theory["exact_norm"].values,
    }
    for name, numbers in (FALLING | STAYING).items():
        means = np.array(numbers)[places][:, None, None, None] * np.ones(shape[1:-1])
        if name in FALLING:
            means = means / (theory["inputs"].values if name == "layer" else np.array(widths))
        if name in (constant or {}):
            means = np.full_like(means, constant[name])
        actual[name] = means[..., None] * np.exp(noise * draw.normal(size=shape))
    return {"closed_form": theory, "numerics": actual}
