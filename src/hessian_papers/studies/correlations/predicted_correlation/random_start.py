"""Correlations at initialisation from the configuration alone, by laws of a random start.

Two laws are formulas, for white inputs and for the edge of the spectrum under sampled ones. Two are
simulated: random matrices and teachers are drawn with seeds of the study's own, and no network of
the ensemble is read.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from hessian_papers.models.parametrisation import draw, parametrise
from hessian_papers.models.teacher import teacher_data
from hessian_papers.networks.multilayer import gauss_newton
from hessian_spectra import closed_form as cf
from hessian_spectra import statistics
from hessian_spectra.curvature.ensemble import (
    SecondMoments,
    ensemble_sharpness,
    ensemble_weight_statistics,
)

# For white inputs; for the edge under sampled ones; simulated, of the Gauss-Newton matrix, which
# is a problem of the inputs' size alone, and of the Hessian, with the teacher's residual.
LAWS = ("white", "edge", "Gauss-Newton", "Hessian")
# Relative residual of the simulated sharpness: its correlations have errors a hundred times larger.
TOLERANCE = 1e-4


class Point(NamedTuple):
    """A configuration of two-layer networks and their data.

    Attributes:
        name: the parametrisation.
        size: D = K.
        width: m.
        samples: n.
        noise_variance: of the teacher's outputs.
    """

    name: str
    size: int
    width: int
    samples: int
    noise_variance: float

    @property
    def layers(self) -> tuple[int, int, int]:
        """The numbers of inputs, hidden units and outputs."""
        return self.size, self.width, self.size


def closed_laws(point: Point) -> np.ndarray:
    """The first two of :data:`LAWS`, ``(2, 2, 3)`` by law, layer and norm."""
    scales = parametrise(point.name, point.layers)
    # Both multipliers are before each layer's term of the Gauss-Newton matrix.
    common = float(np.prod(scales.multipliers)) ** 2
    first, last = (deviation**2 * common for deviation in scales.standard_deviations)
    sizes = point.size, point.size, point.width
    levels = (torch.arange(point.size, dtype=torch.float64) + 0.5) / point.size
    moments = cf.marchenko_pastur_quantile(levels, point.size / point.samples)
    rows = [cf.initial_norm_correlations(*sizes, first, last, each) for each in (None, moments)]
    return torch.stack(rows).numpy()


def simulated_laws(point: Point, seed: int, teachers: int, networks: int) -> np.ndarray:
    """The last two of :data:`LAWS`, ``(teachers, 2, 2, 3)``: r over draws of each teacher's law."""
    return np.stack([_of_a_teacher(point, seed, number, networks) for number in range(teachers)])


def _of_a_teacher(point: Point, seed: int, number: int, networks: int) -> np.ndarray:
    size, noise = point.size, point.noise_variance
    x, y = teacher_data(point.samples, size, size, "linear", seed, noise, number)
    numbers = range(number * networks, (number + 1) * networks)
    ensemble, data = draw(point.name, point.layers, "linear", seed, numbers), SecondMoments.of(x, y)
    norms = ensemble_weight_statistics(ensemble).norms.numpy() ** 2
    targets = [
        gauss_newton(ensemble, data.sxx),
        ensemble_sharpness(ensemble, data, tol=TOLERANCE).values,
    ]
    rows = np.stack([target.numpy() for target in targets])
    squares = np.broadcast_to(norms.reshape(networks, -1), (len(rows), networks, 6))
    return statistics.correlations(rows, squares).reshape(-1, 2, norms.shape[-1])


def predicted(
    points: Sequence[Point], seed: int, teachers: int, networks: int
) -> tuple[np.ndarray, np.ndarray]:
    """The r of each point by each law, and standard errors, which formulas have none of.

    Returns:
        Both ``(points, 2, 3, 4)``, by layer, norm and law.
    """
    closed = np.stack([closed_laws(point) for point in points])
    draws = np.stack([simulated_laws(point, seed, teachers, networks) for point in points])
    mean, error = draws.mean(axis=1), draws.std(axis=1, ddof=1) / teachers**0.5
    values = np.concatenate([closed, mean], axis=1)
    errors = np.concatenate([np.zeros_like(closed), error], axis=1)
    return np.moveaxis(values, 1, -1), np.moveaxis(errors, 1, -1)
