"""Random regression from several features to a scalar: all of them independent Gaussians."""

from dataclasses import dataclass

import torch

from hessian_spectra.data.base import OFFLINE, DataConfig, Storage
from hessian_spectra.results import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of the random regression task with several features.

    Args:
        size: number of points n.
        features: number of features D.
    """

    size: int
    features: int

    def __post_init__(self) -> None:
        require(self.size >= 1, "size", "at least 1", self.size)
        require(self.features >= 1, "features", "at least 1", self.features)


def make(config: Config, storage: Storage = OFFLINE) -> Arrays:
    """Features x ~ N(0, I) and targets y ~ N(0, 1), independent of each other.

    Args:
        config: the settings.
        storage: unused, the data are generated.

    Returns:
        ``x`` ``(n, D)`` and ``y`` ``(n,)``.

    Source: singh2026cracking, appendix D.1.2, before the features are decorrelated or standardised.

    Example:
        >>> make(Config(kind="gaussian_features", seed=0, size=4, features=3))["x"].shape
        (4, 3)
    """
    inputs = generator(config.seed, "data inputs")
    targets = generator(config.seed, "data targets")
    x = torch.randn(config.size, config.features, dtype=torch.float64, generator=inputs)
    y = torch.randn(config.size, dtype=torch.float64, generator=targets)
    return {"x": x.numpy(), "y": y.numpy()}
