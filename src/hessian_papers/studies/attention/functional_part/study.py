"""What the functional Hessian makes of the largest eigenvalue and of its bound (cracking, 3.3).

The functional Hessian is what the Gauss-Newton matrix misses: all terms with residuals. Without
residuals, that is with the network's own outputs as targets, the two are one. So the closed forms
give the Gauss-Newton matrix as well, and the functional part is what they lose with the residuals.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Count, Once
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.studies.base import StudyConfig
from hessian_spectra import closed_form as cf
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
    """

    width: Annotated[int, AtLeast(2)]
    norms: Annotated[list[float], Once()]
    batch: Count
    length: Annotated[int, AtLeast(2)]
    draws: Annotated[int, AtLeast(2)]

    def __post_init__(self) -> None:
        super().__post_init__()
        positive = bool(self.norms) and min(self.norms) > 0
        require(positive, "norms", "one positive number or more", self.norms)


VARIABLES: Variables = {
    "model": Variable("model", "self-attention, or a two-layer network without it"),
    "weight_norm": Variable("weight_norm", "of each weight vector"),
    "quantity": Variable("quantity", "largest eigenvalue, or a bound on it"),
    "draw": Variable("draw", "number of the draw of weights, inputs and targets"),
    "width": Variable("", "d_K, or hidden units"),
    "hessian": Variable("draw model weight_norm quantity", "of the Hessian"),
    "gauss_newton": Variable("draw model weight_norm quantity", "of the Gauss-Newton matrix"),
}


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """Largest eigenvalue and bounds of Hessian and Gauss-Newton matrix, of every draw."""
    norms = sorted(config.norms)
    values = np.array([[*_of_draw(config, number, norms)] for number in range(config.draws)])
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


def _of_draw(config: Config, number: int, norms: list[float]) -> Iterator[list[float]]:
    """The quantities for each norm, model and matrix."""
    numbers = generator(config.seed, f"draw {number}")

    def normal(*sizes: int) -> Tensor:
        return torch.randn(sizes, generator=numbers, dtype=torch.float64)

    first, second = (weights / weights.norm() for weights in normal(2, config.width))
    sign = torch.sign(normal(1))[0]
    x, y = normal(2, config.batch, config.length)
    for norm in norms:
        w, v = norm * first, norm * second
        for targets in (y, None):
            yield _of_attention(norm * sign, w, v, x, targets)
        for relu in (False, True):
            for targets in (y, None):
                yield _without_attention(w, v, x, targets, relu=relu)


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
