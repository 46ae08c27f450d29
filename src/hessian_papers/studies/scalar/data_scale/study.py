"""The dependence of the scalar linear network's spectrum on the scale of its inputs.

Two networks of different width stand at initialisation, and the inputs of one sample are rescaled
to several second moments σ_x². The targets are either left alone, as in the papers, or scaled along
with the inputs: only then is the whole spectrum proportional to σ_x², because what it sees of the
data is E[x²] and E[yx].
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Scale
from hessian_papers.data.base import ONE_FEATURE
from hessian_papers.data.tools.pairs import inputs_and_targets
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.models.initialisation import standard_parametrisation
from hessian_papers.results import stacked
from hessian_papers.studies import spectra
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.scalar.data_scale.derived import TARGETS
from hessian_papers.studies.training import Dense, numeric_spectrum
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.models import TwoLayerLinear
from hessian_spectra.seeding import generator


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study.

    Args:
        width: hidden units of the first network.
        second_width: hidden units of the second network.
        variance_times_fan_in: variance of the initial weights times the layer's fan-in.
        largest_second_moment: σ_x² lies between 0 and this value, both excluded.
        scales: number of values of σ_x², evenly spaced.
    """

    takes = ONE_FEATURE

    # A single hidden unit has no bulk.
    width: Annotated[int, AtLeast(2), Dense(2)]
    second_width: Annotated[int, AtLeast(2), Dense(2)]
    variance_times_fan_in: Scale
    largest_second_moment: Scale
    scales: Annotated[int, AtLeast(2)]


def second_moments(config: Config) -> np.ndarray:
    """The values of σ_x², ``(scales,)``: the midpoints of equal parts of (0, largest)."""
    return (np.arange(config.scales) + 0.5) * config.largest_second_moment / config.scales


def _rescaled(samples: xr.Dataset, second_moment: float, targets: str) -> tuple[Tensor, Tensor]:
    """The sample with inputs of mean square ``second_moment``, and its targets."""
    x, y = inputs_and_targets(samples)
    unit = x / x.square().mean().sqrt()
    scale = math.sqrt(second_moment)
    return scale * unit, scale * y if targets == "scaled" else y


VARIABLES: Variables = {
    "network": Variable("network", "which of the networks"),
    "targets": Variable("targets", "whether the targets are left alone or scaled with the inputs"),
    "second_moment": Variable("second_moment", "σ_x², the second moment of the inputs"),
    "width": Variable("network", "hidden units m"),
    "squared_norm": Variable("network", "‖w‖² + ‖v‖²"),
    **spectra.variables("network targets second_moment"),
}


def _read(config: Config, samples: xr.Dataset, read: Callable[..., Arrays]) -> xr.Dataset:
    """All that a function reads of ``v``, ``w`` and the samples at all values of σ_x²."""
    parts, moments = [], second_moments(config)
    for name, width in (("first", config.width), ("second", config.second_width)):
        draws = generator(config.seed, f"weights of the {name} network")
        v, w = standard_parametrisation(width, config.variance_times_fan_in, draws)
        for targets in TARGETS:
            rescaled = [_rescaled(samples, moment, targets) for moment in moments.tolist()]
            labels = {"network": np.array(name), "targets": np.array(targets)}
            parts.append({**labels, "second_moment": moments, **read(v, w, rescaled)})
    return assembled(parts, VARIABLES, ("network", "targets"))


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """All eigenvalues by Theorem 3.1 of singh2026cracking, and what is known of the networks."""

    def read(v: Tensor, w: Tensor, rescaled: list[tuple[Tensor, Tensor]]) -> Arrays:
        exact = (cf.two_layer_linear(w, v, x, y) for x, y in rescaled)
        rows = [spectra.of_closed_form(each.arrays()) for each in exact]
        squared_norm = np.array((v.square().sum() + w.square().sum()).item())
        known = {"width": np.array(len(v)), "squared_norm": squared_norm}
        return known | stacked(rows)

    return _read(config, samples, read)


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """All eigenvalues of the Hessian that exact products with the loss of the whole sample give."""

    def read(v: Tensor, w: Tensor, rescaled: list[tuple[Tensor, Tensor]]) -> Arrays:
        rows = [numeric_spectrum(TwoLayerLinear(v, w), x, y) for x, y in rescaled]
        return {"numerical": np.stack(rows)}

    return _read(config, samples, read)
