"""Progressive sharpening and the edge of stability in self-attention."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import Count, PositiveNumbers
from hessian_papers.data.base import SCALAR_TOKENS
from hessian_papers.data.tools.pairs import SEQUENCES, inputs_and_targets
from hessian_papers.labelled import Variable, Variables, assembled, joined
from hessian_papers.results import stacked
from hessian_papers.studies import spectra, trainings
from hessian_papers.studies.training import (
    Dense,
    TrainingConfig,
    curvature_shown,
    numeric_spectrum,
    recorded,
)
from hessian_papers.training.descent import gradient_descent
from hessian_papers.work import TrainingRun, alone
from hessian_spectra import closed_form as cf
from hessian_spectra import statistics
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError, SelfAttention
from hessian_spectra.seeding import generator

WEIGHTS = ("w_value", "w_query", "w_key")
# What 9ξ²/4 is the sum of: 3γ², 6ζγ⟨w_Q, w_K⟩, 3(β² − αζ)(‖w_Q‖² + ‖w_K‖²) and the squared trace.
TERMS = ("residual", "alignment", "norms", "trace")
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

    key_dimension: Annotated[Count, Dense(2, besides=1)]
    draws: Count
    rates: PositiveNumbers


def initial_weights(config: Config) -> tuple[Tensor, Tensor, Tensor]:
    """w_V ``()``, w_Q and w_K ``(d_K,)``, independent normal numbers."""
    d = config.key_dimension
    draws = torch.randn(1 + 2 * d, generator=generator(config.seed, "weights"), dtype=torch.float64)
    value, query, key = (config.initial_scale * draws).split([1, d, d])
    return value.squeeze(0), query, key


def _train(config: Config, data: Arrays, run: TrainingRun) -> Arrays:
    """Gradient descent on half the squared error, averaged over positions and sequences.

    Returns:
        What :data:`TRAINED` declares.

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


VARIABLES: Variables = {
    **trainings.variables(""),
    **spectra.variables("step"),
    "learning_rate": Variable("", "learning rate η of the training"),
    "sharpness": Variable("step", "largest eigenvalue by the closed form"),
    "trace": Variable("step", "trace by the closed form"),
    "half_width": Variable("step", "ξ"),
    "lower": Variable("step", "lower bound on the largest eigenvalue"),
    "upper": Variable("step", "upper bound on the largest eigenvalue"),
    "alignment": Variable("step", "⟨w_Q, w_K⟩"),
    "norm_residual": Variable("step", "norm of all residuals f − y"),
    **{f"norm_m_{k}": Variable("step", f"norm of the moment m_{k}") for k in (1, 2, 3)},
    **{f"norm_{name}": Variable("step", f"norm of {name}") for name in WEIGHTS},
    "rate": Variable("rate", "learning rate η of the draws"),
    "term": Variable("term", "what 9ξ²/4 is the sum of"),
    "draw_peak": Variable("rate draw", "largest sharpness over 2/η, NaN if training diverged"),
    "draw_mean": Variable("rate draw", "mean sharpness over 2/η at the edge"),
    "draw_reversals": Variable("rate draw", "share of its changes that undo the one before"),
    "draw_trace": Variable("rate draw", "correlation of its changes with the trace's"),
    "draw_half_width": Variable("rate draw", "correlation of its changes with those of ξ"),
    "draw_terms": Variable("rate draw term", "share of a term in the changes of ξ²"),
    "draw_solved": Variable("rate draw", "share that is left with targets that are met"),
}

TRAINED: Variables = {
    **SEQUENCES,
    **trainings.variables(""),
    "learning_rate": VARIABLES["learning_rate"],
    "w_value": Variable("step", "w_V"),
    "w_query": Variable("step entry", "w_Q"),
    "w_key": Variable("step entry", "w_K"),
}

train = alone(_train, lambda config: TRAINED)


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """All eigenvalues at each recorded step, and what the bounds on them are made of."""
    x, y = inputs_and_targets(networks)
    kept = {name: networks[name].values for name in ("learning_rate", "diverged_at")}
    columns = (map(np.asarray, networks[name].values) for name in ("step", "loss", *WEIGHTS))
    parts = [
        {"step": step, "loss": loss, **kept} | _at_step(x, y, *map(torch.as_tensor, weights))
        for step, loss, *weights in zip(*columns, strict=True)
    ]
    return joined([assembled(parts, VARIABLES, ["step"]), _draws(config, x.shape[1])])


def _draws(config: Config, length: int) -> xr.Dataset:
    """Trainings on one other sequence each, which is to be reversed."""
    numbers = generator(config.seed, "draws")
    x = torch.randn(config.draws, length, generator=numbers, dtype=torch.float64).numpy()
    parameters = config.draws, 1 + 2 * config.key_dimension
    weights = torch.randn(*parameters, generator=numbers, dtype=torch.float64).numpy()
    start = config.initial_scale * weights
    parts = [
        {"rate": np.array(rate), "term": np.array(TERMS)}
        | at_the_edge(start, x, rate, config.steps)
        for rate in config.rates
    ]
    return assembled(parts, VARIABLES, ["rate"])


def at_the_edge(weights: np.ndarray, x: np.ndarray, rate: float, steps: int) -> Arrays:
    """The way of gradient descent to the edge of stability, on the reversal of one sequence each.

    Args:
        weights: w_V, w_Q and w_K at the start, ``(N, 1 + 2 d_K)``.
        x: the sequences ``(N, length)``.
        rate: the learning rate η.
        steps: number of updates.

    Returns:
        The variables ``draw_...``, from the first step on at which the sharpness is 2/η or more;
        NaN if there are fewer than three changes.
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
    """The entries of :func:`at_the_edge` for one training, from its course over the steps."""
    peak = np.array(relative.max())  # NaN if one of them is
    edge = slice(int(np.argmax(relative >= 1)), None) if peak >= 1 else slice(0, 0)
    if len(relative[edge]) < 4:
        names = ("mean", "reversals", "trace", "half_width", "solved")
        unknown = {f"draw_{name}": np.array(np.nan) for name in names}
        return {"draw_peak": peak, **unknown, "draw_terms": np.full(len(TERMS), np.nan)}
    changes = np.diff(relative[edge])
    half_width = np.sqrt(terms.sum(axis=1).clip(min=0))
    of_terms, of_solved = shares_of_half_width(terms[edge], solved[edge])
    return {
        "draw_peak": peak,
        "draw_mean": np.array(relative[edge].mean()),
        "draw_reversals": np.mean(changes[1:] * changes[:-1] < 0, keepdims=True)[0],
        "draw_trace": np.array(statistics.correlation(changes, np.diff(trace[edge]))),
        "draw_half_width": np.array(statistics.correlation(changes, np.diff(half_width[edge]))),
        "draw_terms": of_terms,
        "draw_solved": of_solved,
    }


def shares_of_half_width(terms: np.ndarray, solved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whose changes the changes of ξ² are, step by step.

    Args:
        terms: of 9ξ²/4, ``(r, 4)``.
        solved: ``(r,)`` the same as their sum, without any residual.

    Returns:
        ``(4,)`` and ``()``: the covariance of a term's changes with those of the sum, over the
        variance of these, so that the four sum to 1; below 0 where a term holds against them. The
        same of ``solved``; 1 less that is the share of the residual.
    """
    changes = np.diff(terms.sum(axis=1))
    size = changes @ changes
    return np.diff(terms, axis=0).T @ changes / size, np.asarray(np.diff(solved) @ changes / size)


class Coefficients(NamedTuple):
    """The numbers that gradient and Hessian of a reversal depend on, ``(N,)`` each.

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


def _at_step(x: Tensor, y: Tensor, value: Tensor, query: Tensor, key: Tensor) -> Arrays:
    """The closed form of one network."""
    spectrum = cf.self_attention(value, query, key, x, y)
    coefficients = cf.attention_coefficients(value, query, key, x, y)
    moments = cf.attention_moments(query, key, x)
    bounds = cf.attention_largest_eigenvalue_bounds(coefficients, query, key)
    squared_norms = query @ query + key @ key
    measured = dict(zip(WEIGHTS, (value, query, key), strict=True)) | moments._asdict()
    measured["residual"] = value * moments.m_1 - y
    arrays = spectra.of_closed_form(spectrum.arrays()) | {
        "sharpness": spectrum.eigenvalues[-1].numpy(),
        "trace": (coefficients.alpha + coefficients.zeta * squared_norms).numpy(),
        "half_width": cf.attention_cubic(coefficients, query, key).half_width().numpy(),
        "lower": bounds.lower.numpy(),
        "upper": bounds.upper.numpy(),
        "alignment": (query @ key).numpy(),
    }
    return arrays | {f"norm_{name}": values.norm().numpy() for name, values in measured.items()}


def numerics(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The spectrum of the automatically differentiated Hessian at some of the recorded steps."""
    x, y = inputs_and_targets(networks)
    parts = [{"step": np.asarray(step)} for step in networks["step"].values]
    for part in parts[:: config.numeric_every]:
        network = networks.sel(step=part["step"])
        value, query, key = (torch.as_tensor(network[name].values) for name in WEIGHTS)
        layer = SelfAttention(value, query, key)
        # Without a check of its own: small weights have a Hessian so much smaller than what cancels
        # in the gradient that differences of it are rounding.
        part["numerical"] = numeric_spectrum(layer, x, y, per="element", check=False)
    return assembled(parts, VARIABLES, ["step"])
