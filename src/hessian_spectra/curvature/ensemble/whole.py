"""All Hessian eigenvalues of every network of an ensemble, for few parameters."""

import torch
from torch import Tensor

from hessian_spectra.curvature.dense import DENSE_LIMIT
from hessian_spectra.curvature.ensemble.moments import Data, fitted, in_float64
from hessian_spectra.curvature.ensemble.products import Hessians, hessians
from hessian_spectra.models.ensemble import Ensemble

# Dense matrices of a batch of networks stay within this.
_BATCH_BYTES = 2**28


def eigenvalues(ensemble: Ensemble, data: Data) -> Tensor:
    """All ``p`` Hessian eigenvalues of each network, from the dense matrices in float64.

    Args:
        ensemble: the networks.
        data: second moments for linear networks, else inputs ``(n, D)`` and targets ``(n, K)``.

    Returns:
        ``(N, p)`` float64, ascending; NaN for a network that has diverged.

    Raises:
        ValueError: ``p`` is above ``DENSE_LIMIT``, or the data do not fit the ensemble.

    Source: singh2026cracking, D.1.2.

    Example:
        >>> one = Ensemble(weights=(torch.full((1, 1, 1), 2.0), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> eigenvalues(one, (torch.ones(1, 1), torch.full((1, 1), 2.0))).round()
        tensor([[0., 5.]], dtype=torch.float64)
    """
    size = sum(weight[0].numel() for weight in ensemble.weights)
    if size > DENSE_LIMIT:
        raise ValueError(
            f"ensemble: dense matrices of p = {size} parameters are above the limit of "
            f"{DENSE_LIMIT}; use sharpness or hessian_trace, or narrower networks"
        )
    data = in_float64(fitted(ensemble, data))
    batch = max(1, _BATCH_BYTES // (8 * size**2))
    return torch.cat(
        [
            _of_batch(hessians(ensemble.select(part).to(torch.float64), data))
            for part in torch.arange(ensemble.count).split(batch)
        ]
    )


def _of_batch(operator: Hessians) -> Tensor:
    """Eigenvalues from products with the unit vectors, one after the other for all networks."""
    size = operator.size
    matrices = torch.empty(operator.count, size, size, dtype=operator.dtype, device=operator.device)
    unit = torch.zeros(operator.count, size, dtype=operator.dtype, device=operator.device)
    for row in range(size):
        unit[:, row] = 1
        matrices[:, row] = operator @ unit
        unit[:, row] = 0
    # eigvalsh reads the lower triangle; rounding makes the two differ.
    matrices = (matrices + matrices.mT) / 2
    finite = torch.isfinite(matrices).all(dim=2).all(dim=1)
    found = torch.linalg.eigvalsh(torch.where(finite[:, None, None], matrices, 0.0))
    return torch.where(finite[:, None], found, torch.nan)
