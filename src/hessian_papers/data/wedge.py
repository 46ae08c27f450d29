"""A wedge: a target that is linear on either side of zero, with two different slopes."""

from dataclasses import dataclass
from typing import Annotated

import torch
import xarray as xr

from hessian_papers.constraints import Between, Scale
from hessian_papers.data.base import OFFLINE, SizedConfig, Storage
from hessian_papers.data.tools.draws import gaussian
from hessian_papers.data.tools.pairs import SCALARS
from hessian_papers.labelled import data_set
from hessian_spectra.seeding import generator
from hessian_spectra.validation import LARGEST_SCALE, require

_LARGEST = f"at most {LARGEST_SCALE:g} in size"
Slope = Annotated[float, Between(-LARGEST_SCALE, LARGEST_SCALE, f"a number, {_LARGEST}")]


@dataclass(frozen=True, kw_only=True)
class Config(SizedConfig):
    """Settings of the wedge.

    Args:
        half_width: the inputs are uniform in ``(-half_width, half_width)``.
        slope_plus: slope of the target for x > 0.
        slope_minus: slope of the target for x <= 0.
        noise: standard deviation of the Gaussian noise on the targets.
    """

    half_width: Scale
    slope_plus: Slope
    slope_minus: Slope
    noise: Annotated[float, Between(0.0, LARGEST_SCALE, f"at least 0, {_LARGEST}")]

    def __post_init__(self) -> None:
        super().__post_init__()
        # With opposite slopes E[yx] = 0 and a linear network would have nothing to learn.
        fits = self.slope_plus + self.slope_minus != 0
        require(fits, "slope_minus", "a slope other than -slope_plus", self.slope_minus)


VARIABLES = SCALARS


def make(config: Config, storage: Storage = OFFLINE) -> xr.Dataset:
    """Uniform inputs and y = slope · x + noise, with the slope of the side that x is on.

    Returns:
        ``x`` and ``y``, both ``(n,)``.

    Source: named, but not specified, at singh2026cracking, Figure 8 (singh2024closed, Figure 3).

    Example:
        >>> config = Config(kind="wedge", seed=0, size=2, half_width=1.0, slope_plus=2.0,
        ...                 slope_minus=-1.0, noise=0.0)
        >>> arrays = make(config)
        >>> bool((arrays["y"] >= 0).all())
        True
    """
    uniform = torch.rand(
        config.size, dtype=torch.float64, generator=generator(config.seed, "data inputs")
    )
    normal = gaussian(config.seed, "noise", config.size)
    x = config.half_width * (2 * uniform - 1)
    slope = torch.where(x > 0, config.slope_plus, config.slope_minus)
    y = slope * x + config.noise * normal
    return data_set({"x": x.numpy(), "y": y.numpy()}, VARIABLES)
