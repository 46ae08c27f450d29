"""Attention at initialisation with growing key dimension (singh2026cracking, section 3.3).

The paper takes from earlier work that the attention at initialisation tends to the uniform one as
d_K grows, and from that that the bulk ±γ, which depends on w_Q and w_K through m_2 alone, is nearly
constant in their magnitude. It does not say how w_Q and w_K are drawn, and that decides it: the
scores are c x_i x_j with c = ⟨w_Q, w_K⟩/√d_K, and c is of the order of the entries' variance.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Annotated

import numpy as np
import torch
import xarray as xr

from hessian_papers.constraints import AtLeast, Count, Different, DifferentNumbers, Each, Once
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.studies.base import StudyConfig
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, SelfAttention
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# Normal entries of variance 2/(1 + d_K); of norm 1, as in Figure 2; of variance 1/3, which is the
# standard parametrisation of a layer with one input.
INITIALISATIONS = ("xavier", "unit", "sp")
Several = Each("two positive numbers or more", lambda factor: factor > 0, least=2)


@dataclass(frozen=True, kw_only=True)
class Config(StudyConfig):
    """Settings of the study.

    Args:
        initialisations: some of ``INITIALISATIONS``.
        key_dimensions: d_K.
        length: tokens of a sequence.
        draws: of weights, sequence and target; of w_Q and w_K each d_K takes the first entries.
        factors: the entries of w_Q and w_K are multiplied by each of these, for the bulk.
        checked: how many of the draws are held against the dense Hessian.
        checked_dimension: the largest d_K at which they are.
    """

    initialisations: Annotated[list[str], Different(tuple(INITIALISATIONS))]
    key_dimensions: Annotated[list[int], DifferentNumbers(3)]
    length: Annotated[int, AtLeast(2)]
    draws: Annotated[int, AtLeast(2)]
    factors: Annotated[list[float], Once(), Several]
    checked: Count
    checked_dimension: int

    def __post_init__(self) -> None:
        super().__post_init__()
        # A bulk eigenvalue occurs d_K − 1 times, and the bulk is found as what repeats.
        require(len(self.key_dimensions) > 1, "key_dimensions", "two or more", self.key_dimensions)
        require(self.checked <= self.draws, "checked", f"at most {self.draws}", self.checked)
        smallest, own = min(self.key_dimensions), self.checked_dimension
        expected = f"at least the smallest key dimension, {smallest}"
        require(own >= smallest, "checked_dimension", expected, own)


@dataclass(frozen=True)
class Draw:
    """One draw: ``w_value`` (), ``query`` and ``key`` of unit variance (d,), ``x``, ``y`` (n,)."""

    w_value: float
    query: np.ndarray
    key: np.ndarray
    x: np.ndarray
    y: np.ndarray

    def scale(self, initialisation: str, dimension: int) -> tuple[float, float]:
        """The factor of the first ``dimension`` entries of ``query`` and of ``key``."""
        if initialisation == "unit":
            query, key = (np.linalg.norm(item[:dimension]) for item in (self.query, self.key))
            return 1 / float(query), 1 / float(key)
        variance = {"xavier": 2 / (1 + dimension), "sp": 1 / 3}[initialisation]
        return math.sqrt(variance), math.sqrt(variance)

    def score(self, initialisation: str, dimension: int) -> float:
        """C = ⟨w_Q, w_K⟩/√d_K."""
        inner = self.query[:dimension] @ self.key[:dimension]
        return float(math.prod(self.scale(initialisation, dimension)) * inner / dimension**0.5)


def draws(config: Config) -> Iterator[Draw]:
    """Independent normal weights, sequences and targets."""
    largest = max(config.key_dimensions)
    for number in range(config.draws):
        numbers = generator(config.seed, f"draw {number}")
        sizes = [1, config.length, config.length, largest, largest]
        flat = torch.randn(sum(sizes), generator=numbers, dtype=torch.float64)
        value, x, y, query, key = (part.numpy() for part in flat.split(sizes))
        yield Draw(float(value[0]), query, key, x, y)


def attention_of(score: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Softmax over j of c x_i x_j, ``(..., n, n)``, for c ``(...)`` and a sequence ``(n,)``."""
    exponents = score[..., None, None] * x[:, None] * x
    weights = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def distance(attention: np.ndarray) -> np.ndarray:
    """Total variation of each row from the uniform distribution, mean over the rows, ``(...)``."""
    length = attention.shape[-1]
    return np.asarray(np.abs(attention - 1 / length).sum(axis=-1).mean(axis=-1) / 2)


def _second_moment_and_gamma(draw: Draw, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """m_2 ``(..., n)`` and γ √d_K ``(...)`` of the scores c = ⟨w_Q, w_K⟩/√d_K ``(...)``.

    They depend on w_Q and w_K through c alone, which is that of w_Q = c and w_K = 1.
    """
    value, query = np.full_like(score, draw.w_value), score[..., None]
    x, y = (np.broadcast_to(of, (*score.shape, 1, len(of))) for of in (draw.x, draw.y))
    moments = cf.attention_moments(query, np.ones_like(query), x)
    numbers = cf.attention_coefficients(value, query, np.ones_like(query), x, y)
    return moments.m_2[..., 0, :].numpy(), numbers.gamma.numpy()


DRAWN = "draw initialisation key_dimension"
CHECKED = "initialisation checked_key_dimension checked_draw"
VARIABLES: Variables = {
    "initialisation": Variable("initialisation", "how w_Q and w_K are drawn"),
    "key_dimension": Variable("key_dimension", "d_K"),
    "factor": Variable("factor", "what the entries of w_Q and w_K are multiplied by"),
    "draw": Variable("draw", "number of the draw of weights, sequence and target"),
    "length": Variable("", "tokens of a sequence"),
    "distance": Variable(DRAWN, "total variation from uniform attention, mean over the tokens"),
    "second_moment": Variable(DRAWN, "‖m_2 − variance of the tokens‖ over the variance's norm"),
    "bulk": Variable(DRAWN, "|γ|"),
    "uniform_bulk": Variable("draw key_dimension", "|γ_u|, the same under uniform attention"),
    "bulk_error": Variable(DRAWN, "|γ/γ_u − 1|"),
    "scaled_bulk": Variable(f"{DRAWN} factor", "|γ| with w_Q and w_K multiplied by a factor"),
    "checked_key_dimension": Variable("checked_key_dimension", "d_K with a numerical Hessian"),
    "checked_draw": Variable("checked_draw", "numbers of the draws with a numerical Hessian"),
    "numerical_bulk": Variable(CHECKED, "largest eigenvalue of the Hessian that repeats"),
    "numerical_largest": Variable(CHECKED, "largest eigenvalue of the Hessian"),
}


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """Attention, its second moment and the bulk of every draw, by Theorem 3.5."""
    parts = [
        {"draw": np.array(number), **_of_draw(config, draw)}
        for number, draw in enumerate(draws(config))
    ]
    return assembled(parts, VARIABLES, ["draw"])


def _of_draw(config: Config, draw: Draw) -> Arrays:
    dimensions, factors = np.array(config.key_dimensions), np.array(config.factors)
    score = np.array(
        [[draw.score(name, d) for d in dimensions.tolist()] for name in config.initialisations]
    )
    m_2, gamma = _second_moment_and_gamma(draw, score)
    variance, uniform = _second_moment_and_gamma(draw, np.zeros(()))
    _, scaled = _second_moment_and_gamma(draw, score[..., None] * factors**2)
    root = np.sqrt(dimensions)
    away = np.linalg.norm(m_2 - variance, axis=-1)
    return {
        "initialisation": np.array(config.initialisations),
        "key_dimension": dimensions,
        "factor": factors,
        "length": np.array(config.length),
        "distance": distance(attention_of(score, draw.x)),
        "second_moment": away / np.linalg.norm(variance),
        "bulk": np.abs(gamma) / root,
        "uniform_bulk": np.abs(uniform) / root,
        "bulk_error": np.abs(gamma / uniform - 1),
        "scaled_bulk": np.abs(scaled) / root[:, None],
    }


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The quantities of networks as modules, and the eigenvalues of their Hessians that repeat."""
    dimensions = [d for d in config.key_dimensions if d <= config.checked_dimension]
    chosen = [*islice(draws(config), config.checked)]
    labels = product(config.initialisations, dimensions, range(config.checked))
    parts = [
        dict(zip(CHECKED.split(), map(np.array, (name, d, number)), strict=True))
        | _measured(chosen[number], name, d, config.seed)
        for name, d, number in labels
    ]
    return assembled(parts, VARIABLES, CHECKED.split())


def _measured(draw: Draw, initialisation: str, dimension: int, seed: int) -> Arrays:
    scales = draw.scale(initialisation, dimension)
    query, key = (
        torch.from_numpy(scale * vector[:dimension])
        for scale, vector in zip(scales, (draw.query, draw.key), strict=True)
    )
    layer = SelfAttention(torch.tensor(draw.w_value, dtype=torch.float64), query, key)
    x, y = (torch.from_numpy(row)[None] for row in (draw.x, draw.y))
    problem = cv.Problem(layer, HalfSquaredError("element"), [(x, y)])
    eigenvalues = cv.distinct_eigenvalues(cv.hessian(problem, check=False), seed=seed)
    return {
        "numerical_bulk": eigenvalues.values[eigenvalues.repeated].max().numpy(),
        "numerical_largest": eigenvalues.values.max().numpy(),
    }
