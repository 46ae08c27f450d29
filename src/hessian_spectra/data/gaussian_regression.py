"""Random regression from a scalar to a scalar: inputs and targets are independent Gaussians."""

import math
from dataclasses import dataclass

import torch

from hessian_spectra.data.base import OFFLINE, DataConfig, Storage
from hessian_spectra.results import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(DataConfig):
    """Settings of the random Gaussian regression task.

    Args:
        size: number of points n.
        input_variance: variance of the inputs.
    """

    size: int
    input_variance: float

    def __post_init__(self) -> None:
        require(self.size >= 1, "size", "at least 1", self.size)
        positive = math.isfinite(self.input_variance) and self.input_variance > 0
        require(positive, "input_variance", "a positive number", self.input_variance)


def make(config: Config, storage: Storage = OFFLINE) -> Arrays:
    """Inputs x ~ N(0, input_variance) and targets y ~ N(0, 1), independent of each other.

    Args:
        config: the settings.
        storage: unused, the data are generated.

    Returns:
        ``x`` and ``y``, both ``(n,)``.

    Source: singh2026cracking, Figure 7 and appendix D.1.1.

    Example:
        >>> config = Config(kind="gaussian_regression", seed=0, size=3, input_variance=1.0)
        >>> make(config)["x"].shape
        (3,)
    """
    draw = {
        name: torch.randn(
            config.size, dtype=torch.float64, generator=generator(config.seed, f"data {name}")
        )
        for name in ("inputs", "targets")
    }
    return {
        "x": (draw["inputs"] * math.sqrt(config.input_variance)).numpy(),
        "y": draw["targets"].numpy(),
    }
