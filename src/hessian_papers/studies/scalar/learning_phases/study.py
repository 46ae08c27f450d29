"""Signs of the outlier pair in the three phases of learning (singh2026cracking, appendix C)."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Count, Positive, PositiveNumbers, Range
from hessian_papers.data.base import ONE_FEATURE
from hessian_papers.data.tools.pairs import inputs_and_targets
from hessian_papers.labelled import Variable, Variables, assembled, data_set
from hessian_papers.results import stacked
from hessian_papers.studies import spectra
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.scalar.learning_phases.heads import learning
from hessian_papers.studies.scalar.outliers import course, outliers
from hessian_papers.studies.training import Dense, numeric_spectrum
from hessian_spectra import closed_form as cf
from hessian_spectra.models import TwoLayerLinear
from hessian_spectra.seeding import generator
from hessian_spectra.validation import LARGEST_SCALE, SMALLEST_SCALE


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study of the phases of learning.

    Args:
        instances: number of networks with a positive, and again with a negative solution θ*.
        without_signal: number of networks with θ* = 0.
        width: number of hidden units m.
        solution: range of the size of θ*.
        ratio: range of t = ⟨w, v⟩ / θ*.
        weight_scale: range of the standard deviation of the weights.
        heads: K, the number of outputs of networks that are trained, each of a θ* of its own.
        head_draws: how many of these there are, at each scale.
        head_scales: standard deviations of their initial weights.
        head_rate: their learning rate.
        head_steps: number of updates.
        variance_ratios: by what factor the variance of the first of K input coordinates exceeds
            that of the others, in as many networks at initialisation.
    """

    takes = ONE_FEATURE

    instances: Count
    without_signal: Annotated[int, AtLeast(0)]
    width: Annotated[Count, Dense(2)]
    solution: Annotated[list[float], Range(SMALLEST_SCALE, LARGEST_SCALE)]
    ratio: Annotated[list[float], Range(-LARGEST_SCALE, LARGEST_SCALE)]
    weight_scale: Annotated[list[float], Range(SMALLEST_SCALE, LARGEST_SCALE)]
    heads: Annotated[int, AtLeast(2)]
    head_draws: Annotated[int, AtLeast(2)]
    head_scales: PositiveNumbers
    head_rate: Positive
    head_steps: Count
    variance_ratios: PositiveNumbers


@dataclass(frozen=True)
class Instances:
    """Random networks and targets, each with its own solution.

    Args:
        x: ``(n,)`` inputs, common to all.
        y: ``(k, n)`` targets.
        v: ``(k, m)`` weights of the first layer.
        w: ``(k, m)`` weights of the second layer.
        solution: ``(k,)`` θ* = E[yx] / E[x²].
    """

    x: Tensor
    y: Tensor
    v: Tensor
    w: Tensor
    solution: Tensor


def _uniform(bounds: list[float], count: int, draws: torch.Generator) -> Tensor:
    unit = torch.rand(count, generator=draws, dtype=torch.float64)
    return bounds[0] + (bounds[1] - bounds[0]) * unit


def instances(config: Config, data: xr.Dataset) -> Instances:
    """Networks in all phases, for positive, negative and vanishing solutions.

    Targets are θ* x plus the part of the data set's targets that no linear function of x explains,
    so that the loss stays above zero. Weights are Gaussian; then v is moved along w until ⟨w, v⟩
    has its value (t θ*, or one as large without a signal), which leaves them random otherwise.
    """
    x, y = inputs_and_targets(data)
    unexplained = y - x * torch.dot(x, y) / torch.dot(x, x)
    total = 2 * config.instances + config.without_signal
    draws = generator(config.seed, "targets")
    size = _uniform(config.solution, total, draws)
    sign = torch.ones(total, dtype=torch.float64)
    sign[config.instances :] = -1
    solution = sign * size
    alignment = solution * _uniform(config.ratio, total, draws)
    solution[2 * config.instances :] = 0

    draws = generator(config.seed, "weights")
    logarithms = [math.log(bound) for bound in config.weight_scale]
    scale = _uniform(logarithms, total, draws).exp()
    v, w = scale[:, None] * torch.randn(
        2, total, config.width, generator=draws, dtype=torch.float64
    )
    missing = alignment - (v * w).sum(dim=1)
    v = v + (missing / w.square().sum(dim=1))[:, None] * w
    return Instances(x, solution[:, None] * x + unexplained, v, w, solution)


VARIABLES: Variables = {
    **spectra.variables("network"),
    "trace": Variable("network", "trace of the Hessian"),
    "phase": Variable("network", "phase of learning: early, late or divergent"),
    "solution": Variable("network", "θ* = E[yx] / E[x²]"),
    "alignment": Variable("network", "⟨w, v⟩"),
    "second_moment": Variable("", "E[x²]"),
    "head_scale": Variable("head_scale", "standard deviation of the heads' initial weights"),
    "learned": Variable("head_scale draw head", "step from which on it has learned; -1 for never"),
    "reached_zero": Variable("head_scale draw head", "the same for its small outlier at zero"),
    "retarded": Variable(
        "head_scale draw",
        "λ₂/λ₁ of the head that learns last when the first one has learned; NaN if one never does",
    ),
    "variance_ratio": Variable(
        "variance_ratio", "variance of the first coordinate over the others'"
    ),
    "leads": Variable("variance_ratio draw", "whether it has the largest eigenvalue"),
}


def _parts(config: Config, of: str) -> tuple[np.ndarray, np.ndarray]:
    """Solutions ``(N, K)`` and normal weights ``(N, K, 2, m)`` of networks of several parts."""
    size = config.head_draws, config.heads
    draws = generator(config.seed, f"targets of {of}")
    targets = _uniform(config.solution, math.prod(size), draws).reshape(size)
    signs = torch.randint(0, 2, size, generator=draws) * 2 - 1
    draws = generator(config.seed, f"weights of {of}")
    normal = torch.randn(*size, 2, config.width, generator=draws, dtype=torch.float64)
    return (signs * targets).numpy(), normal.numpy()


def coordinates(config: Config) -> xr.Dataset:
    """Networks of decorrelated inputs at initialisation, by Corollary B.1: which input leads.

    Each coordinate has a θ* of its own. Its large outlier, the largest of its eigenvalues in
    magnitude, is its variance times that of the same network on inputs of variance 1.
    """
    solutions, normal = _parts(config, "coordinates")
    large = outliers(normal / math.sqrt(config.width), 1.0, solutions).large
    ratios = np.array(config.variance_ratios, dtype=float)
    leads = ratios[:, None] * large[:, 0] > large[:, 1:].max(axis=1)
    return data_set({"variance_ratio": ratios, "leads": leads}, VARIABLES)


def heads(config: Config, second_moment: float) -> xr.Dataset:
    """Networks with several heads in training, by Corollary B.2; see :func:`.heads.learning`."""
    solutions, normal = _parts(config, "heads")
    moment = second_moment * solutions
    settings: dict[str, Any] = {"rate": config.head_rate, "steps": config.head_steps}
    parts = [
        {
            "head_scale": np.array(scale),
            **learning(course(scale * normal, second_moment, moment, **settings), moment),
        }
        for scale in map(float, config.head_scales)
    ]
    return assembled(parts, VARIABLES, ["head_scale"])


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The outlier pair, the trace and the phase of every network, and the heads in training."""
    drawn = instances(config, samples)
    rows = [
        spectra.of_closed_form(cf.two_layer_linear(w, v, drawn.x, y).arrays())
        for y, v, w in zip(drawn.y, drawn.v, drawn.w, strict=True)
    ]
    second_moment = drawn.x.square().mean()
    alignment = (drawn.v * drawn.w).sum(dim=1)
    phase = [
        cf.learning_phase(inner, second_moment, second_moment * solution)
        for inner, solution in zip(alignment, drawn.solution, strict=True)
    ]
    arrays = {
        **stacked(rows),
        "trace": second_moment * (drawn.v.square() + drawn.w.square()).sum(dim=1),
        "phase": phase,
        "solution": drawn.solution,
        "alignment": alignment,
        "second_moment": second_moment,
    }
    parts = [heads(config, float(second_moment)), coordinates(config)]
    return xr.merge([data_set(arrays, VARIABLES), *parts])


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The spectra of the automatically differentiated Hessians of the same networks."""
    drawn = instances(config, samples)
    rows = [
        numeric_spectrum(TwoLayerLinear(v, w), drawn.x, y)
        for y, v, w in zip(drawn.y, drawn.v, drawn.w, strict=True)
    ]
    return data_set({"numerical": rows}, VARIABLES)
