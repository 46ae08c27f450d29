"""The largest Hessian eigenvalue of every network of an ensemble."""

from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.curvature.ensemble.lanczos import largest
from hessian_spectra.curvature.ensemble.moments import Data, SecondMoments, fitted, in_float64
from hessian_spectra.curvature.ensemble.products import Hessians, hessians
from hessian_spectra.matrix_products import fastest_products, full_precision
from hessian_spectra.models.ensemble import Ensemble
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

# On a CPU the vectors of a batch stay in its shared cache; on a GPU many networks keep it busy, and
# some hundred basis vectors of each have to fit.
_VECTOR_BYTES = {True: 2**23, False: 2**27}
_STATE_BYTES = {True: 2**27, False: 2**32}
_STEPS = 400
# Each run starts where the one before ended. The first are in float32, then in float64.
_RUNS = 6
# The relative residual that each run in float32 ends with at the latest: rounding leaves the first
# far below, and others gain some six digits on the one before.
_AIMS = (1e-5, 1e-9, 1e-12)
# What rounding in float64 allows.
_LEAST = 1e-12


@dataclass(frozen=True)
class EnsembleSharpness:
    """The largest Hessian eigenvalue λ of ``N`` networks.

    Args:
        values: ``(N,)`` float64, NaN for a network that has diverged.
        residuals: ``(N,)`` ``‖H v − λ v‖ / |λ|`` for the unit vector ``v`` found, in float64.
        converged: ``(N,)`` the residual is at most the tolerance.
        products: the number of Hessian-vector products.
    """

    values: Tensor
    residuals: Tensor
    converged: Tensor
    products: int


@full_precision()
def ensemble_sharpness(
    ensemble: Ensemble, data: Data, tol: float = 1e-5, seed: int = 0
) -> EnsembleSharpness:
    """The largest (algebraic) Hessian eigenvalue of each network, with the residual it leaves.

    Lanczos for all networks at once in float32, each until its residual is small; then a second
    run from the vector found, whose product is taken in float64, and further ones where that was
    not enough. The residual is computed in float64 from the vector found, at the end.

    Args:
        ensemble: the networks.
        data: second moments for linear networks, else inputs ``(n, D)`` and targets ``(n, K)``.
        tol: relative error asked of the values. The residual bounds the distance to an
            eigenvalue; it is brought down to ``tol / 100``, because a second eigenvalue that nearly
            equals the largest hides it until the residual is much smaller than their distance.
        seed: of the start vector, the same for all networks, so that the value of a network does
            not depend on the others.

    Raises:
        ValueError: ``tol`` is not in (0, 1), no network, or data that do not fit the ensemble.

    Source: singh2026cracking, section 4.2 and D.1.3.

    Example:
        >>> item = Ensemble(weights=(torch.full((1, 1, 1), 2.0), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> sharpness = ensemble_sharpness(item, (torch.ones(1, 1), torch.full((1, 1), 2.0)))
        >>> round(sharpness.values.item(), 9), bool(sharpness.converged)
        (5.0, True)
    """
    require(0 < tol < 1, "tol", "a number in (0, 1)", tol)
    if not ensemble.count:
        raise ValueError("ensemble: expected at least one network, got none")
    data = in_float64(fitted(ensemble, data))
    size = sum(weight[0].numel() for weight in ensemble.weights)
    start = torch.randn(size, generator=generator(seed, "Lanczos start"), dtype=torch.float64)
    with fastest_products() if _has_large_products(ensemble, data) else nullcontext():
        parts = [
            _batch(hessians(ensemble.select(part).to(torch.float64), data), start, tol)
            for part in torch.arange(ensemble.count).split(_batch_size(ensemble, data))
        ]
    return EnsembleSharpness(
        torch.cat([part.values for part in parts]),
        torch.cat([part.residuals for part in parts]),
        torch.cat([part.converged for part in parts]),
        sum(part.products for part in parts),
    )


def _rows(ensemble: Ensemble, data: Data) -> int:
    """The number of rows that the products have for each network."""
    if isinstance(data, SecondMoments):
        return min(ensemble.sizes[0], ensemble.sizes[-1])
    return len(data[0])


def _has_large_products(ensemble: Ensemble, data: Data) -> bool:
    """Whether fast products weigh more than what their calls cost, as measured."""
    return _rows(ensemble, data) >= 32 and min(ensemble.sizes) >= 10


def _batch_size(ensemble: Ensemble, data: Data) -> int:
    """The number of networks that are worked on together."""
    on_cpu = ensemble.weights[0].device.type == "cpu"
    vector = 8 * sum(weight[0].numel() for weight in ensemble.weights)
    state = 8 * _rows(ensemble, data) * sum(ensemble.sizes[1:])
    return max(1, min(_VECTOR_BYTES[on_cpu] // vector, _STATE_BYTES[on_cpu] // state))


def _batch(exact: Hessians, start: Tensor, tol: float) -> EnsembleSharpness:
    """The sharpness of networks that are worked on together."""
    start = (start / start.norm()).to(exact.device)
    vectors = start.expand(exact.count, -1).clone()
    images = exact @ vectors
    values, residuals = _rayleigh(vectors, images)
    goal, count = max(tol / 100, _LEAST), exact.count
    operator, steps = exact.to(torch.float32), min(_STEPS, 2 * exact.size + 10)
    for number in range(_RUNS):
        still = (residuals > goal).nonzero()[:, 0]
        if not len(still):
            break
        if number == len(_AIMS):
            operator = exact
        aim = max([goal, *_AIMS[number : number + 1]])
        sharpness = largest(_only(operator, still), vectors[still], images[still], aim, steps)
        # What overflows in float32 starts again.
        finite = torch.isfinite(sharpness.vectors).all(dim=1, keepdim=True)
        vectors[still] = torch.where(finite, sharpness.vectors, start)
        images[still] = _only(exact, still) @ vectors[still]
        values, residuals = _rayleigh(vectors, images)
        count += sharpness.products + len(still)
    return EnsembleSharpness(values, residuals, residuals <= tol, count)


def _only(operator: Hessians, networks: Tensor) -> Hessians:
    """The matrices of some networks, without a copy if these are all."""
    return operator if len(networks) == operator.count else operator.select(networks)


def _rayleigh(vectors: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    """Rayleigh quotients and relative residuals of unit vectors."""
    values = torch.linalg.vecdot(images, vectors)
    distances = (images - values[:, None] * vectors).norm(dim=1)
    # A vanishing Hessian leaves no residual.
    residuals = torch.where(distances == 0, distances, distances / values.abs())
    return torch.where(residuals.isnan(), torch.nan, values), residuals
