"""A multi-input linear network trained on correlated data (singh2026cracking, Corollary B.1)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, MultiInputLinear
from hessian_spectra.results import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.studies.base import DataStudyConfig
from hessian_spectra.training import gradient_descent
from hessian_spectra.validation import require
from hessian_spectra.work import KEEPS_NOTHING, Run


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the multi-input training study.

    Args:
        width: number of hidden units m for each input coordinate.
        initial_scale: norm of the initial v_d and w_d, roughly: they are Gaussian with this over
            √m as standard deviation.
        learning_rate: step size of gradient descent.
        steps: number of updates.
        record_every: distance of the steps at which the closed form is evaluated.
        numeric_every: every how many of these the numerical spectrum is computed.
    """

    width: int
    initial_scale: float
    learning_rate: float
    steps: int
    record_every: int
    numeric_every: int

    def __post_init__(self) -> None:
        for name in ("width", "steps", "record_every", "numeric_every"):
            value = getattr(self, name)
            require(value >= 1, name, "at least 1", value)
        for name in ("initial_scale", "learning_rate"):
            value = getattr(self, name)
            require(value > 0, name, "a positive number", value)


def train(config: Config, data: Arrays, run: Run = KEEPS_NOTHING) -> Arrays:
    """Gradient descent on the half mean squared error.

    Returns:
        ``x`` (n, D), ``y`` (n,), ``step`` (r,), ``loss`` (r,), ``v`` and ``w`` (r, D, m), and
        ``diverged_at`` (-1 for never).

    Raises:
        ValueError: the data set has a single feature without an axis of its own.
    """
    x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
    require(x.ndim == 2, "data", "a data set with several features per sample", config.data)
    draws = generator(config.seed, "weights")
    v, w = (
        config.initial_scale
        / math.sqrt(config.width)
        * torch.randn(2, x.shape[1], config.width, generator=draws, dtype=torch.float64)
    )
    trajectory = gradient_descent(
        MultiInputLinear(v, w),
        HalfSquaredError(),
        x,
        y,
        learning_rate=config.learning_rate,
        steps=config.steps,
        record_every=config.record_every,
        log=run.log,
    )
    # The parameters alternate: v_1, w_1, v_2, w_2, ...
    rows = torch.stack(list(trajectory.parameters.values()), dim=1)
    return {
        "x": data["x"],
        "y": data["y"],
        "step": trajectory.steps.numpy(),
        "loss": trajectory.losses.numpy(),
        "v": rows[:, 0::2].numpy(),
        "w": rows[:, 1::2].numpy(),
        "diverged_at": np.array(-1 if trajectory.diverged_at is None else trajectory.diverged_at),
    }


def _weights(networks: Arrays, every: int = 1) -> Iterator[tuple[Tensor, Tensor]]:
    v, w = (torch.from_numpy(networks[key][::every]) for key in ("v", "w"))
    return zip(v, w, strict=True)


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """All eigenvalues at each recorded step, for the correlated inputs and as if they were not.

    Returns:
        ``step``, ``loss`` (r,); ``eigenvalues`` (r, 2mD) ascending by the form for correlated
        inputs, with ``kind`` and ``cell`` of each; ``decorrelated`` (r, 2mD), what Corollary B.1
        gives when the correlations are ignored; ``covariance`` (D, D), E[x xᵀ]; ``diverged_at``.
    """
    x, y = torch.from_numpy(networks["x"]), torch.from_numpy(networks["y"])
    rows = []
    for v, w in _weights(networks):
        coordinates = [
            cf.two_layer_linear(w[d], v[d], x[:, d], y).eigenvalues for d in range(len(w))
        ]
        ignoring = torch.cat(coordinates).sort().values.numpy()
        rows.append({**cf.multi_input(w, v, x, y).arrays(), "decorrelated": ignoring})
    return {
        "step": networks["step"],
        "loss": networks["loss"],
        **{key: np.array([row[key] for row in rows]) for key in rows[0]},
        "covariance": (x.T @ x / len(x)).numpy(),
        "diverged_at": networks["diverged_at"],
    }


def numerics(config: Config, networks: Arrays) -> Arrays:
    """The spectrum of the automatically differentiated Hessian at some of the recorded steps.

    Returns:
        ``step`` (s,) and ``eigenvalues`` (s, 2mD), ascending.
    """
    x, y = torch.from_numpy(networks["x"]), torch.from_numpy(networks["y"])
    rows = []
    for v, w in _weights(networks, config.numeric_every):
        problem = cv.Problem(MultiInputLinear(v, w), HalfSquaredError(), [(x, y)])
        rows.append(cv.dense_spectrum(cv.hessian(problem)).eigenvalues.numpy())
    return {"step": networks["step"][:: config.numeric_every], "eigenvalues": np.array(rows)}
