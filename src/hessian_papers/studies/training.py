"""Studies of a network in training share their settings, the start, and the record of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from hessian_papers.constraints import Constraint, Count, Positive, Scale
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.training.descent import Measure, Record, Trajectory
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.progress import LOGGED_EPOCHS
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require


def Dense(parameters: int, besides: int = 0) -> Constraint:  # noqa: N802
    """A number of units with so many parameters each of which a whole spectrum is taken."""
    most = (cv.DENSE_LIMIT - besides) // parameters
    return Constraint(f"at most {most} for the whole spectrum", lambda units: units <= most)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(DataStudyConfig):
    """Settings of a training whose closed form is compared with numbers at some of its steps.

    Args:
        initial_scale: standard deviation of the initial weights; of two layers of ``m`` hidden
            units that over √m, so that it is roughly the norm of each.
        learning_rate: step size of gradient descent.
        steps: number of updates.
        numeric_every: every how many of the recorded steps the numerical spectrum is computed.
    """

    initial_scale: Scale
    learning_rate: Positive
    steps: Count
    numeric_every: Count


@dataclass(frozen=True, kw_only=True)
class HiddenLayerConfig(TrainingConfig):
    """The configuration of a network with one hidden layer, for each input.

    Args:
        width: number of hidden units m.
        record_every: distance of the steps at which the closed form is evaluated.
    """

    width: Annotated[Count, Dense(2)]
    record_every: Count

    def initial_weights(self, *inputs: int, scale: float | None = None) -> Tensor:
        """V and w, Gaussian with the initial scale over √m as standard deviation.

        Args:
            inputs: their number D; nothing for a network of one input.
            scale: another initial scale: the same draw, rescaled.

        Returns:
            ``(2, m)`` or ``(2, D, m)`` float64.
        """
        scale = self.initial_scale if scale is None else scale
        draws = generator(self.seed, "weights")
        normal = torch.randn(2, *inputs, self.width, generator=draws, dtype=torch.float64)
        return scale / math.sqrt(self.width) * normal


def require_dense(parameters: int, field: str) -> None:
    """Refuse a setting that makes networks too large for a whole numerical spectrum."""
    expected = f"at most {cv.DENSE_LIMIT} parameters for the whole spectrum"
    require(parameters <= cv.DENSE_LIMIT, field, expected, parameters)


def curvature_shown(spectrum: Callable[..., Spectrum], x: Tensor, y: Tensor, steps: int) -> Measure:
    """Sharpness and trace by a closed form, at some hundred steps, for who watches a training.

    Args:
        spectrum: a network's closed form of its parameters, ``x`` and ``y``.
        x: the inputs.
        y: the targets.
        steps: how many there will be.

    Returns:
        What ``follow`` takes: ``sharpness``, the largest eigenvalue, and ``trace``, their sum.
    """
    every = max(steps // LOGGED_EPOCHS, 1)
    ahead = 0

    def measure(record: Record) -> dict[str, float]:
        nonlocal ahead
        if record.step < ahead:
            return {}
        ahead = record.step + every
        eigenvalues = spectrum(*record.parameters.values(), x, y).eigenvalues
        return {"sharpness": float(eigenvalues.max()), "trace": float(eigenvalues.sum())}

    return measure


def recorded(trajectory: Trajectory) -> Arrays:
    """The record that a study keeps of a training.

    Returns:
        ``step`` and ``loss`` ``(r,)``, ``diverged_at`` (-1 for never), and each parameter by its
        name, ``(r, ...)``.
    """
    diverged_at = -1 if trajectory.diverged_at is None else trajectory.diverged_at
    return {
        "step": trajectory.steps.numpy(),
        "loss": trajectory.losses.numpy(),
        "diverged_at": np.array(diverged_at),
        **{name: values.numpy() for name, values in trajectory.parameters.items()},
    }


def numeric_spectrum(
    model: nn.Module, x: Tensor, y: Tensor, per: str = "sample", check: bool = True
) -> np.ndarray:
    """All eigenvalues of the automatically differentiated Hessian, ascending, ``(p,)``.

    Args:
        model: the network.
        x: its inputs.
        y: the targets.
        per: what half the squared error is averaged over, ``sample`` or ``element``.
        check: whether the Hessian checks itself, see :func:`hessian_spectra.curvature.hessian`.
    """
    problem = cv.Problem(model, HalfSquaredError(per), [(x, y)])
    return cv.dense_spectrum(
        cv.hessian(problem, check="once" if check else False)
    ).eigenvalues.numpy()
