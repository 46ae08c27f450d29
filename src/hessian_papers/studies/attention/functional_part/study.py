"""The functional part of the largest eigenvalue and of its bounds (cracking, section 3.3).

The functional Hessian is what the Gauss-Newton matrix misses: all terms with residuals. Without
residuals, that is with the network's own outputs as targets, the two are one. So the closed forms
give the Gauss-Newton matrix as well, and the functional part is what they lose with the residuals.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast, Count, PositiveNumbers
from hessian_papers.labelled import Variable, Variables, assembled, joined
from hessian_papers.studies.base import StudyConfig
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, SelfAttention, TwoLayerLinear, TwoLayerReLU
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

MODELS = ("attention", "linear", "relu")
QUANTITIES = ("largest eigenvalue", "lower bound", "upper bound")


@dataclass(frozen=True, kw_only=True)
class Config(StudyConfig):
    """Settings of the study.

    Args:
        width: d_K of the attention layer, m of the networks without attention.
        norms: of each weight vector; |w_V| is as large.
        batch: sequences.
        length: tokens of a sequence; without attention each token is a sample.
        draws: of weights, inputs and targets, all normal, for each norm the same.
        target_scales: factors of the targets, each at weights of norm 1.
        checked: how many of the draws are held against numerical matrices.
    """

    width: Annotated[int, AtLeast(2)]
    norms: PositiveNumbers
    batch: Count
    length: Annotated[int, AtLeast(2)]
    draws: Annotated[int, AtLeast(2)]
    target_scales: PositiveNumbers
    checked: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.checked <= self.draws, "checked", f"at most {self.draws}", self.checked)


VARIABLES: Variables = {
    "model": Variable("model", "self-attention, or a two-layer network without it"),
    "weight_norm": Variable("weight_norm", "of each weight vector"),
    "quantity": Variable("quantity", "largest eigenvalue, or a bound on it"),
    "draw": Variable("draw", "number of the draw of weights, inputs and targets"),
    "width": Variable("", "d_K, or hidden units"),
    "hessian": Variable("draw model weight_norm quantity", "of the Hessian"),
    "gauss_newton": Variable("draw model weight_norm quantity", "of the Gauss-Newton matrix"),
    "residual_terms": Variable(
        "draw model weight_norm",
        "share of the terms of bounds (121), or of eigenvalue (1), that change with the residuals",
    ),
    "target_scale": Variable("target_scale", "factor of the targets, at weights of norm 1"),
    "scaled_hessian": Variable("draw model target_scale", "largest eigenvalue of the Hessian"),
    "scaled_gauss_newton": Variable("draw model target_scale", "that of the Gauss-Newton matrix"),
    "checked_draw": Variable("checked_draw", "numbers of the draws with numerical matrices"),
    "numerical_hessian": Variable(
        "checked_draw model weight_norm", "largest eigenvalue of the Hessian, numerically"
    ),
    "numerical_gauss_newton": Variable(
        "checked_draw model weight_norm", "that of the Gauss-Newton matrix, numerically"
    ),
}


class Network(NamedTuple):
    """A network of one draw at one norm, and its data.

    Attributes:
        model: one of ``MODELS``.
        number: of the draw.
        labels: the model and the norm.
        value: w_V ``()``, of attention alone.
        w: ``(d,)`` w_Q, or the second layer.
        v: ``(d,)`` w_K, or the first layer.
        x: ``(batch, length)``.
        y: ``(batch, length)``.
    """

    model: str
    number: np.ndarray
    labels: Arrays
    value: Tensor
    w: Tensor
    v: Tensor
    x: Tensor
    y: Tensor

    def problem(self) -> cv.Problem:
        """The network as a module, with its loss."""
        data = (self.x, self.y)
        if self.model == "attention":
            network: nn.Module = SelfAttention(self.value, self.w, self.v)
        else:
            network = {"linear": TwoLayerLinear, "relu": TwoLayerReLU}[self.model](self.v, self.w)
            data = self.x.flatten(), self.y.flatten()
        return cv.Problem(network, HalfSquaredError("element"), [data])

    def quantities(self, targets: Tensor | None) -> np.ndarray:
        """The quantities of the Hessian; without targets those of the Gauss-Newton matrix."""
        if self.model == "attention":
            return _of_attention(self.value, self.w, self.v, self.x, targets)
        return _without_attention(self.w, self.v, self.x, targets, relu=self.model == "relu")

    def terms(self, *, fitted: bool) -> Tensor:
        """The terms of the bounds (121) on the largest eigenvalue, or of the eigenvalue (1).

        Of a ReLU network those of the cell of positive inputs.

        Args:
            fitted: whether the targets are the network's own outputs.
        """
        w, v, x, y = self.w, self.v, self.x, self.y
        if self.model == "attention":
            y = self.value * cf.attention_moments(w, v, x).m_1 if fitted else y
            alpha, beta, gamma, zeta = cf.attention_coefficients(self.value, w, v, x, y)
            square, inner = w @ w + v @ v, w @ v
            root = 3 * gamma**2, 6 * zeta * gamma * inner, 3 * (beta**2 - alpha * zeta) * square
            sums = alpha, zeta * (w @ w), zeta * (v @ v)
            return torch.stack([*sums, *root, (alpha + zeta * square) ** 2])
        if self.model == "relu":
            (w, v), x = (weights[self.v > 0] for weights in (w, v)), x.relu()
        inner, variance = w @ v, x.square().mean()
        residual = variance * 0 if fitted else (x * (inner * x - y)).mean()
        scales = torch.stack([variance * (w @ w), variance * (v @ v)])
        under_root = scales.sum() ** 2, 4 * residual**2, 8 * variance * residual * inner
        return torch.cat([scales, torch.stack(under_root)])


def networks(config: Config, count: int, norms: Sequence[float] | None = None) -> Iterator[Network]:
    """Networks of the first draws: independent normal weights, inputs and targets."""
    for number in range(count):
        numbers = generator(config.seed, f"draw {number}")

        def normal(*sizes: int, numbers: torch.Generator = numbers) -> Tensor:
            return torch.randn(sizes, generator=numbers, dtype=torch.float64)

        first, second = (weights / weights.norm() for weights in normal(2, config.width))
        sign = torch.sign(normal(1))[0]
        x, y = normal(2, config.batch, config.length)
        for model, norm in product(MODELS, sorted(config.norms if norms is None else norms)):
            labels = {"model": np.array(model), "weight_norm": np.array(norm)}
            weights = norm * sign, norm * first, norm * second
            yield Network(model, np.array(number), labels, *weights, x, y)


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """Largest eigenvalue and bounds of Hessian and Gauss-Newton matrix, of every draw."""
    common = {"quantity": np.array(QUANTITIES), "width": np.array(config.width)}
    parts = [
        {"draw": network.number, **network.labels, **common}
        | {"hessian": network.quantities(network.y), "gauss_newton": network.quantities(None)}
        | {
            "residual_terms": (network.terms(fitted=True) != network.terms(fitted=False))
            .numpy()
            .mean()
        }
        for network in networks(config, config.draws)
    ]
    scaled = [
        {"draw": network.number, "model": network.labels["model"], "target_scale": np.array(scale)}
        | {"scaled_hessian": network.quantities(scale * network.y)[0]}
        | {"scaled_gauss_newton": network.quantities(None)[0]}
        for network in networks(config, config.draws, [1.0])
        for scale in sorted(config.target_scales)
    ]
    return joined(
        [
            assembled(parts, VARIABLES, ["draw", "model", "weight_norm"]),
            assembled(scaled, VARIABLES, ["draw", "model", "target_scale"]),
        ]
    )


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The largest eigenvalues of the matrices of networks as modules, of some draws."""
    parts = []
    for network in networks(config, config.checked):
        problem = network.problem()
        parts.append({"checked_draw": network.number, **network.labels})
        for name, matrix in (("hessian", cv.hessian), ("gauss_newton", cv.ggn)):
            values = torch.linalg.eigvalsh(cv.dense_matrix(matrix(problem, check=False)))
            parts[-1][f"numerical_{name}"] = values[-1].numpy()
    return assembled(parts, VARIABLES, ["checked_draw", "model", "weight_norm"])


def _of_attention(
    value: Tensor, query: Tensor, key: Tensor, x: Tensor, y: Tensor | None
) -> np.ndarray:
    """Theorem 3.5 and Remark B.4; without targets those of the Gauss-Newton matrix."""
    if y is None:
        y = value * cf.attention_moments(query, key, x).m_1
    numbers = cf.attention_coefficients(value, query, key, x, y)
    bounds = cf.attention_largest_eigenvalue_bounds(numbers, query, key)
    largest = cf.attention_spectrum(numbers, query, key).eigenvalues[-1]
    return np.array([largest, bounds.lower, bounds.upper])


def _without_attention(
    w: Tensor, v: Tensor, x: Tensor, y: Tensor | None, *, relu: bool
) -> np.ndarray:
    """Theorems 3.1 and 3.4, which give the largest eigenvalue itself: it is its own bound."""
    x = x.flatten()
    hidden = torch.outer(x, v)
    targets = (hidden.relu() if relu else hidden) @ w if y is None else y.flatten()
    spectrum = (cf.two_layer_relu if relu else cf.two_layer_linear)(w, v, x, targets)
    return np.full(3, spectrum.eigenvalues[-1])
