"""The sharpness of balanced solutions against depth and the spectral norm of the labels.

Balanced networks of random widths and singular values are drawn for every depth and every norm
‖Y‖₂/√n, Y being their own outputs, so that the loss is zero.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Count, Scale
from hessian_papers.data.base import SEVERAL_FEATURES
from hessian_papers.data.tools.whitening import whiten
from hessian_papers.labelled import Variable, Variables, assembled, data_set
from hessian_papers.studies.base import DataStudyConfig
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, Perceptron, balanced_weights
from hessian_spectra.seeding import generator
from hessian_spectra.validation import LARGEST_SCALE, SMALLEST_SCALE, require

# Largest residual of the largest eigenvalue, relative; its own error is about its square.
TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study of depth and label norm.

    Args:
        input_scale: σ_x of the whitened inputs.
        largest_depth: the numbers of layers L are 1, 2, ... up to this.
        norms: values of ‖Y‖₂/√n, ascending.
        contour_points: points of the contour along each axis.
        smallest_width: the widths of the networks are drawn from this ...
        largest_width: ... to this.
    """

    takes = SEVERAL_FEATURES
    any_targets = True

    input_scale: Scale
    largest_depth: Annotated[int, AtLeast(2)]
    norms: list[float]
    contour_points: Annotated[int, AtLeast(2)]
    smallest_width: Count
    largest_width: int

    def __post_init__(self) -> None:
        super().__post_init__()
        norms = list(self.norms)
        positive = all(SMALLEST_SCALE <= norm <= LARGEST_SCALE for norm in norms)
        # Nearer ones do not tell the exponent between them.
        apart = len(norms) >= 2 and all(a * 1.01 <= b for a, b in pairwise(norms))
        expected = "two or more positive numbers, ascending in steps of at least 1 %"
        expected += f", from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
        require(positive and apart, "norms", expected, norms)
        expected = f"at least smallest_width = {self.smallest_width}"
        fits = self.largest_width >= self.smallest_width
        require(fits, "largest_width", expected, self.largest_width)

    def require_shape(self, *shape: int) -> None:
        """Refuse data with too few independent inputs for the widest network."""
        most = min(shape)
        expected = f"at most the {most} independent inputs of {self.data}"
        require(self.largest_width <= most, "largest_width", expected, self.largest_width)


@dataclass(frozen=True)
class _Network:
    """A balanced network of zero loss: inputs ``(n, d_0)``, labels ``(n, d_L)``."""

    depth: int
    norm: float
    model: Perceptron
    inputs: Tensor
    labels: Tensor


def _networks(config: Config, data: xr.Dataset) -> Iterator[_Network]:
    """The networks of all depths, of all norms for each."""
    x = torch.as_tensor(data["x"].values, dtype=torch.float64)
    largest = config.largest_width
    whitened = {
        size: whiten(x[:, :size], config.input_scale)[0]
        for size in range(config.smallest_width, largest + 1)
    }
    for depth in range(1, config.largest_depth + 1):
        for norm in config.norms:
            draws = generator(config.seed, f"depth {depth}, norm {norm}")
            widths = torch.randint(
                config.smallest_width, largest + 1, (depth + 1,), generator=draws
            ).tolist()
            values = torch.rand(min(widths), dtype=torch.float64, generator=draws)
            # The product of the layers then has the norm ‖Y‖₂ / (√n σ_x).
            values *= (norm / config.input_scale) ** (1 / depth) / values.max()
            weights = balanced_weights(widths, values.tolist(), draws)
            model = Perceptron(weights, [1.0] * depth, "linear")
            inputs = whitened[widths[0]]
            yield _Network(depth, norm, model, inputs, model(inputs).detach())


VARIABLES: Variables = {
    "depth": Variable("depth", "number of layers L"),
    "norm": Variable("norm", "‖Y‖₂/√n that is asked for"),
    "input_scale": Variable("", "σ_x of the whitened inputs"),
    "label_norm": Variable("depth norm", "‖Y‖₂/√n of the labels of each network"),
    "predicted": Variable("depth norm", "largest eigenvalue from these, by eq. (14)"),
    "defect": Variable("depth norm", "defect of balancedness"),
    "growth_from": Variable("depth", "norm beyond which one layer more makes it sharper"),
    "real_depth": Variable("real_depth", "depth, as a real number"),
    "curve": Variable("real_depth norm", "largest eigenvalue by eq. (14)"),
    "flattest_depth": Variable("norm", "real depth, at least 1, of the smallest sharpness"),
    "flattest": Variable("norm", "that sharpness"),
    "contour_norm": Variable("contour_norm", "‖Y‖₂/√n, evenly spaced"),
    "contour": Variable("real_depth contour_norm", "largest eigenvalue by eq. (14)"),
    "contour_flattest": Variable("contour_norm", "real depth of the smallest sharpness"),
    "sharpness": Variable("depth norm", "largest eigenvalue of the Hessian, by Lanczos' method"),
    "residual": Variable("depth norm", "residual of its eigenpair, relative"),
    "parameters": Variable("depth norm", "number of parameters"),
}


def _of_networks(
    config: Config, data: xr.Dataset, quantities: Callable[[_Network], Mapping[str, float]]
) -> xr.Dataset:
    """Some quantities of each network, by depth and norm."""
    parts = [
        {"depth": network.depth, "norm": network.norm, **quantities(network)}
        for network in _networks(config, data)
    ]
    arrays = [{name: np.array(value) for name, value in part.items()} for part in parts]
    return assembled(arrays, VARIABLES, ["depth", "norm"])


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The largest eigenvalue from the labels alone, anon2026data, eq. (14).

    It is L σ_x^{2/L} α^{1−1/L} with α = ‖Y‖₂²/n, and d ln λ / dL = (L − ln(σ_x²/α)) / L²: it falls
    with depth up to L = ln(σ_x²/α), and grows beyond. From L to L + 1 layers it grows if and only
    if α/σ_x² > (L/(L+1))^{L(L+1)}.
    """
    scale, asked = config.input_scale, np.array(config.norms)
    depths = np.arange(1, config.largest_depth + 1)
    layers = np.linspace(1, config.largest_depth, config.contour_points)
    norms = np.linspace(0, config.norms[-1], config.contour_points)
    flattest = _flattest_depth(asked, scale)
    equation = {
        "input_scale": scale,
        "growth_from": scale * (depths / (depths + 1)) ** (depths * (depths + 1) / 2),
        "real_depth": layers,
        "curve": _sharpness(asked, layers[:, None], scale),
        "flattest_depth": flattest,
        "flattest": _sharpness(asked, flattest, scale),
        "contour_norm": norms,
        "contour": _sharpness(norms, layers[:, None], scale),
        "contour_flattest": _flattest_depth(norms, scale),
    }
    of_labels = _of_networks(config, samples, lambda network: _theory(network, scale))
    return of_labels.merge(data_set(equation, VARIABLES))


def _theory(network: _Network, scale: float) -> Mapping[str, float]:
    norm = torch.linalg.matrix_norm(network.labels, 2).item() / math.sqrt(len(network.labels))
    return {
        "label_norm": norm,
        "predicted": float(_sharpness(norm, network.depth, scale)),
        "defect": cf.balancedness_defect([w.detach() for w in network.model.weights]),
    }


def _sharpness(norms: Any, depths: Any, scale: float) -> np.ndarray:
    return cf.sharpness_from_labels(np.square(norms), np.asarray(depths, float), scale).numpy()


def _flattest_depth(norms: np.ndarray, scale: float) -> np.ndarray:
    """ln(σ_x² n/‖Y‖₂²), at least 1: the real depth of the smallest sharpness."""
    with np.errstate(divide="ignore"):
        return np.maximum(1.0, 2 * np.log(scale / norms))


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The largest eigenvalue of the Hessian at each network, by Lanczos' method."""
    return _of_networks(config, samples, _measured)


def _measured(network: _Network) -> Mapping[str, float]:
    data = [(network.inputs, network.labels)]
    problem = cv.Problem(network.model, HalfSquaredError("sample"), data)
    top = cv.top_eigenpairs(cv.hessian(problem, backend="curvlinops"), k=1, tol=TOLERANCE)
    assert top.residuals is not None
    return {
        "sharpness": float(top.eigenvalues[-1]),
        "residual": float(top.residuals[-1]),
        "parameters": problem.size,
    }
