"""Progressive sharpening and the edge of stability in self-attention."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import Count
from hessian_papers.data.base import SCALAR_TOKENS
from hessian_papers.results import stacked
from hessian_papers.studies.attention.attention_edge_of_stability.reading import (
    TERMS,
    shares_of_half_width,
)
from hessian_papers.studies.training import (
    TrainingConfig,
    curvature_shown,
    numeric_spectrum,
    recorded,
    require_dense,
)
from hessian_papers.training import gradient_descent
from hessian_papers.work import KEEPS_NOTHING, Run
from hessian_spectra import closed_form as cf
from hessian_spectra import statistics
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, SelfAttention
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

WEIGHTS = ("w_value", "w_query", "w_key")
# Weights beyond this have diverged.
HUGE = 1e6


@dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    """Settings of the edge-of-stability study, which records every step.

    At the edge the weights oscillate with period 2: an odd ``numeric_every`` sees both phases.

    Args:
        key_dimension: d_K, the length of w_Q and w_K.
        draws: how many other sequences are looked at besides, of normal numbers and as long as the
            data set's, each with initial weights of its own.
        rates: the learning rates at which that is done.
    """

    takes = SCALAR_TOKENS

    key_dimension: Count
    draws: Count
    rates: list[float]

    def __post_init__(self) -> None:
        super().__post_init__()
        positive = bool(self.rates) and all(rate > 0 for rate in self.rates)
        require(positive, "rates", "one positive number or more", self.rates)
        require_dense(2 * self.key_dimension + 1, "key_dimension")


def initial_weights(config: Config) -> tuple[Tensor, Tensor, Tensor]:
    """w_V ``()``, w_Q and w_K ``(d_K,)``, independent normal numbers."""
    d = config.key_dimension
    draws = torch.randn(1 + 2 * d, generator=generator(config.seed, "weights"), dtype=torch.float64)
    value, query, key = (config.initial_scale * draws).split([1, d, d])
    return value.squeeze(0), query, key


def train(config: Config, data: Arrays, run: Run = KEEPS_NOTHING) -> Arrays:
    """Gradient descent on half the squared error, averaged over positions and sequences.

    Returns:
        ``x``, ``y``, ``learning_rate``, ``step`` and ``loss`` (r,), ``w_value`` (r,), ``w_query``
        and ``w_key`` (r, d_K), and ``diverged_at`` (-1 for never).

    Raises:
        ValueError: the data set's tokens are not numbers.
    """
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    trajectory = gradient_descent(
        SelfAttention(*initial_weights(config)),
        HalfSquaredError("element"),
        x,
        y,
        learning_rate=config.learning_rate,
        steps=config.steps,
        log=run.log,
        measure=curvature_shown(cf.self_attention, x, y, config.steps),
    )
    given = {"x": data["x"], "y": data["y"], "learning_rate": np.array(config.learning_rate)}
    return given | recorded(trajectory)


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues at each recorded step, and what the bounds on them are made of.

    Returns:
        ``step``, ``loss`` (r,), ``learning_rate``, ``diverged_at``; ``eigenvalues`` ascending,
        ``kind`` and ``cell`` (r, 2 d_K + 1); ``sharpness`` (r,), the largest; ``trace`` (r,);
        ``half_width`` (r,) ξ; ``lower`` and ``upper`` (r,), the bounds on the largest eigenvalue;
        ``norm/residual`` (r,) of all residuals f − y; ``norm/m_1``, ``norm/m_2``, ``norm/m_3`` (r,)
        of the moments; ``norm/w_value``, ``norm/w_query``, ``norm/w_key`` (r,) of the weights;
        ``alignment`` (r,) ⟨w_Q, w_K⟩. ``draws/rate`` (k,), and of the draws at each ``draws/peak``,
        ``draws/mean`` and ``draws/reversals`` (k, N), see :func:`at_the_edge`.
    """
    x, y = torch.from_numpy(networks["x"]), torch.from_numpy(networks["y"])
    values, queries, keys = (torch.from_numpy(networks[name]) for name in WEIGHTS)
    rows = [
        _at_step(value, query, key, x, y)
        for value, query, key in zip(values, queries, keys, strict=True)
    ]
    kept = ("step", "loss", "learning_rate", "diverged_at")
    return stacked(rows) | {key: networks[key] for key in kept} | _draws(config, x.shape[1])


def _draws(config: Config, length: int) -> Arrays:
    """Trainings on one other sequence each, which is to be reversed."""
    numbers = generator(config.seed, "draws")
    x = torch.randn(config.draws, length, generator=numbers, dtype=torch.float64).numpy()
    parameters = config.draws, 1 + 2 * config.key_dimension
    weights = torch.randn(*parameters, generator=numbers, dtype=torch.float64).numpy()
    rows = [
        at_the_edge(config.initial_scale * weights, x, rate, config.steps) for rate in config.rates
    ]
    return {"draws/rate": np.array(config.rates)} | stacked(rows, "draws/")


def at_the_edge(weights: np.ndarray, x: np.ndarray, rate: float, steps: int) -> Arrays:
    """How gradient descent on the reversal of one sequence each comes to the edge of stability.

    Args:
        weights: w_V, w_Q and w_K at the start, ``(N, 1 + 2 d_K)``.
        x: the sequences ``(N, length)``.
        rate: the learning rate η.
        steps: number of updates.

    Returns:
        ``(N,)`` each, of the sharpness over 2/η: ``peak``, its largest value, NaN if training
        diverged; from the first step at which it is 1 or more on ``mean``, and ``reversals``, the
        share of its changes that undo the one before; and, correlated with its changes, those of
        the trace, ``trace``, and of ξ, ``half_width``. ``terms`` (N, 4) and ``solved`` (N,), see
        :func:`shares_of_half_width`. NaN if there are fewer than three changes.
    """
    relative, trace, terms, solved = [], [], [], []
    for _ in range(steps + 1):
        diverged = ~(np.abs(weights).max(axis=1) < HUGE)
        # Those have no course any more, whatever their weights are from here on.
        weights = np.where(diverged[:, None], 0.0, weights)
        of = coefficients(weights, x)
        gradient, hessian = sequence_derivatives(of, weights)
        largest = np.linalg.eigvalsh(hessian)[:, -1]
        relative.append(np.where(diverged, np.nan, rate * largest / 2))
        trace.append(np.trace(hessian, axis1=1, axis2=2))
        terms.append(of.terms(weights))
        solved.append(coefficients(weights, x, solved=True).terms(weights).sum(axis=1))
        weights = weights - rate * gradient
    courses = (np.swapaxes(course, 0, 1) for course in (relative, trace, terms, solved))
    rows = [_measured(*row) for row in zip(*courses, strict=True)]
    return stacked(rows)


def _measured(
    relative: np.ndarray, trace: np.ndarray, terms: np.ndarray, solved: np.ndarray
) -> Arrays:
    """What :func:`at_the_edge` says of one training, from its course over the steps."""
    peak = np.array(relative.max())  # NaN if one of them is
    edge = slice(int(np.argmax(relative >= 1)), None) if peak >= 1 else slice(0, 0)
    if len(relative[edge]) < 4:
        names = ("mean", "reversals", "trace", "half_width", "solved")
        unknown = dict.fromkeys(names, np.array(np.nan))
        return {"peak": peak, **unknown, "terms": np.full(len(TERMS), np.nan)}
    changes = np.diff(relative[edge])
    half_width = np.sqrt(terms.sum(axis=1).clip(min=0))
    of_terms, of_solved = shares_of_half_width(terms[edge], solved[edge])
    return {
        "peak": peak,
        "mean": np.array(relative[edge].mean()),
        "reversals": np.mean(changes[1:] * changes[:-1] < 0, keepdims=True)[0],
        "trace": np.array(statistics.correlation(changes, np.diff(trace[edge]))),
        "half_width": np.array(statistics.correlation(changes, np.diff(half_width[edge]))),
        "terms": of_terms,
        "solved": of_solved,
    }


class Coefficients(NamedTuple):
    """What gradient and Hessian of a reversal depend on, ``(N,)`` each.

    Source: singh2026cracking, section 3.3; γ is the derivative of the loss by ⟨w_Q, w_K⟩, too.
    """

    by_value: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray
    zeta: np.ndarray

    def terms(self, weights: np.ndarray) -> np.ndarray:
        """The four terms ``(N, 4)`` of 9ξ²/4, see ``TERMS``; equation (121), norms squared."""
        query, key = np.split(weights[:, 1:], 2, axis=1)
        norms, inner = (query**2 + key**2).sum(axis=1), (query * key).sum(axis=1)
        trace = self.alpha + self.zeta * norms
        mixed = self.beta**2 - self.alpha * self.zeta
        parts = 3 * self.gamma**2, 6 * self.zeta * self.gamma * inner, 3 * mixed * norms, trace**2
        return np.stack(parts, axis=1)


def coefficients(weights: np.ndarray, x: np.ndarray, *, solved: bool = False) -> Coefficients:
    """The coefficients of half the mean squared error of a reversal, or of targets that are met.

    Args:
        weights: w_V, w_Q and w_K ``(N, p)``, p = 1 + 2 d_K.
        x: one sequence each ``(N, length)``; the target is the same backwards.
        solved: take the outputs themselves as targets, which leaves no residual.
    """
    value, (query, key) = weights[:, 0], np.split(weights[:, 1:], 2, axis=1)
    tokens = torch.from_numpy(x)[:, None]
    mean = cf.attention_moments(query, key, tokens).m_1
    outputs = torch.from_numpy(value)[:, None, None] * mean
    targets = outputs if solved else tokens.flip(-1)
    numbers = cf.attention_coefficients(value, query, key, tokens, targets)
    by_value = ((outputs - targets) * mean).mean((-2, -1))
    return Coefficients(*(number.numpy() for number in (by_value, *numbers)))


def sequence_derivatives(of: Coefficients, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient ``(N, p)`` and Hessian ``(N, p, p)`` of half the mean squared error of a reversal.

    Args:
        of: what they depend on.
        weights: w_V, w_Q and w_K ``(N, p)``, p = 1 + 2 d_K.
    """
    query, key = np.split(weights[:, 1:], 2, axis=1)
    other = np.concatenate([key, query], axis=1)  # the derivative of ⟨w_Q, w_K⟩
    gradient = np.column_stack([of.by_value, of.gamma[:, None] * other])
    hessian = np.zeros((*weights.shape, weights.shape[1]))
    hessian[:, 0, 0] = of.alpha
    hessian[:, 0, 1:] = hessian[:, 1:, 0] = of.beta[:, None] * other
    swap = np.kron([[0.0, 1.0], [1.0, 0.0]], np.eye(query.shape[1]))
    outer = other[:, :, None] * other[:, None, :]
    hessian[:, 1:, 1:] = of.zeta[:, None, None] * outer + of.gamma[:, None, None] * swap
    return gradient, hessian


def _at_step(value: Tensor, query: Tensor, key: Tensor, x: Tensor, y: Tensor) -> Arrays:
    """The closed form of one network."""
    spectrum = cf.self_attention(value, query, key, x, y)
    coefficients = cf.attention_coefficients(value, query, key, x, y)
    moments = cf.attention_moments(query, key, x)
    bounds = cf.attention_largest_eigenvalue_bounds(coefficients, query, key)
    squared_norms = query @ query + key @ key
    measured = dict(zip(WEIGHTS, (value, query, key), strict=True)) | moments._asdict()
    measured["residual"] = value * moments.m_1 - y
    arrays = spectrum.arrays() | {
        "sharpness": spectrum.eigenvalues[-1].numpy(),
        "trace": (coefficients.alpha + coefficients.zeta * squared_norms).numpy(),
        "half_width": cf.attention_cubic(coefficients, query, key).half_width().numpy(),
        "lower": bounds.lower.numpy(),
        "upper": bounds.upper.numpy(),
        "alignment": (query @ key).numpy(),
    }
    return arrays | {f"norm/{name}": values.norm().numpy() for name, values in measured.items()}


def numerics(config: Config, networks: Arrays) -> Arrays:
    """The spectrum of the automatically differentiated Hessian at some of the recorded steps.

    Returns:
        ``step`` (s,) and ``eigenvalues`` (s, 2 d_K + 1), ascending.
    """
    x, y = torch.from_numpy(networks["x"]), torch.from_numpy(networks["y"])
    steps = networks["step"][:: config.numeric_every]
    weights = (torch.from_numpy(networks[name][steps]) for name in WEIGHTS)
    # Without a check of its own: small weights have a Hessian so much smaller than what cancels in
    # the gradient that differences of it are rounding.
    rows = [
        numeric_spectrum(SelfAttention(*row), x, y, per="element", check=False)
        for row in zip(*weights, strict=True)
    ]
    return {"step": steps, "eigenvalues": np.array(rows)}
