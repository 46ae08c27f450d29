"""The whole course of the outlier pair, computed from its start, without a step of training."""

import math

import numpy as np
import torch
from torch import Tensor

from hessian_papers.labelled import Variable, Variables
from hessian_papers.studies.scalar.spectrum_in_training.runs import SEVERAL, Run
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays

_BY = "predicted from the start by a map of two numbers; NaN once a ReLU unit changes its cell"
PREDICTED: Variables = {
    "predicted_large": Variable("run step", f"λ₁, {_BY}"),
    "predicted_small": Variable("run step", f"λ₂, {_BY}"),
    "predicted_bulk": Variable("run step", f"mean of residual times input, {_BY}"),
    "predicted_loss": Variable("run step", f"loss, {_BY}"),
    "predicted_until": Variable("run", "update that first moves a ReLU unit across; -1 for none"),
    "flow_sharpness": Variable("run", "λ₁ where gradient flow ends; NaN but for plain descent"),
    "largest_move": Variable("run", "largest η |δx| of the predicted steps, finite ones alone"),
}


def predicted(run: Run, v: Tensor, w: Tensor, x: Tensor, y: Tensor, steps: int) -> Arrays:
    """The course of a run from its weights at the start, for ReLU cell by cell.

    Returns:
        The variables, those of each step ``(steps + 1,)``; none of them for an optimizer that is no
        map of two numbers, or whose batches and velocity are drawn.
    """
    if run.adam or run.velocity_scale or run.batch_size or run.network == SEVERAL:
        return {}
    relu = run.network == "relu"
    if relu:
        w, v, x = cf.relu_cells(w, v, x)
    path = cf.gradient_descent(
        w,
        v,
        x,
        y,
        run.learning_rate,
        steps,
        momentum=run.momentum,
        nesterov=run.nesterov,
        weight_decay=run.weight_decay,
    )
    kept = path.keeps_signs(w, v).all(-1) if relu else torch.ones(steps + 1, dtype=torch.bool)
    cell = (slice(None), 0) if relu else slice(None)
    slopes, outliers = path.residual_covariance[cell], path.outliers[cell]
    plain = not run.momentum and not run.weight_decay
    at_step = {
        "large": outliers[..., 0],
        "small": outliers[..., 1],
        "bulk": slopes,
        "loss": path.loss,
    }
    end = float(cf.gradient_flow(w, v, x, y).outliers[cell][0, 0]) if plain else math.nan
    return {
        **{f"predicted_{n}": torch.where(kept, a, math.nan).numpy() for n, a in at_step.items()},
        "predicted_until": np.array(-1 if kept.all() else int(kept.int().argmin())),
        "flow_sharpness": np.array(end),
        "largest_move": (run.learning_rate * slopes[kept & slopes.isfinite()].abs().max()).numpy(),
    }
