"""The largest Hessian eigenvalue of every network of an ensemble."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.curvature.ensemble.lanczos import largest
from hessian_spectra.curvature.ensemble.moments import Data, SecondMoments, fitted, in_float64
from hessian_spectra.curvature.ensemble.products import Products, products
from hessian_spectra.models.ensemble import Ensemble
from hessian_spectra.seeding import generator

# On a processor the vectors of a batch stay in its shared cache; on a GPU many networks fill it,
# and some fifty basis vectors of each have to fit.
_VECTOR_BYTES = {"cpu": 2**23, "cuda": 2**28}
_STATE_BYTES = {"cpu": 2**27, "cuda": 2**32}
_LIMIT = 400
_RESTARTS = 5


@dataclass(frozen=True)
class Sharpness:
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


def sharpness(ensemble: Ensemble, data: Data, tol: float = 1e-5, seed: int = 0) -> Sharpness:
    """The largest (algebraic) Hessian eigenvalue of each network, with the residual it leaves.

    Lanczos for all networks at once in float32, each until its residual is below ``tol``; then
    value and residual in float64, and Lanczos in float64 where they show that it was not enough.

    Args:
        ensemble: the networks.
        data: second moments for linear networks, else inputs ``(n, D)`` and targets ``(n, K)``.
        tol: relative residual. It bounds the relative error of the value, which is of the order
            of its square over the relative gap to the next eigenvalue.
        seed: of the start vector, the same for all networks, so that the value of a network does
            not depend on the others.

    Raises:
        ValueError: ``tol`` is not in (0, 1), or the data do not fit the ensemble.

    Source: singh2026cracking, section 4.2 and D.1.3.

    Example:
        >>> one = Ensemble(weights=(torch.full((1, 1, 1), 2.0), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> found = sharpness(one, (torch.ones(1, 1), torch.full((1, 1), 2.0)))
        >>> round(found.values.item(), 9), bool(found.converged)
        (5.0, True)
    """
    if not 0 < tol < 1:
        raise ValueError(f"tol: expected a number in (0, 1), got {tol}")
    data = in_float64(fitted(ensemble, data))
    size = sum(weight[0].numel() for weight in ensemble.weights)
    start = torch.randn(size, generator=generator(seed, "Lanczos start"), dtype=torch.float64)
    rows = torch.arange(ensemble.count).split(_batch_size(ensemble, data))
    parts = [
        _batch(products(ensemble.select(part).to(torch.float64), data), start, tol) for part in rows
    ]
    return Sharpness(
        torch.cat([part.values for part in parts]),
        torch.cat([part.residuals for part in parts]),
        torch.cat([part.converged for part in parts]),
        sum(part.products for part in parts),
    )


def _batch_size(ensemble: Ensemble, data: Data) -> int:
    """How many networks are worked on together."""
    device = ensemble.weights[0].device.type
    vector = 8 * sum(weight[0].numel() for weight in ensemble.weights)
    rows = ensemble.sizes[0] if isinstance(data, SecondMoments) else len(data[0])
    state = 8 * rows * sum(ensemble.sizes[1:])
    return max(1, min(_VECTOR_BYTES[device] // vector, _STATE_BYTES[device] // state))


def _batch(exact: Products, start: Tensor, tol: float) -> Sharpness:
    """The sharpness of networks whose bases are held in memory together."""
    start = start.to(exact.device)
    vectors, count = start.expand(exact.count, -1).clone(), 0
    values = torch.full((exact.count,), torch.nan, dtype=torch.float64, device=exact.device)
    residuals = values.clone()
    # float32 rounds to some 1e-6 of the value; below, it cannot show convergence.
    single = tol >= 3e-6
    open_rows = torch.arange(exact.count, device=exact.device)
    for attempt in range(1 + _RESTARTS):
        dtype = torch.float32 if single and attempt == 0 else torch.float64
        operator = exact if len(open_rows) == exact.count else exact.select(open_rows)
        found = largest(operator.to(dtype), vectors[open_rows].to(dtype), tol, _LIMIT)
        vector = found.vectors.double()
        vector /= vector.norm(dim=1, keepdim=True)
        images = operator @ vector
        value = torch.linalg.vecdot(images, vector)
        error = (images - value[:, None] * vector).norm(dim=1)
        # A vanishing Hessian leaves no residual.
        error = torch.where(error == 0, error, error / value.abs())
        values[open_rows], residuals[open_rows], vectors[open_rows] = value, error, vector
        count += found.products + len(open_rows)
        finite = torch.isfinite(error)
        again = ~(error <= tol) & (finite | (dtype == torch.float32))
        vectors[open_rows[~finite]] = start
        open_rows = open_rows[again]
        if not len(open_rows):
            break
    return Sharpness(values, residuals, residuals <= tol, count)
