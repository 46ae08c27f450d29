"""Random regression from several features to a scalar: all of them independent Gaussians."""

from dataclasses import dataclass

import xarray as xr

from hessian_papers.constraints import Count
from hessian_papers.data.base import OFFLINE, SEVERAL_FEATURES, Form, SizedConfig, Storage
from hessian_papers.data.tools.draws import gaussian
from hessian_papers.data.tools.pairs import VECTORS
from hessian_papers.labelled import data_set


@dataclass(frozen=True, kw_only=True)
class Config(SizedConfig):
    """Settings of the random regression task with several features.

    Args:
        features: number of features D.
    """

    features: Count

    @property
    def form(self) -> Form:
        """Several numbers for each sample."""
        return Form(SEVERAL_FEATURES, (self.size, self.features))


VARIABLES = VECTORS


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """Features x ~ N(0, I) and targets y ~ N(0, 1), independent of each other.

    Returns:
        ``x`` ``(n, D)`` and ``y`` ``(n,)``.

    Source: singh2026cracking, appendix D.1.2, before the features are decorrelated or standardised.

    Example:
        >>> make(Config(kind="gaussian_features", seed=0, size=4, features=3))["x"].shape
        (4, 3)
    """
    x = gaussian(config.seed, "inputs", config.size, config.features)
    y = gaussian(config.seed, "targets", config.size)
    return data_set({"x": x.numpy(), "y": y.numpy()}, VARIABLES)
