"""The whole spectrum of balanced deep linear networks, predicted from the labels alone.

The inputs are whitened, the layers balanced with singular values from U[0, 1]. Three kinds of
labels go with the same network: ``exact``, its own outputs, so that the loss is zero;
``least_squares``, with a residual on top that is uncorrelated with the inputs, so that the network
is the best linear map but the loss is not zero; and ``unfitted``, with a residual of the same size
that is correlated with them, at which the Hessian is not its Gauss-Newton part.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import Once, Scale
from hessian_papers.data.base import SEVERAL_FEATURES
from hessian_papers.data.tools.whitening import whiten
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.studies.base import DataStudyConfig
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, Perceptron, balanced_weights
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# Largest residual of an eigenpair of Lanczos' method, relative to the largest eigenvalue.
TOLERANCE = 1e-8
Indices = Literal["corrected", "printed"]


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study of balanced networks.

    Args:
        input_scale: σ_x of the whitened inputs.
        architectures: for each network its widths d_0, ..., d_L; the first d_0 inputs are taken.
        residual: root mean square of what is added to the labels where the loss is not zero.
        top: how many eigenvalues Lanczos' method finds.
    """

    takes = SEVERAL_FEATURES
    any_targets = True

    input_scale: Scale
    architectures: Annotated[list[list[int]], Once()]
    residual: Scale
    top: int

    def __post_init__(self) -> None:
        super().__post_init__()
        # Beyond, the rounding of the residual covers what the inputs explain.
        largest_residual = 1e4 * self.input_scale
        expected = f"at most 10000 input_scale = {largest_residual:g}"
        require(self.residual <= largest_residual, "residual", expected, self.residual)
        networks = [list(sizes) for sizes in self.architectures]
        shaped = len(networks) > 0 and all(len(s) >= 2 and min(s) >= 1 for s in networks)
        expected = "one or more lists of two or more widths, each at least 1"
        require(shaped, "architectures", expected, networks)
        largest = max(map(_parameters, networks))
        expected = f"at most {cv.DENSE_LIMIT} parameters for the whole spectrum"
        require(largest <= cv.DENSE_LIMIT, "architectures", expected, largest)
        smallest = min(map(_parameters, networks))
        require(1 <= self.top <= smallest, "top", f"1 to {smallest} (all)", self.top)

    def require_shape(self, *shape: int) -> None:
        """Refuse data with too few features or samples for the largest network."""
        (samples, features), largest = shape, max(sizes[0] for sizes in self.architectures)
        expected = f"at most {features} inputs and fewer than the {samples} samples of {self.data}"
        require(largest <= features and largest < samples, "architectures", expected, largest)


def _parameters(sizes: list[int]) -> int:
    return sum(a * b for a, b in itertools.pairwise(sizes))


@dataclass(frozen=True)
class _Network:
    """A balanced network with its data: inputs ``(n, d_0)``, labels ``(n, d_L)`` of each kind."""

    number: int
    sizes: list[int]
    weights: tuple[Tensor, ...]
    inputs: Tensor
    labels: dict[str, Tensor]

    @property
    def model(self) -> Perceptron:
        return Perceptron(self.weights, [1.0] * len(self.weights), "linear")

    def problem(self, labels: str) -> cv.Problem:
        return cv.Problem(
            self.model, HalfSquaredError("sample"), [(self.inputs, self.labels[labels])]
        )

    @cached_property
    def gauss_newton(self) -> Tensor:
        """The Gauss-Newton matrix, which does not depend on the labels."""
        return cv.dense_matrix(cv.ggn(self.problem("exact"), backend="curvlinops"))


def _networks(config: Config, data: xr.Dataset) -> Iterator[_Network]:
    """All networks; each has draws of its own.

    Raises:
        ValueError: the inputs depend on each other.
    """
    x = torch.as_tensor(data["x"].values, dtype=torch.float64)
    for number, sizes in enumerate(config.architectures, start=1):
        inputs, rank = whiten(x[:, : sizes[0]], config.input_scale)
        if rank < sizes[0]:
            raise ValueError(
                f"data: expected {sizes[0]} linearly independent inputs, got rank {rank}"
            )
        draws = generator(config.seed, f"balanced network {number}")
        values = torch.rand(min(sizes), dtype=torch.float64, generator=draws)
        weights = balanced_weights(sizes, values.tolist(), draws)
        outputs = Perceptron(weights, [1.0] * len(weights), "linear")(inputs).detach()
        labels = _labels(config, inputs, outputs, draws)
        yield _Network(number, list(sizes), weights, inputs, labels)


def _labels(
    config: Config, inputs: Tensor, outputs: Tensor, draws: torch.Generator
) -> dict[str, Tensor]:
    noise = torch.randn(outputs.shape, dtype=torch.float64, generator=draws)
    explained = inputs @ torch.linalg.lstsq(inputs, noise).solution
    parts = {"least_squares": noise - explained, "unfitted": explained}
    scaled = {k: v * (config.residual / v.square().mean().sqrt()) for k, v in parts.items()}
    return {"exact": outputs} | {name: outputs + part for name, part in scaled.items()}


def _predicted(
    config: Config, network: _Network, outer: Tensor, indices: Indices = "corrected"
) -> np.ndarray:
    """All eigenvalues ``(p,)`` from the singular values of the network's end-to-end matrix."""
    sizes, depth, scale = network.sizes, len(network.weights), config.input_scale
    # Balanced layers have no more positive singular values than the narrowest of them has units.
    # What rounding leaves beyond would be magnified by the root.
    layers = outer[: min(sizes)] ** (1 / depth)
    pairs = cf.pair_eigenvalues(
        layers, layers, sizes[0], sizes[-1], depth=depth, input_scale=scale, index_set=indices
    )
    # The rest of the whole spectrum are zeros.
    largest = pairs.eigenvalues[-_parameters(sizes) :]
    zeros = largest.new_zeros(_parameters(sizes) - len(largest))
    return torch.cat([zeros, largest]).numpy()


LABELS = ("exact", "least_squares", "unfitted")
VARIABLES: Variables = {
    "network": Variable("network", "number of the network, from 1 on"),
    "labels": Variable("labels", "which labels go with it"),
    "width": Variable("network layer", "widths d_0, ..., d_L; 0 beyond"),
    "parameters": Variable("network", "number of parameters p"),
    "from_weights": Variable("network rank", "eigenvalues from the layers, ascending like all"),
    "from_labels": Variable("network labels rank", "eigenvalues from the labels alone, eq. (13)"),
    "printed": Variable("network rank", "the same with the printed indices, for exact labels"),
    "from_solution": Variable("network labels rank", "eigenvalues from the least-squares solution"),
    "sharpness_from_labels": Variable("network labels", "largest eigenvalue, eq. (14)"),
    "sharpness_from_solution": Variable("network labels", "largest eigenvalue by the solution"),
    "count": Variable("network", "number of eigenvalues that are not zero"),
    "printed_count": Variable("network", "number of them in print"),
    "trace": Variable("network", "trace, eq. (7)"),
    "bound": Variable("network", "bound of the largest eigenvalue, eq. (6)"),
    "vector": Variable("network parameter place", "eigenvectors of the largest eigenvalues"),
    "vector_value": Variable("network place", "their eigenvalues, ascending"),
    "hessian": Variable("network labels rank", "eigenvalues of the dense Hessian"),
    "gauss_newton": Variable("network rank", "eigenvalues of the dense Gauss-Newton matrix"),
    "top": Variable("network top", "largest eigenvalues by Lanczos' method, for exact labels"),
    "top_residual": Variable("network top", "residuals of their eigenpairs"),
    "top_vector": Variable("network parameter top", "their eigenvectors"),
    "loss": Variable("network labels", "loss"),
    "hessian_trace": Variable("network labels", "trace of the dense Hessian"),
    "difference": Variable("network labels", "‖H − G‖_F / ‖G‖_F, from the Gauss-Newton matrix"),
}


def _of_all(
    config: Config, data: xr.Dataset, arrays: Callable[[Config, _Network, str], Arrays]
) -> xr.Dataset:
    """The arrays of each network with each kind of labels."""
    parts = [
        {"network": np.array(network.number), "labels": np.array(labels)}
        | arrays(config, network, labels)
        for network in _networks(config, data)
        for labels in LABELS
    ]
    return assembled(parts, VARIABLES, ["network", "labels"])


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """All eigenvalues by anon2026data, eq. (13) and (9), with both sets of indices."""
    return _of_all(config, samples, _theory)


def _theory(config: Config, network: _Network, labels: str) -> Arrays:
    if labels == "unfitted":
        return {}
    scale, depth, y = config.input_scale, len(network.weights), network.labels[labels].T
    of_labels = torch.linalg.svdvals(y) / (math.sqrt(y.shape[1]) * scale)  # eq. (13)
    solution = cf.least_squares_singular_values(network.inputs.T, y)
    share = (of_labels[0] * scale) ** 2
    arrays = {
        "from_labels": _predicted(config, network, of_labels),
        "from_solution": _predicted(config, network, solution),
        "sharpness_from_labels": cf.sharpness_from_labels(share, depth, scale).numpy(),
        "sharpness_from_solution": cf.least_squares_sharpness(solution[0], depth, scale).numpy(),
    }
    if labels == "exact":
        arrays |= _of_network(config, network)
        arrays["printed"] = _predicted(config, network, of_labels, "printed")
    return arrays


def _of_network(config: Config, network: _Network) -> Arrays:
    """The arrays that do not depend on the labels."""
    sizes, x, rank = network.sizes, network.inputs.T, min(network.sizes)
    spectrum = cf.deep_linear(network.weights, x, network.labels["exact"].T)
    ascending = spectrum.eigenvalues
    # With the eigenvalues that equal the last of them, so that no eigenspace is cut.
    top = int((ascending >= ascending[-config.top] - 1e-9 * ascending[-1]).sum())
    moments = x @ x.T / len(network.inputs)
    return {
        "width": np.array(sizes),
        "parameters": np.array(_parameters(sizes)),
        "from_weights": ascending.numpy(),
        "vector": spectrum.eigenvectors()[:, -top:].numpy(),
        "vector_value": ascending[-top:].numpy(),
        "count": np.array(rank * sizes[0] + rank * sizes[-1] - rank**2),
        "printed_count": np.array(rank**2),
        "trace": cf.deep_linear_trace(network.weights, moments).numpy(),
        "bound": cf.deep_linear_bound(network.weights, config.input_scale).numpy(),
    }


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """All eigenvalues of the Hessian and of its Gauss-Newton part, from products with the loss."""
    return _of_all(config, samples, _measured)


def _measured(config: Config, network: _Network, labels: str) -> Arrays:
    operator, ggn = cv.hessian(network.problem(labels), backend="curvlinops"), network.gauss_newton
    matrix = cv.dense_matrix(operator)
    loss = HalfSquaredError("sample")(network.model(network.inputs), network.labels[labels])
    arrays: Arrays = {
        "loss": loss.detach().numpy(),
        "hessian_trace": matrix.trace().numpy(),
        "difference": ((matrix - ggn).norm() / ggn.norm()).numpy(),
    }
    # Without eigenvectors, which would take most of the time: those of Lanczos' method will do.
    if labels != "unfitted":
        arrays["hessian"] = torch.linalg.eigvalsh(matrix).numpy()
    if labels == "exact":
        top = cv.top_eigenpairs(operator, k=config.top, tol=TOLERANCE)
        assert top.residuals is not None
        arrays |= {
            "gauss_newton": torch.linalg.eigvalsh(ggn).numpy(),
            "top": top.eigenvalues.numpy(),
            "top_residual": top.residuals.numpy(),
            "top_vector": top.eigenvectors().numpy(),
        }
    return arrays
