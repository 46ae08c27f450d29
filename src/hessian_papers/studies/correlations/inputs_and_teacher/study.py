"""Correlations of the sharpness at initialisation, by the inputs and by the scale of the teacher.

D.3.3 of singh2026cracking argues with white inputs and measures on n samples of D inputs, whose
second moments are not white where D is no small share of n. The scale of its teacher is not named.
Here both are settings: the networks are the same under all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import xarray as xr

from hessian_papers.constraints import AtLeast, Count, Different, DifferentNumbers
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.models import PARAMETRISATIONS, draw, parametrise
from hessian_papers.models.teacher import teacher_data
from hessian_papers.studies.base import StudyConfig
from hessian_papers.studies.correlations.ensembles import NORMS
from hessian_papers.studies.correlations.teachers import INSIDE, of_each_teacher
from hessian_spectra.curvature.ensemble import (
    SecondMoments,
    ensemble_sharpness,
    ensemble_weight_statistics,
)
from hessian_spectra.models import Ensemble

WHITE = "white"
FACTORS = ("first matrix", "second matrix", "alignment")


@dataclass(frozen=True, kw_only=True)
class Config(StudyConfig):
    """Settings of the study.

    Args:
        parametrisations: some of ``sp``, ``mup``, ``ntp``.
        sizes: input and output sizes D = K.
        width: hidden units m.
        samples_per_input: n/D of the inputs that are drawn. White ones, as many as the most of
            these, are measured beside them.
        teacher_scales: standard deviations of the teacher's outputs.
        teachers: teachers T, each with data and networks of its own.
        networks: networks N of each teacher.
        noise_variance: variance of the noise on the teacher's outputs.
        tolerance: relative residual of the sharpness, ‖H v − λ v‖/|λ|.
    """

    parametrisations: Annotated[list[str], Different(tuple(PARAMETRISATIONS))]
    sizes: Annotated[list[int], DifferentNumbers(2)]
    width: Count
    samples_per_input: Annotated[list[int], DifferentNumbers(1)]
    teacher_scales: Annotated[list[float], DifferentNumbers(0)]
    teachers: Annotated[int, AtLeast(2)]
    networks: Annotated[int, AtLeast(3)]
    noise_variance: Annotated[float, AtLeast(0)]
    tolerance: Annotated[float, INSIDE]


VARIABLES: Variables = {
    "parametrisation": Variable("parametrisation", "how weights scale with the width"),
    "size": Variable("size", "D, inputs and outputs of a network"),
    "inputs": Variable("inputs", "samples of each input, n/D, or white"),
    "scale": Variable("scale", "standard deviation of the teacher's outputs"),
    "factor": Variable("factor", "matrix or alignment whose norm is correlated with the sharpness"),
    "norm": Variable("norm", "of that factor"),
    "width": Variable("", "hidden units"),
    "networks": Variable("", "networks of each teacher"),
    "magnitude_ratio": Variable(
        "parametrisation size", "deviation of the first matrix's entries over that of the second's"
    ),
    "correlation": Variable(
        "parametrisation size inputs scale teacher factor norm",
        "Pearson's r with the sharpness over a teacher's networks",
    ),
}


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The magnitude of the first matrix's entries over the second's, by the parametrisation."""
    sizes = sorted(config.sizes)
    deviations = [
        [parametrise(name, (size, config.width, size)).standard_deviations for size in sizes]
        for name in config.parametrisations
    ]
    first, second = np.moveaxis(np.array(deviations), -1, 0)
    labels = {"parametrisation": list(config.parametrisations), "size": sizes}
    return data_set(labels | {"magnitude_ratio": first / second}, VARIABLES)


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The correlations of squared norms and of absolute alignments with the sharpness."""
    scales = sorted(config.teacher_scales)
    sizes, per_input = sorted(config.sizes), sorted(config.samples_per_input)
    points = [
        [_of_point(config, name, size, per_input, scales) for size in sizes]
        for name in config.parametrisations
    ]
    labels = {
        "parametrisation": list(config.parametrisations),
        "size": sizes,
        "inputs": [*map(str, per_input), WHITE],
        "scale": scales,
        "factor": list(FACTORS),
        "norm": list(NORMS),
        "width": config.width,
        "networks": config.networks,
    }
    return data_set(labels | {"correlation": np.array(points).round(12)}, VARIABLES)


def _of_point(
    config: Config, name: str, size: int, per_input: Sequence[int], scales: Sequence[float]
) -> np.ndarray:
    """Correlations ``(inputs, scale, T, factor, norm)`` of one point."""
    values, sharpness = [], []
    for teacher in range(config.teachers):
        numbers = range(teacher * config.networks, (teacher + 1) * config.networks)
        networks = draw(name, (size, config.width, size), "linear", config.seed, numbers)
        statistics = ensemble_weight_statistics(networks)
        alignments = statistics.alignments.abs()[:, None]
        values.append(torch.cat([statistics.norms.square(), alignments], dim=1))
        sharpness.append(_sharpness(config, networks, size, teacher, per_input, scales))
    factors = torch.cat(values)
    target = torch.cat(sharpness, dim=-1).numpy()
    quantities = np.broadcast_to(factors.numpy(), (*target.shape, *factors.shape[1:]))
    teachers = np.repeat(np.arange(config.teachers), config.networks)
    r = of_each_teacher(target, quantities, teachers)
    return np.moveaxis(r, 0, 2)


def _sharpness(
    config: Config,
    networks: Ensemble,
    size: int,
    teacher: int,
    per_input: Sequence[int],
    scales: Sequence[float],
) -> torch.Tensor:
    """The sharpness ``(inputs, scale, N)`` of one teacher's networks."""

    def of_data(number: int, scale: float, *, white: bool) -> torch.Tensor:
        x, y = teacher_data(
            number * size,
            size,
            size,
            "linear",
            config.seed,
            config.noise_variance,
            teacher,
            scale=scale,
            white=white,
        )
        moments = SecondMoments.of(x, y)
        return ensemble_sharpness(networks, moments, tol=config.tolerance).values

    inputs = [(number, False) for number in per_input] + [(per_input[-1], True)]
    rows = [
        torch.stack([of_data(number, scale, white=white) for scale in scales])
        for number, white in inputs
    ]
    return torch.stack(rows)
