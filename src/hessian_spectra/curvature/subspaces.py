"""The overlap of two eigenspaces."""

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import in_own_type


@in_own_type
def subspace_overlap(U: Tensor, V: Tensor) -> float:
    """``‖Uᵀ V‖_F² / k``: one for the same space, zero for orthogonal ones.

    Two random ``k``-dimensional spaces in ``p`` dimensions have the overlap ``k / p`` on average.

    Args:
        U: ``(p, k)`` an orthonormal basis of one space.
        V: ``(p, k)`` an orthonormal basis of the other.

    Raises:
        ValueError: the shapes differ or are empty, or a basis is not orthonormal.

    Source: wu2022dissecting, Definition 2.1.

    Example:
        >>> e = torch.eye(3)
        >>> subspace_overlap(e[:, :2], e[:, 1:])
        0.5
    """
    _require_bases(U, V)
    return float((U.T @ V).square().sum()) / U.shape[1]


@in_own_type
def subspace_overlaps(U: Tensor, V: Tensor) -> Tensor:
    """The overlaps ``‖U_kᵀ V_k‖_F² / k`` of the spaces of the first k columns, for all k at once.

    Args:
        U: ``(p, K)`` an orthonormal basis, such as eigenvectors by descending eigenvalue.
        V: ``(p, K)`` another one.

    Returns:
        ``(K,)``, for k from 1 to K.

    Raises:
        ValueError: as :func:`subspace_overlap`.

    Source: wu2022dissecting, Definition 2.1.

    Example:
        >>> e = torch.eye(3)
        >>> subspace_overlaps(e[:, [0, 1]], e[:, [1, 0]])
        tensor([0., 1.])
    """
    _require_bases(U, V)
    squares = (U.T @ V).square()
    counts = torch.arange(1, len(squares) + 1, dtype=U.dtype, device=U.device)
    return squares.cumsum(dim=0).cumsum(dim=1).diagonal() / counts


def _require_bases(U: Tensor, V: Tensor) -> None:
    if U.ndim != 2 or U.shape != V.shape or U.numel() == 0 or U.shape[1] > U.shape[0]:
        raise ValueError(
            f"expected two bases of one shape (p, k) with k ≤ p, "
            f"got {tuple(U.shape)} and {tuple(V.shape)}"
        )
    require_orthonormal("U", U)
    require_orthonormal("V", V)


def require_orthonormal(name: str, basis: Tensor) -> None:
    """Refuse a matrix ``(p, k)`` whose columns are not orthonormal.

    Raises:
        ValueError: ``‖UᵀU − I‖_F`` is beyond rounding.
    """
    gram = basis.T @ basis
    error = float((gram - torch.eye(len(gram), dtype=gram.dtype, device=gram.device)).norm())
    # Rounding of k² dot products; a forgotten normalisation is far above.
    if not error <= 1e3 * len(gram) * torch.finfo(gram.dtype).eps:
        raise ValueError(
            f"{name}: expected orthonormal columns, got ‖{name}ᵀ{name} − I‖ = {error:.1e}"
        )
