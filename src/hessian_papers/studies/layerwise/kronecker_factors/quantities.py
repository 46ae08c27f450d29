"""Measurements of one layer: its Gauss-Newton matrix beside the products of several factors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import AtLeast, Each, Once
from hessian_papers.results import stacked
from hessian_papers.studies.layerwise.ensembles import EigenpairMeasurement, top_of
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator

# The residual of a norm, and of a step, relative to what it is of.
ROUGH, SOLVED = 1e-3, 1e-6


# Factors of a layer, and those of them whose eigenvectors are kept alone.
FACTORS: tuple[cv.FactorKind, ...] = ("expand", "reduce", "weighted", "nearest")
CORRECTED: Mapping[str, cv.FactorKind] = {
    "expand, corrected": "expand",
    "weighted, corrected": "weighted",
}
FORMS = (*FACTORS, *CORRECTED)
Dampings = Each("one or more numbers from 1e-6 to 1", lambda damping: 1e-6 <= damping <= 1)


@dataclass(frozen=True, kw_only=True)
class FactorMeasurement(EigenpairMeasurement):
    """The settings that the measurement of a network depends on.

    Args:
        top: the space of so many top eigenvectors is compared, as many as a layer has.
        probes: random vectors of the Frobenius norms.
        dampings: what is added to all eigenvalues before a step, over the largest one.
    """

    top: Annotated[int, AtLeast(1)]
    probes: Annotated[int, AtLeast(2)]
    dampings: Annotated[list[float], Once(), Dampings]


def measured(
    layer: cv.Layerwise, gradient: Tensor, *, convolution: bool, settings: FactorMeasurement
) -> Arrays:
    """The matrix of a layer beside all forms.

    Args:
        layer: of a piecewise linear network, whose Hessian is its Gauss-Newton matrix H.
        convolution: whether it has several positions; else "reduce" is "expand", and left out.
        gradient: of the loss by the layer's weight, row by row, ``(m d,)``.
        settings: the rest.

    Returns:
        With f forms K, t the ``top`` and the dampings δ: ``spectral (f,)``, ``‖K − H‖ / ‖H‖``, and
        ``frobenius (f,)``, estimated; ``overlap (f, t)`` of the first k eigenvectors, NaN beyond
        those that there are; ``step_error (f, δ)``, how far ``(K + δ)⁻¹ g`` is from ``(H + δ)⁻¹ g``
        relative to this; ``decrease (f, δ)`` of the damped parabola along the step at its best
        length, relative to that of the exact step, and ``plain_decrease (δ)`` along the gradient;
        ``largest``, the largest eigenvalue of H, and the ``residual`` of its top.
    """
    matrix, k = layer.gauss_newton, min(settings.top, int(np.prod(layer.shape)))
    top = top_of(matrix, k, tol=settings.tolerance, seed=settings.seed)
    largest = float(top.values[0])
    if not largest > 0:
        # Where all units are off, or the loss is 0, nothing is near or far.
        numbers = {"largest": np.array(largest), "residual": np.array(np.nan)}
        plain = {"plain_decrease": np.full(len(settings.dampings), np.nan)}
        return stacked([_nothing(settings)] * len(FORMS)) | plain | numbers
    probes = _probes(matrix, settings)
    images = matrix @ probes
    steps = [_Step.exact(matrix, gradient, damping * largest) for damping in settings.dampings]
    rows: list[Arrays] = []
    for product in _products(layer, convolution=convolution):
        if product is None:
            rows.append(_nothing(settings))
            continue
        directions = [product.damped_inverse(step.damping) @ gradient for step in steps]
        pairs = list(zip(steps, directions, strict=True))
        rows.append(
            {
                "spectral": np.array(_norm(product - matrix, settings) / largest),
                "frobenius": np.array(float((product @ probes - images).norm() / images.norm())),
                "overlap": _overlaps(top.vectors, product, settings.top),
                "step_error": np.array([step.error(direction) for step, direction in pairs]),
                "decrease": np.array([step.decrease(direction) for step, direction in pairs]),
            }
        )
    return {
        **stacked(rows),
        "plain_decrease": np.array([step.decrease(gradient) for step in steps]),
        "largest": np.array(largest),
        "residual": np.array(float(top.residuals.max())),
    }


def _nothing(settings: FactorMeasurement) -> Arrays:
    """The numbers of a form that is not measured."""
    shapes: dict[str, tuple[int, ...]] = {"spectral": (), "frobenius": ()}
    shapes |= {"overlap": (settings.top,)}
    shapes |= dict.fromkeys(("step_error", "decrease"), (len(settings.dampings),))
    return {name: np.full(shape, np.nan) for name, shape in shapes.items()}


def _products(layer: cv.Layerwise, *, convolution: bool) -> Iterator[cv.EigenbasisOperator | None]:
    """The matrix of each of the :data:`FORMS`."""
    bases: dict[str, cv.EigenbasisOperator] = {}
    for factors in FACTORS:
        if factors == "reduce" and not convolution:
            yield None
            continue
        bases[factors] = layer.eigenbasis(factors)
        yield bases[factors]
    yield from (layer.corrected(bases[factors]) for factors in CORRECTED.values())


class _Step(NamedTuple):
    """The step ``(H + δ)⁻¹ g``, which the steps of other matrices are held against."""

    matrix: cv.SymmetricOperator
    gradient: Tensor
    damping: float
    solution: Tensor

    @classmethod
    def exact(cls, matrix: cv.SymmetricOperator, gradient: Tensor, damping: float) -> "_Step":
        """The exact step."""
        inverse = cv.inverse(matrix, damping=damping, tol=SOLVED, max_iterations=20_000)
        return cls(matrix, gradient, damping, inverse @ gradient)

    def error(self, direction: Tensor) -> float:
        """The distance of a step from the exact one, relative to this."""
        return float((direction - self.solution).norm() / self.solution.norm())

    def decrease(self, direction: Tensor) -> float:
        """The decrease at its best length, ``(gᵀs)² / (sᵀ(H + δ)s gᵀ(H + δ)⁻¹g)``, along s.

        By Cauchy and Schwarz it is 1 for the exact step, and less for any other direction.
        """
        image = self.matrix @ direction + self.damping * direction
        along = float(self.gradient @ direction) ** 2
        return along / float(direction @ image) / float(self.gradient @ self.solution)


def _overlaps(vectors: Tensor, product: cv.EigenbasisOperator, top: int) -> np.ndarray:
    k = vectors.shape[1]
    others = product.spectrum(k).eigenvectors().flip(1)
    result = np.full(top, np.nan)
    result[:k] = cv.subspace_overlaps(vectors, others).numpy()
    return result


def _norm(difference: cv.SymmetricOperator, settings: FactorMeasurement) -> float:
    """A spectral norm."""
    worst = top_of(difference, 1, tol=ROUGH, which="largest magnitude", seed=settings.seed)
    return float(worst.values[0].abs())


def _probes(matrix: cv.SymmetricOperator, settings: FactorMeasurement) -> Tensor:
    """Vectors of random signs, as columns."""
    shape, draws = (matrix.shape[0], settings.probes), generator(settings.seed, "probes")
    signs = torch.randint(0, 2, shape, generator=draws, dtype=torch.int8)
    return signs.to(matrix.device, matrix.dtype).mul_(2).sub_(1)
