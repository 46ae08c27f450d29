"""Measurements of one layer: its Hessian beside products of two matrices."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import AtLeast
from hessian_papers.studies.layerwise.ensembles import EigenpairMeasurement, top_of
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator

# The residual of a norm.
ROUGH = 1e-2
# Up to so many weights a matrix is written down.
WRITTEN_DOWN = 300


@dataclass(frozen=True, kw_only=True)
class DecouplingMeasurement(EigenpairMeasurement):
    """The settings that the measurement of a network depends on.

    Args:
        top: eigenpairs of each layer, as many as it has.
        probes: random vectors of the Frobenius norms.
    """

    top: Annotated[int, AtLeast(2)]
    probes: Annotated[int, AtLeast(2)]


def probed(layer: cv.Layerwise, settings: DecouplingMeasurement) -> list[Tensor]:
    """The Hessian's products with the random vectors."""
    return [layer.hessian @ probe for probe in _probes(layer, settings)]


def throughout(
    layer: cv.Layerwise, images: Sequence[Tensor], settings: DecouplingMeasurement
) -> Arrays:
    """The factors' top eigenvalues, and the error of their product.

    Args:
        layer: the layer.
        images: what :func:`probed` gives.
        settings: the rest.

    Returns:
        With t the ``top``, NaN beyond what the layer has: ``output`` and ``input (t,)``, the
        eigenvalues of the factors; ``squares (probes,)`` of a random vector's images, and
        ``missed (probes,)``, those of what the product of the expectations misses of them.
    """
    factors = {"output": layer.output_hessian, "input": layer.input_autocorrelation}
    return {
        **{
            name: _padded(torch.linalg.eigvalsh(factor).flip(0)[: settings.top], settings.top)
            for name, factor in factors.items()
        },
        "squares": np.array([_square(image) for image in images]),
        "missed": np.array([_square(each) for each in _left(layer, images, settings)]),
    }


def whole(layer: cv.Layerwise, settings: DecouplingMeasurement) -> Arrays:
    """The two matrices of a layer, by their eigenpairs and their distance.

    Args:
        layer: the layer.
        settings: the rest.

    Returns:
        With t the ``top``, NaN beyond what the layer has: ``hessian``, ``approximation``,
        ``residual``, ``rank_one``, the largest singular value of each matricised eigenvector over
        its norm, ``along_first``, how much of it lies along the first eigenvector of E[x xᵀ], (t,);
        ``overlap`` of the first k eigenvectors of the Hessian and of the product, for each k, (t,);
        ``output_share`` and ``input_share`` (t, t), by eigenvector of the Hessian how much of it
        lies along each one of a factor; ``spectral``, the norm of the difference over that of the
        Hessian, and its ``spectral_residual``.
    """
    t = settings.top
    k = min(t, math.prod(layer.shape))
    exact = top_of(layer.hessian, k, tol=settings.tolerance, seed=settings.seed)
    vectors, product_ = exact.vectors, layer.kronecker(k)
    shares = {side: layer.correspondence(vectors, side)[:, :t] for side in ("output", "input")}
    entries = {
        "hessian": exact.values,
        "approximation": product_.eigenvalues.flip(0),
        "residual": exact.residuals,
        "rank_one": _largest_singular(layer.matricise(vectors)),
        "along_first": shares["input"][:, 0],
        "overlap": cv.subspace_overlaps(vectors, product_.eigenvectors().flip(1)),
    }
    return {
        **{name: _padded(values, t) for name, values in entries.items()},
        **{f"{side}_share": _padded(share, t, t) for side, share in shares.items()},
        **_spectral(layer, float(exact.values[0]), settings),
    }


def first_input(layer: cv.Layerwise) -> Arrays:
    """The numbers of a layer in Tables 6, 7 and 9, over all images.

    Returns:
        ``mean_aligned``, ``(v₁ · Ê[x])²``, where of several positions Ê[x] is the first left
        singular vector of E[X]; ``spectral_ratio``, ``λ₁/λ₂`` of E[x xᵀ].
    """
    values, vectors = torch.linalg.eigh(layer.input_autocorrelation.double())
    mean = torch.linalg.svd(layer.input_mean.double(), full_matrices=False).U[:, 0]
    ratio = values[-1] / values[-2] if len(values) > 1 else torch.tensor(math.nan)
    return {
        "mean_aligned": np.array(float((vectors[:, -1] @ mean).square())),
        "spectral_ratio": np.array(float(ratio)),
    }


def _largest_singular(matrices: Tensor) -> Tensor:
    """The largest singular value of each ``(k, m, d)`` over its norm, by Gram matrices."""
    if matrices.shape[1] > matrices.shape[2]:
        matrices = matrices.mT
    squares = torch.linalg.eigvalsh(matrices @ matrices.mT)
    return (squares[:, -1] / squares.sum(dim=1)).clamp(0, 1).sqrt()


def _padded(values: Tensor, *shape: int) -> np.ndarray:
    """The values in float32, and NaN where there is nothing."""
    result = np.full(shape, np.nan, dtype=np.float32)
    result[tuple(slice(length) for length in values.shape)] = values.float().cpu().numpy()
    return result


def _probes(layer: cv.Layerwise, settings: DecouplingMeasurement) -> list[Tensor]:
    """Vectors of random signs."""
    draws, matrix = generator(settings.seed, "probes"), layer.hessian
    signs = torch.randint(
        0, 2, (settings.probes, matrix.shape[0]), generator=draws, dtype=torch.int8
    )
    return list(signs.to(matrix.device, matrix.dtype).mul_(2).sub_(1))


def _square(image: Tensor) -> float:
    return float(image.double().square().sum())


def _left(
    layer: cv.Layerwise, images: Sequence[Tensor], settings: DecouplingMeasurement
) -> Iterator[Tensor]:
    """The part of each probe's image that the product misses."""
    for image, probe in zip(images, _probes(layer, settings), strict=True):
        yield image - layer.approximation @ probe


def _spectral(layer: cv.Layerwise, largest: float, settings: DecouplingMeasurement) -> Arrays:
    """The spectral norm of the difference, relative to the Hessian's."""
    difference = layer.hessian - layer.approximation
    size = difference.shape[0]
    if size <= WRITTEN_DOWN:
        # What float32 leaves of two nearly equal matrices is hardly symmetric: no operator.
        left = difference @ torch.eye(size, dtype=difference.dtype, device=difference.device)
        norm = torch.linalg.eigvalsh((left + left.T).double() / 2).abs().max()
        # Tensors, of which the quotient by a Hessian that is zero is no number, and no error.
        return {"spectral": np.array(float(norm / largest)), "spectral_residual": np.array(0.0)}
    worst = top_of(difference, 1, tol=ROUGH, which="largest magnitude", seed=settings.seed)
    return {
        "spectral": np.array(float(worst.values[0].abs().double() / largest)),
        "spectral_residual": np.array(float(worst.residuals[0])),
    }
