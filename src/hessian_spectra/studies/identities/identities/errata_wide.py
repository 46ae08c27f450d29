"""What is wrong in print about networks with several inputs or outputs, implemented as printed."""

import torch
from torch import Tensor

from hessian_spectra.studies.identities.identities.formulas import Moments, linear_hessian


def printed_head_hessian(w: Tensor, v: Tensor, of: Moments) -> Tensor:
    """singh2026cracking, eq. (116): the block's rows are labelled (w_k, v_k), it is for (v_k, w_k).

    Returns:
        The block ``(2m, 2m)`` as the labels have it, brought to the order (v_k, w_k).
    """
    m = len(w)
    swap = torch.cat([torch.arange(m, 2 * m), torch.arange(m)])
    return linear_hessian(w, v, of)[swap][:, swap]


def printed_sharpness(first: Tensor, second: Tensor) -> Tensor:
    """singh2026cracking, D.3.3: λ_max(H) = max(‖W_1‖_2², ‖W_2‖_2²) for a block-diagonal Hessian.

    The Hessian of a two-layer network is never block-diagonal, not even without a residual.
    """
    norms = [torch.linalg.matrix_norm(matrix, ord=2).square() for matrix in (first, second)]
    return torch.stack(norms).max()
