"""The Hessian trace of every network of an ensemble, in closed form."""

import torch
from torch import Tensor

from hessian_spectra.curvature.ensemble.chains import around, effective_weights
from hessian_spectra.curvature.ensemble.moments import Data, SecondMoments, fitted, in_float64
from hessian_spectra.models.ensemble import Ensemble

# Activations of a batch of networks stay within this.
_BATCH_BYTES = 2**26


def ensemble_trace(ensemble: Ensemble, data: Data) -> Tensor:
    """``tr H = Σ_l a_l² E[‖∂f/∂(A_l h_{l−1})‖_F² ‖h_{l−1}‖²]`` for every network, exactly.

    The network is linear in each matrix (a ReLU changes its slope nowhere but on a null set), so
    that the residuals' part of the Hessian has no trace at any loss. With A_l = a_l W_l, a linear
    network has ``Σ_l a_l² ‖A_L ⋯ A_{l+1}‖_F² tr(A_{l−1} ⋯ A_1 S_xx A_1ᵀ ⋯ A_{l−1}ᵀ)``.

    Args and errors are those of ``ensemble.hessians``.

    Returns:
        ``(N,)`` float64, NaN where a network has diverged.

    Source: singh2026cracking, D.4; anon2026data, equation (7), here for any input covariance,
    any depth and any residuals.

    Example:
        >>> item = Ensemble(weights=(torch.full((1, 1, 1), 2.0), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> ensemble_trace(item, (torch.ones(1, 1), torch.ones(1, 1))).item()
        5.0
    """
    data = in_float64(fitted(ensemble, data))
    double = ensemble.to(torch.float64)
    if isinstance(data, SecondMoments):
        total = _linear(double, data)
    else:
        x, _ = data
        batch = max(1, _BATCH_BYTES // (8 * len(x) * sum(ensemble.sizes)))
        rows = torch.arange(ensemble.count).split(batch)
        total = torch.cat([_rectified(double.select(part), x) for part in rows])
    return torch.where(torch.isfinite(total), total, torch.nan)


def _linear(ensemble: Ensemble, data: SecondMoments) -> Tensor:
    total = torch.zeros(ensemble.count, dtype=torch.float64, device=data.sxx.device)
    weights = effective_weights(ensemble)
    for multiplier, (left, right) in zip(ensemble.multipliers, around(weights), strict=True):
        spread = torch.linalg.vecdot(right @ data.sxx, right).sum(dim=1)
        total += multiplier**2 * left.square().sum(dim=(1, 2)) * spread
    return total


def _rectified(ensemble: Ensemble, x: Tensor) -> Tensor:
    """Sums over samples, with which units are active; one output's slopes at a time."""
    weights = effective_weights(ensemble)
    active = [x.mT]
    for weight in weights[:-1]:
        active.append(torch.relu(weight @ active[-1]))
    # Squared lengths of what each layer gets, (N, n) or (n,).
    lengths = [values.square().sum(dim=-2) for values in active]
    outputs = ensemble.sizes[-1]
    squares = [multiplier**2 for multiplier in ensemble.multipliers]
    total = squares[-1] * outputs * lengths[-1].expand(ensemble.count, -1).sum(dim=-1)
    if len(weights) > 1:
        # The last hidden layer needs no slopes of single outputs.
        columns = weights[-1].square().sum(dim=1)
        slopes = torch.einsum("nj,njs->ns", columns, (active[-1] > 0).to(columns))
        total += squares[-2] * (slopes * lengths[-2]).sum(dim=-1)
    if len(weights) > 2:
        for output in range(outputs):
            slope = weights[-1][:, output, :, None] * (active[-1] > 0)
            for layer in range(len(weights) - 3, -1, -1):
                slope = (weights[layer + 1].mT @ slope) * (active[layer + 1] > 0)
                total += squares[layer] * (slope.square().sum(dim=1) * lengths[layer]).sum(dim=-1)
    return total / len(x)
