"""The spectrum of the scalar ReLU network, cell by cell.

A hidden unit with v_j > 0 sees the points x > 0 only, one with v_j < 0 the points x < 0 only. So
the Hessian falls into two blocks, each that of a linear network on the points of its cell.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import Count, Scale
from hessian_papers.data.base import ONE_FEATURE
from hessian_papers.data.tools.pairs import inputs_and_targets
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.models.initialisation import standard_parametrisation
from hessian_papers.studies import spectra
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.training import Dense
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, TwoLayerReLU
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study.

    Args:
        width: hidden units m.
        positive_units: how many of them have v_j > 0, the q of the paper.
        variance_times_fan_in: variance of the initial weights times the layer's fan-in.
    """

    takes = ONE_FEATURE

    width: Annotated[Count, Dense(2)]
    positive_units: int
    variance_times_fan_in: Scale

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = 0 <= self.positive_units <= self.width
        require(fits, "positive_units", f"0 to {self.width} (width)", self.positive_units)


def _weights(config: Config) -> tuple[Tensor, Tensor]:
    """``v`` and ``w``: Gaussian, given that the first ``positive_units`` v_j alone are positive."""
    v, w = standard_parametrisation(
        config.width, config.variance_times_fan_in, generator(config.seed, "weights")
    )
    # The size of a centred Gaussian is independent of its sign, so this is the conditional law.
    sign = torch.ones(config.width, dtype=torch.float64)
    sign[config.positive_units :] = -1
    return sign * v.abs(), w


_MASS = "share of the eigenvector's squared norm on the parameters of the units with v_j > 0"
# Which leaves the averages over a cell as they are and changes its share of the points.
_DOUBLED = "after every point with x < 0 was taken twice"

VARIABLES: Variables = {
    **spectra.variables(""),
    "density": Variable("", "share of points with x > 0"),
    "width": Variable("", "hidden units m"),
    "positive_units": Variable("", "hidden units q of the positive cell"),
    "mass": Variable("rank", _MASS),
    "doubled_numerical": Variable("rank", f"eigenvalues of the Hessian, ascending, {_DOUBLED}"),
    "doubled_mass": Variable("rank", f"{_MASS}, {_DOUBLED}"),
    "growth": Variable("", f"by what factor the number of points is larger {_DOUBLED}"),
}


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """All eigenvalues by Theorem 3.4 of singh2026cracking, and what is known of the cells."""
    v, w = _weights(config)
    x, y = inputs_and_targets(samples)
    known = {
        "density": (x > 0).double().mean(),
        "width": config.width,
        "positive_units": config.positive_units,
    }
    exact = spectra.of_closed_form(cf.two_layer_relu(w, v, x, y).arrays())
    return data_set(exact | known, VARIABLES)


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The spectra from exact products with the loss, which know nothing of cells."""
    v, w = _weights(config)
    x, y = inputs_and_targets(samples)
    model = TwoLayerReLU(v=v, w=w)
    positive = torch.cat([v > 0, v > 0]).numpy()
    copies = torch.where(x < 0, 2, 1)
    doubled = x.repeat_interleave(copies), y.repeat_interleave(copies)
    arrays = {"growth": np.array(len(doubled[0]) / len(x))}
    for prefix, points in (("", (x, y)), ("doubled_", doubled)):
        hessian = cv.hessian(cv.Problem(model, HalfSquaredError(), [points]))
        spectrum = cv.dense_spectrum(hessian)
        arrays[f"{prefix}numerical"] = spectrum.eigenvalues.numpy()
        arrays[f"{prefix}mass"] = (spectrum.eigenvectors().numpy()[positive] ** 2).sum(axis=0)
    return data_set(arrays, VARIABLES)
