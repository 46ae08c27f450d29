"""Progressive sharpening and the edge of stability in self-attention."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.data.base import SCALAR_TOKENS
from hessian_spectra.models import HalfSquaredError, SelfAttention
from hessian_spectra.results import Arrays, stacked
from hessian_spectra.seeding import generator
from hessian_spectra.studies.training import (
    TrainingConfig,
    numeric_spectrum,
    recorded,
    require_dense,
)
from hessian_spectra.training import gradient_descent
from hessian_spectra.validation import require_at_least
from hessian_spectra.work import KEEPS_NOTHING, Run

WEIGHTS = ("w_value", "w_query", "w_key")


@dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    """Settings of the edge-of-stability study, which records every step.

    At the edge the weights oscillate with period 2: an odd ``numeric_every`` sees both phases.

    Args:
        key_dimension: d_K, the length of w_Q and w_K.
    """

    takes = SCALAR_TOKENS

    key_dimension: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(1, self, "key_dimension")
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
        ``alignment`` (r,) ⟨w_Q, w_K⟩.
    """
    x, y = torch.from_numpy(networks["x"]), torch.from_numpy(networks["y"])
    values, queries, keys = (torch.from_numpy(networks[name]) for name in WEIGHTS)
    rows = [
        _at_step(value, query, key, x, y)
        for value, query, key in zip(values, queries, keys, strict=True)
    ]
    kept = ("step", "loss", "learning_rate", "diverged_at")
    return stacked(rows) | {key: networks[key] for key in kept}


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
