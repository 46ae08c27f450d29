"""The spectrum of the scalar ReLU network, cell by cell.

A hidden unit with v_j > 0 sees the points x > 0 only, one with v_j < 0 the points x < 0 only. So
the Hessian falls into two blocks, each that of a linear network on the points of its cell.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import Count, Scale
from hessian_papers.data.base import ONE_FEATURE
from hessian_papers.models import standard_parametrisation
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.training import require_dense
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
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

    width: Count
    positive_units: int
    variance_times_fan_in: Scale

    def __post_init__(self) -> None:
        super().__post_init__()
        require_dense(2 * self.width, "width")
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


def _data(networks: Arrays) -> tuple[Tensor, Tensor]:
    x, y = (torch.as_tensor(networks[name], dtype=torch.float64) for name in ("x", "y"))
    return x, y


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues by Theorem 3.4 of singh2026cracking.

    Returns:
        ``eigenvalues`` ``(2m,)``, ascending; for each of them ``cell`` (``+`` or ``-``) and
        ``kind`` (``outlier`` or ``bulk``); ``density``, the share of points with x > 0; ``width``
        and ``positive_units``.
    """
    v, w = _weights(config)
    x, y = _data(networks)
    spectrum = cf.two_layer_relu(w, v, x, y)
    return {
        **spectrum.arrays(),
        "density": (x > 0).double().mean().numpy(),
        "width": np.array(config.width),
        "positive_units": np.array(config.positive_units),
    }


def _hessian(model: TwoLayerReLU, x: Tensor, y: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues ``(2m,)`` and eigenvectors ``(2m, 2m)``, from exact products."""
    spectrum = cv.dense_spectrum(cv.hessian(cv.Problem(model, HalfSquaredError(), [(x, y)])))
    return spectrum.eigenvalues.numpy(), spectrum.eigenvectors().numpy()


def numerics(config: Config, networks: Arrays) -> Arrays:
    """The spectra from exact products with the loss, which know nothing of cells.

    Returns:
        ``eigenvalues`` ``(2m,)``, ascending; ``mass`` ``(2m,)``, the share of each eigenvector's
        squared norm on the parameters of the units with v_j > 0. Then ``doubled_eigenvalues`` and
        ``doubled_mass``, the same after every point with x < 0 was taken twice, which leaves the
        averages over a cell as they are and changes its share of the points; and ``growth``, by
        what factor the number of points grew.
    """
    v, w = _weights(config)
    x, y = _data(networks)
    model = TwoLayerReLU(v=v, w=w)
    positive = torch.cat([v > 0, v > 0]).numpy()
    copies = torch.where(x < 0, 2, 1)
    doubled = x.repeat_interleave(copies), y.repeat_interleave(copies)
    arrays = {"growth": np.array(len(doubled[0]) / len(x))}
    for prefix, data in (("", (x, y)), ("doubled_", doubled)):
        eigenvalues, eigenvectors = _hessian(model, *data)
        arrays[f"{prefix}eigenvalues"] = eigenvalues
        arrays[f"{prefix}mass"] = (eigenvectors[positive] ** 2).sum(axis=0)
    return arrays
