"""How the spectrum of the scalar linear network depends on the scale of its inputs.

Two networks of different width stand at initialisation, and the inputs of one sample are rescaled
to several second moments σ_x². The targets are either left alone, as in the papers, or scaled along
with the inputs: only then is the whole spectrum proportional to σ_x², because what it sees of the
data is E[x²] and E[yx].
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, TwoLayerLinear, standard_parametrisation
from hessian_spectra.results import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.studies.base import DataStudyConfig
from hessian_spectra.validation import require

TARGETS = ("fixed", "scaled")

# From v, w, x, y to all eigenvalues, ascending.
Solver = Callable[[Tensor, Tensor, Tensor, Tensor], np.ndarray]


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

    width: int
    second_width: int
    variance_times_fan_in: float
    largest_second_moment: float
    scales: int

    def __post_init__(self) -> None:
        for field in ("width", "second_width"):
            # A single hidden unit has no bulk.
            require(getattr(self, field) >= 2, field, "at least 2", getattr(self, field))
        for field in ("variance_times_fan_in", "largest_second_moment"):
            value = getattr(self, field)
            require(math.isfinite(value) and value > 0, field, "a positive number", value)
        require(self.scales >= 2, "scales", "at least 2", self.scales)


def second_moments(config: Config) -> np.ndarray:
    """The values of σ_x², ``(scales,)``: the midpoints of equal parts of (0, largest)."""
    return (np.arange(config.scales) + 0.5) * config.largest_second_moment / config.scales


def _weights(config: Config) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Name, ``v`` and ``w`` of both networks; each has draws of its own."""
    for name, width in (("first", config.width), ("second", config.second_width)):
        draws = generator(config.seed, f"weights of the {name} network")
        yield name, *standard_parametrisation(width, config.variance_times_fan_in, draws)


def _rescaled(networks: Arrays, second_moment: float, targets: str) -> tuple[Tensor, Tensor]:
    """The sample with inputs of mean square ``second_moment``, and its targets."""
    x, y = (torch.as_tensor(networks[name], dtype=torch.float64) for name in ("x", "y"))
    unit = x / x.square().mean().sqrt()
    scale = math.sqrt(second_moment)
    return scale * unit, scale * y if targets == "scaled" else y


def _departures(spectra: dict[str, list[np.ndarray]], moments: np.ndarray) -> Arrays:
    """How far the spectra of one way to treat the targets are from proportional to σ_x².

    Since -|δx| <= λ_2 <= |δx| <= λ_1, the ascending spectrum of 2m eigenvalues begins with a bulk
    value and ends with λ_1, whatever the data.

    Returns:
        ``outlier`` and ``bulk`` ``(s,)``: |(λ/σ_x²) / (λ/σ_x² at the largest σ_x²) - 1| of λ_1 and
        of the bulk, whichever of the networks gives more.
    """
    departures = {}
    for group, position in (("outlier", -1), ("bulk", 0)):
        slopes = np.array([[s[position] for s in rows] for rows in spectra.values()]) / moments
        departures[group] = np.abs(slopes / slopes[:, -1:] - 1).max(axis=0)
    return departures


def _collect(config: Config, networks: Arrays, solve: Solver) -> Arrays:
    """The spectra at all values of σ_x², and their departures."""
    moments = second_moments(config)
    arrays: Arrays = {}
    for targets in TARGETS:
        spectra = {
            name: [solve(v, w, *_rescaled(networks, s, targets)) for s in moments.tolist()]
            for name, v, w in _weights(config)
        }
        for name, rows in spectra.items():
            arrays[f"eigenvalues_{name}_{targets}"] = np.stack(rows)
        for group, departure in _departures(spectra, moments).items():
            arrays[f"departure_{group}_{targets}"] = departure
    return arrays


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues by Theorem 3.1 of singh2026cracking.

    Returns:
        ``second_moments`` ``(s,)``, the values of σ_x²; ``widths`` ``(2,)``; ``squared_norms``
        ``(2,)``, ‖w‖² + ‖v‖² of both networks. For each network (``first``, ``second``) and each
        way to treat the targets (``fixed``, ``scaled``) ``eigenvalues_<network>_<targets>``
        ``(s, 2m)``, ascending. And ``departure_<group>_<targets>`` ``(s,)`` for ``outlier`` and
        ``bulk``: how far λ_1 and the bulk are from proportional to σ_x².
    """

    def solve(v: Tensor, w: Tensor, x: Tensor, y: Tensor) -> np.ndarray:
        return cf.two_layer_linear(w, v, x, y).eigenvalues.numpy()

    squared_norms = [(v.square().sum() + w.square().sum()).item() for _, v, w in _weights(config)]
    return {
        "second_moments": second_moments(config),
        "widths": np.array([config.width, config.second_width]),
        "squared_norms": np.array(squared_norms),
        **_collect(config, networks, solve),
    }


def numerics(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues of the Hessian that exact products with the loss of the whole sample give.

    Returns:
        ``eigenvalues_<network>_<targets>`` ``(s, 2m)`` and ``departure_<group>_<targets>`` ``(s,)``
        as in :func:`closed_form`.
    """

    def solve(v: Tensor, w: Tensor, x: Tensor, y: Tensor) -> np.ndarray:
        problem = cv.Problem(TwoLayerLinear(v=v, w=w), HalfSquaredError(), [(x, y)])
        return cv.dense_spectrum(cv.hessian(problem)).eigenvalues.numpy()

    return _collect(config, networks, solve)
