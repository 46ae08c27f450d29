"""Random regression from a scalar to a scalar: inputs and targets are independent Gaussians."""

import math
from dataclasses import dataclass

import xarray as xr

from hessian_papers.constraints import Scale
from hessian_papers.data.base import OFFLINE, SizedConfig, Storage
from hessian_papers.data.tools.draws import gaussian
from hessian_papers.data.tools.pairs import SCALARS
from hessian_papers.labelled import data_set


@dataclass(frozen=True, kw_only=True)
class Config(SizedConfig):
    """Settings of the random Gaussian regression task.

    Args:
        input_variance: variance of the inputs.
    """

    input_variance: Scale


VARIABLES = SCALARS


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """Inputs x ~ N(0, input_variance) and targets y ~ N(0, 1), independent of each other.

    Returns:
        ``x`` and ``y``, both ``(n,)``.

    Source: singh2026cracking, Figure 7 and appendix D.1.1.

    Example:
        >>> config = Config(kind="gaussian_regression", seed=0, size=3, input_variance=1.0)
        >>> make(config)["x"].shape
        (3,)
    """
    x, y = (gaussian(config.seed, purpose, config.size) for purpose in ("inputs", "targets"))
    scaled = x * math.sqrt(config.input_variance)
    return data_set({"x": scaled.numpy(), "y": y.numpy()}, VARIABLES)
