"""Displayed equations on networks with several inputs or outputs, right and as printed.

Corollaries, equations and appendices are those of singh2026cracking.
"""

import torch
from torch import Tensor

from hessian_papers.studies.identities.identities.linear.formulas import (
    Moments,
    linear_hessian,
    outlier_vector,
    outliers_by_squares,
)


def decoupled_spectrum(moments: list[Moments], m: int) -> Tensor:
    """Corollary B.1: ±δx_d, each m − 1 times, and a pair for each coordinate; ascending."""
    parts = []
    for of in moments:
        bulk = of.residual_covariance.expand(m - 1)
        parts += [outliers_by_squares(of), bulk, -bulk]
    return torch.cat(parts).sort().values


def head_vectors(w: Tensor, v: Tensor, moments: list[Moments]) -> tuple[Tensor, Tensor]:
    """Corollary B.3: for each head, of ``w``, ``v`` ``(K, m)``, the vectors of both outliers.

    Returns:
        The vectors ``(2mK, 2K)``, zero but for the group (v_k, w_k), and their eigenvalues.
    """
    vectors, values = [], []
    for k, of in enumerate(moments):
        for value in outliers_by_squares(of):
            column = torch.zeros(len(w), 2 * w.shape[1], dtype=torch.float64)
            column[k] = outlier_vector(w[k], v[k], value, of.residual_covariance)
            vectors.append(column.reshape(-1))
            values.append(value)
    return torch.stack(vectors, dim=1), torch.stack(values)


def printed_head_hessian(w: Tensor, v: Tensor, of: Moments) -> Tensor:
    """Eq. (116): the block's rows are labelled (w_k, v_k), it is for (v_k, w_k).

    Returns:
        The block ``(2m, 2m)`` as the labels have it, brought to the order (v_k, w_k).
    """
    m = len(w)
    swap = torch.cat([torch.arange(m, 2 * m), torch.arange(m)])
    return linear_hessian(w, v, of)[swap][:, swap]


def squared_norm(matrix: Tensor) -> Tensor:
    """The squared spectral norm."""
    return torch.linalg.matrix_norm(matrix, ord=2).square()


def largest_squared_norm(first: Tensor, second: Tensor) -> Tensor:
    """max(‖W_1‖_2², ‖W_2‖_2²): for whitened inputs a lower bound on λ_max(H).

    In print of D.3.3 it is λ_max(H) itself, for a block-diagonal Hessian. That of a two-layer
    network is never block-diagonal, not even without a residual.
    """
    return torch.stack([squared_norm(first), squared_norm(second)]).max()
