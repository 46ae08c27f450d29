"""The whole spectrum of balanced deep linear networks, predicted from the labels alone.

The inputs are whitened, the layers balanced with singular values from U[0, 1]. Three kinds of
labels go with the same network: ``exact``, its own outputs, so that the loss is zero;
``least_squares``, with a residual on top that is uncorrelated with the inputs, so that the network
is the best linear map but the loss is not zero; and ``unfitted``, with a residual of the same size
that is correlated with them, at which the Hessian is not its Gauss-Newton part.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import Once, Scale
from hessian_papers.data.base import SEVERAL_FEATURES, Form
from hessian_papers.data.tools.whitening import whiten
from hessian_papers.models import balanced_weights
from hessian_papers.networks.tools.images import joined
from hessian_papers.studies.base import DataStudyConfig
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, Perceptron
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# Largest residual of an eigenpair of Lanczos' method, relative to the largest eigenvalue.
TOLERANCE = 1e-8


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

    def require_data(self, form: Form) -> None:
        """Refuse data with too few features or samples for the largest network."""
        super().require_data(form)
        (samples, features), largest = form.shape, max(sizes[0] for sizes in self.architectures)
        expected = f"at most {features} inputs and fewer than the {samples} samples of {self.data}"
        require(largest <= features and largest < samples, "architectures", expected, largest)


def _parameters(sizes: list[int]) -> int:
    return sum(a * b for a, b in itertools.pairwise(sizes))


@dataclass(frozen=True)
class _Network:
    """A balanced network with its data: inputs ``(n, d_0)``, labels ``(n, d_L)`` of each kind."""

    sizes: list[int]
    weights: tuple[Tensor, ...]
    inputs: Tensor
    labels: dict[str, Tensor]

    @property
    def model(self) -> Perceptron:
        return Perceptron(self.weights, [1.0] * len(self.weights), "linear")


def _networks(config: Config, data: Arrays) -> Iterator[_Network]:
    """All networks; each has draws of its own.

    Raises:
        ValueError: the data have too few inputs or samples.
    """
    config.require_data(Form.of_features(data["x"]))
    x = torch.as_tensor(data["x"], dtype=torch.float64)
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
        yield _Network(list(sizes), weights, inputs, _labels(config, inputs, outputs, draws))


def _labels(
    config: Config, inputs: Tensor, outputs: Tensor, draws: torch.Generator
) -> dict[str, Tensor]:
    noise = torch.randn(outputs.shape, dtype=torch.float64, generator=draws)
    explained = inputs @ torch.linalg.lstsq(inputs, noise).solution
    parts = {"least_squares": noise - explained, "unfitted": explained}
    scaled = {k: v * (config.residual / v.square().mean().sqrt()) for k, v in parts.items()}
    return {"exact": outputs} | {name: outputs + part for name, part in scaled.items()}


def _whole(values: Tensor, parameters: int) -> np.ndarray:
    """Eigenvalues of pairs as a whole ascending spectrum ``(p,)``: the rest are zeros."""
    largest = values[-parameters:]
    return torch.cat([largest.new_zeros(parameters - len(largest)), largest]).numpy()


def _predicted(
    config: Config,
    network: _Network,
    outer: Tensor,
    index_set: Literal["corrected", "printed"] = "corrected",
) -> np.ndarray:
    """All eigenvalues ``(p,)`` from the singular values of the network's end-to-end matrix."""
    sizes, depth = network.sizes, len(network.weights)
    # Balanced layers have no more positive singular values than the narrowest of them has units.
    # What rounding leaves beyond would be magnified by the root.
    layers = outer[: min(sizes)] ** (1 / depth)
    pairs = cf.pair_eigenvalues(
        layers,
        layers,
        sizes[0],
        sizes[-1],
        depth=depth,
        input_scale=config.input_scale,
        index_set=index_set,
    )
    return _whole(pairs.eigenvalues, _parameters(sizes))


def _theory(config: Config, network: _Network) -> Arrays:
    sizes, scale, depth = network.sizes, config.input_scale, len(network.weights)
    x, rank, n = network.inputs.T, min(network.sizes), len(network.inputs)
    spectrum = cf.deep_linear(network.weights, x, network.labels["exact"].T)
    ascending = spectrum.eigenvalues
    # With the eigenvalues that equal the last of them, so that no eigenspace is cut.
    top = int((ascending >= ascending[-config.top] - 1e-9 * ascending[-1]).sum())
    arrays: Arrays = {
        "sizes": np.array(sizes),
        "from_weights": ascending.numpy(),
        "top_vectors": spectrum.eigenvectors()[:, -top:].numpy(),
        "count": np.array(rank * sizes[0] + rank * sizes[-1] - rank**2),
        "printed_count": np.array(rank**2),
        "trace": cf.deep_linear_trace(network.weights, x @ x.T / n).numpy(),
        "bound": cf.deep_linear_bound(network.weights, scale).numpy(),
    }
    for name in ("exact", "least_squares"):
        y = network.labels[name].T
        of_labels = torch.linalg.svdvals(y) / (math.sqrt(n) * scale)  # eq. (13)
        solution = cf.least_squares_singular_values(x, y)
        share = (of_labels[0] * scale) ** 2
        arrays |= {
            f"labels_{name}": _predicted(config, network, of_labels),
            f"solution_{name}": _predicted(config, network, solution),
            f"labels_sharpness_{name}": cf.sharpness_from_labels(share, depth, scale).numpy(),
            f"solution_sharpness_{name}": cf.least_squares_sharpness(
                solution[0], depth, scale
            ).numpy(),
        }
        if name == "exact":
            arrays["printed_exact"] = _predicted(config, network, of_labels, "printed")
    return arrays


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues by anon2026data, eq. (13) and (9), with both sets of indices.

    Returns:
        For each network k = 0, 1, ..., with p parameters: ``k/sizes`` (L + 1,); ``k/from_weights``
        (p,), the spectrum from the layers, ascending like all others; ``k/labels_exact`` and
        ``k/printed_exact`` (p,), from the labels alone, eq. (13), with the corrected and with the
        printed indices; ``k/labels_least_squares`` (p,), the same where the labels are not fitted
        exactly; ``k/solution_exact`` and ``k/solution_least_squares`` (p,), from the least-squares
        solution that labels and inputs have; with ``_sharpness`` in the name the largest
        eigenvalues that go with them, eq. (14). ``k/count`` and ``k/printed_count``, how many
        eigenvalues are not zero; ``k/trace``, eq. (7); ``k/bound``, eq. (6); ``k/top_vectors``
        (p, t), the eigenvectors of the t largest.
    """
    return joined([_theory(config, network) for network in _networks(config, networks)])


def _measured(config: Config, network: _Network) -> Arrays:
    def problem(labels: str) -> cv.Problem:
        data = [(network.inputs, network.labels[labels])]
        return cv.Problem(network.model, HalfSquaredError("sample"), data)

    operators = {name: cv.hessian(problem(name), backend="curvlinops") for name in network.labels}
    matrices = {name: cv.dense_matrix(operator) for name, operator in operators.items()}
    # The Gauss-Newton matrix does not depend on the labels.
    ggn = cv.dense_matrix(cv.ggn(problem("exact"), backend="curvlinops"))
    top = cv.top_eigenpairs(operators["exact"], k=config.top, tol=TOLERANCE)
    assert top.residuals is not None
    # Without eigenvectors, which would take most of the time: those of Lanczos' method will do.
    arrays: Arrays = {
        "hessian_exact": torch.linalg.eigvalsh(matrices["exact"]).numpy(),
        "hessian_least_squares": torch.linalg.eigvalsh(matrices["least_squares"]).numpy(),
        "ggn": torch.linalg.eigvalsh(ggn).numpy(),
        "top": top.eigenvalues.numpy(),
        "top_residuals": top.residuals.numpy(),
        "top_vectors": top.eigenvectors().numpy(),
    }
    for name, labels in network.labels.items():
        loss = HalfSquaredError("sample")(network.model(network.inputs), labels)
        difference = matrices[name] - ggn
        arrays |= {
            f"loss_{name}": loss.detach().numpy(),
            f"trace_{name}": matrices[name].trace().numpy(),
            f"difference_{name}": (difference.norm() / ggn.norm()).numpy(),
        }
    return arrays


def numerics(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues of the Hessian and of its Gauss-Newton part, from products with the loss.

    Returns:
        For each network k = 0, 1, ..., with p parameters: ``k/hessian_exact``, ``k/ggn`` and
        ``k/hessian_least_squares`` (p,), ascending, of the dense matrices; ``k/top`` (top,) and
        ``k/top_residuals`` (top,), by Lanczos' method, with ``k/top_vectors`` (p, top); and for the
        three kinds of labels ``k/loss_...``, ``k/trace_...`` of the Hessian, and
        ``k/difference_...``, how far it is from the Gauss-Newton matrix, ‖H − G‖_F / ‖G‖_F.
    """
    return joined([_measured(config, network) for network in _networks(config, networks)])
