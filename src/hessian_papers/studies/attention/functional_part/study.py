"""The functional part of the largest eigenvalue and of its bounds (cracking, section 3.3).

The functional Hessian is what the Gauss-Newton matrix misses: all terms with residuals. Without
residuals, that is with the network's own outputs as targets, the two are one. So the closed forms
give the Gauss-Newton matrix as well, and the functional part is what they lose with the residuals.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast, Count, Once
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.studies.base import StudyConfig
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
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
        checked: how many of the draws are held against numerical matrices.
    """

    width: Annotated[int, AtLeast(2)]
    norms: Annotated[list[float], Once()]
    batch: Count
    length: Annotated[int, AtLeast(2)]
    draws: Annotated[int, AtLeast(2)]
    checked: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        positive = bool(self.norms) and min(self.norms) > 0
        require(positive, "norms", "one positive number or more", self.norms)
        require(self.checked <= self.draws, "checked", f"at most {self.draws}", self.checked)


VARIABLES: Variables = {
    "model": Variable("model", "self-attention, or a two-layer network without it"),
    "weight_norm": Variable("weight_norm", "of each weight vector"),
    "quantity": Variable("quantity", "largest eigenvalue, or a bound on it"),
    "draw": Variable("draw", "number of the draw of weights, inputs and targets"),
    "width": Variable("", "d_K, or hidden units"),
    "hessian": Variable("draw model weight_norm quantity", "of the Hessian"),
    "gauss_newton": Variable("draw model weight_norm quantity", "of the Gauss-Newton matrix"),
    "checked_draw": Variable("checked_draw", "numbers of the draws with numerical matrices"),
    "numerical_hessian": Variable(
        "checked_draw model weight_norm", "largest eigenvalue of the Hessian, numerically"
    ),
    "numerical_gauss_newton": Variable(
        "checked_draw model weight_norm", "that of the Gauss-Newton matrix, numerically"
    ),
}


@dataclass(frozen=True)
class Draw:
    """Unit vectors ``first``, ``second`` (d,), the sign of w_V (), ``x`` and ``y`` (batch, n)."""

    first: Tensor
    second: Tensor
    sign: Tensor
    x: Tensor
    y: Tensor


def draws(config: Config) -> Iterator[Draw]:
    """Independent normal weights, inputs and targets."""
    for number in range(config.draws):
        numbers = generator(config.seed, f"draw {number}")

        def normal(*sizes: int, numbers: torch.Generator = numbers) -> Tensor:
            return torch.randn(sizes, generator=numbers, dtype=torch.float64)

        first, second = (weights / weights.norm() for weights in normal(2, config.width))
        sign = torch.sign(normal(1))[0]
        x, y = normal(2, config.batch, config.length)
        yield Draw(first, second, sign, x, y)


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """Largest eigenvalue and bounds of Hessian and Gauss-Newton matrix, of every draw."""
    norms = sorted(config.norms)
    values = np.array([[*_of_draw(draw, norms)] for draw in draws(config)])
    values = values.reshape(config.draws, len(norms), len(MODELS), 2, len(QUANTITIES))
    hessian, gauss_newton = np.moveaxis(values.swapaxes(1, 2), 3, 0)
    labels = {
        "model": list(MODELS),
        "weight_norm": norms,
        "quantity": list(QUANTITIES),
        "draw": range(config.draws),
        "width": config.width,
    }
    return data_set(labels | {"hessian": hessian, "gauss_newton": gauss_newton}, VARIABLES)


def _of_draw(draw: Draw, norms: Iterable[float]) -> Iterator[list[float]]:
    """The quantities for each norm, model and matrix."""
    for norm in norms:
        w, v = norm * draw.first, norm * draw.second
        for targets in (draw.y, None):
            yield _of_attention(norm * draw.sign, w, v, draw.x, targets)
        for relu in (False, True):
            for targets in (draw.y, None):
                yield _without_attention(w, v, draw.x, targets, relu=relu)


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The largest eigenvalues of the matrices of networks as modules, of some draws."""
    norms = sorted(config.norms)
    problems = (
        cv.Problem(network, HalfSquaredError("element"), [data])
        for draw in islice(draws(config), config.checked)
        for norm in norms
        for network, data in _networks(draw, norm)
    )
    values = [
        [
            torch.linalg.eigvalsh(cv.dense_matrix(matrix(problem, check=False)))[-1].item()
            for matrix in (cv.hessian, cv.ggn)
        ]
        for problem in problems
    ]
    table = np.reshape(values, (config.checked, len(norms), len(MODELS), 2)).swapaxes(1, 2)
    labels = {
        "model": list(MODELS),
        "weight_norm": norms,
        "checked_draw": range(config.checked),
        "numerical_hessian": table[..., 0],
        "numerical_gauss_newton": table[..., 1],
    }
    return data_set(labels, VARIABLES)


def _networks(draw: Draw, norm: float) -> Iterator[tuple[nn.Module, tuple[Tensor, Tensor]]]:
    """The networks of a draw in the order of the models, each with its data."""
    w, v = norm * draw.first, norm * draw.second
    yield SelfAttention(norm * draw.sign, w, v), (draw.x, draw.y)
    flat = draw.x.flatten(), draw.y.flatten()
    yield TwoLayerLinear(v, w), flat
    yield TwoLayerReLU(v, w), flat


def _of_attention(
    value: Tensor, query: Tensor, key: Tensor, x: Tensor, y: Tensor | None
) -> list[float]:
    """Theorem 3.5 and Remark B.4; without targets those of the Gauss-Newton matrix."""
    if y is None:
        y = value * cf.attention_moments(query, key, x).m_1
    numbers = cf.attention_coefficients(value, query, key, x, y)
    bounds = cf.attention_largest_eigenvalue_bounds(numbers, query, key)
    largest = cf.attention_spectrum(numbers, query, key).eigenvalues[-1]
    return [float(largest), float(bounds.lower), float(bounds.upper)]


def _without_attention(
    w: Tensor, v: Tensor, x: Tensor, y: Tensor | None, *, relu: bool
) -> list[float]:
    """Theorems 3.1 and 3.4, which give the largest eigenvalue itself: it is its own bound."""
    x = x.flatten()
    hidden = torch.outer(x, v)
    targets = (hidden.relu() if relu else hidden) @ w if y is None else y.flatten()
    spectrum = (cf.two_layer_relu if relu else cf.two_layer_linear)(w, v, x, targets)
    return 3 * [float(spectrum.eigenvalues[-1])]
