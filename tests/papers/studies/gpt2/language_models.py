"""Pre-trained language models in the form of ``results/networks/gpt2/``; none is trained.

The residual falls with a ripple, so that a run has some residuals twice. The error of the GGN's
largest eigenvalue is a power of the residual that depends on the architecture.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from study_configs import configured

from hessian_papers.labelled import data_set
from hessian_papers.networks.gpt2 import VARIABLES
from hessian_papers.studies.gpt2.gauss_newton_error import study
from hessian_papers.studies.gpt2.seeds import ATTENTION, NO_NORM_WEIGHTS, TWIN

# Error c r^k at residual r, early and late.
ERRORS = {ATTENTION: 0.5, TWIN: 0.1, NO_NORM_WEIGHTS: 0.4}
STEPS = [0, 10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 350, 400]


def pretrained(
    variants: Sequence[str] = (ATTENTION, TWIN, NO_NORM_WEIGHTS),
    seeds: int = 3,
    noise: float = 0.05,
    ripple: float = 0.02,
    errors: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Runs of each architecture.

    Args:
        variants: the architectures.
        seeds: runs of each.
        noise: relative, of the error.
        ripple: of the residual around its fall.
        errors: at residual 1, by architecture.
        start: the errors before the first step, by architecture.
        seed: of the noise.
    """
    draw = np.random.default_rng(seed)
    step = np.array(STEPS)
    shape = (len(variants), seeds, len(step))
    fall = 0.7 + 0.28 * np.exp(-step / 120)
    residual = fall + ripple * draw.normal(size=shape) * (step > 50)
    scale = np.array([{**ERRORS, **(errors or {})}[name] for name in variants])
    error = scale[:, None, None] * residual**6 * np.exp(noise * draw.normal(size=shape))
    first = {ATTENTION: 0.8, TWIN: 0.9, NO_NORM_WEIGHTS: 0.8, **(start or {})}
    error[..., 0] = np.array([first.get(name, 0.8) for name in variants])[:, None]
    error[..., 0] *= np.exp(0.01 * draw.normal(size=shape[:-1]))
    hessian = 20 + 30 * (1 - np.exp(-step / 80)) + 0.2 * draw.normal(size=shape) * (step > 0)
    arrays = {
        "variant": np.array(variants),
        "diverged": np.zeros(shape[:-1], dtype=bool),
        "seed": np.arange(seeds),
        "parameters": np.full(len(variants), 210_000),
        "step": step,
        "loss": 6.2 * residual**2,
        "residual": residual,
        "hessian": hessian,
        "hessian_error": np.full(shape, 1e-5),
        "ggn": hessian * (1 - error),
        "ggn_error": np.full(shape, 1e-5),
    }
    return data_set(arrays, VARIABLES)


def config(**changes):
    """A configuration of the study of the error."""
    fields = {
        "ensemble": "test", "seed": 0, "along": ["residual", "loss", "step"], "shown": "mean",
        "points": 101,
    }  # fmt: skip
    return configured(study, fields | changes)


def read(networks, **changes):
    """The study of the error of some networks."""
    return study.gpt2(config(**changes), networks)
