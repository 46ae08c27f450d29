"""The whole matrix and its whole spectrum, for few parameters."""

from collections.abc import Callable

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import (
    NotFiniteError,
    OperatorError,
    SymmetricOperator,
    in_own_type,
    size_of,
)
from hessian_spectra.spectrum import KnownVectors, Spectrum

# 200 MB in float64; its eigenvectors take about a minute on one core.
DENSE_LIMIT = 5000
# Relative; rounding stays far below, and a wrong product that is asymmetric far above.
_ASYMMETRY = {torch.float64: 1e-7, torch.float32: 1e-3}


@in_own_type
def dense_matrix(operator: SymmetricOperator) -> Tensor:
    """The matrix ``(p, p)`` of an operator, from its products with the ``p`` unit vectors.

    Args:
        operator: a symmetric operator; a dense tensor is one.

    Returns:
        The symmetric part ``(A + Aᵀ) / 2``.

    Raises:
        ValueError: ``p`` is above ``DENSE_LIMIT``.
        OperatorError: a product is not finite, or the matrix is asymmetric beyond rounding.

    Example:
        >>> dense_matrix(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([[2., 1.],
                [1., 2.]])
    """
    p = size_of(operator)
    if p > DENSE_LIMIT:
        raise ValueError(
            f"operator: a dense matrix of p = {p} parameters is above the limit of {DENSE_LIMIT}; "
            "use top_eigenpairs, trace or spectral_density"
        )
    matrix = operator @ torch.eye(p, dtype=operator.dtype, device=operator.device)
    if not torch.isfinite(matrix).all():
        raise NotFiniteError("operator: a product with a unit vector is not finite")
    require_symmetric(matrix)
    return (matrix + matrix.T) / 2


def require_symmetric(matrix: Tensor) -> None:
    """Refuse a dense matrix that is asymmetric beyond rounding.

    Raises:
        OperatorError: ``‖A − Aᵀ‖_F`` is not small beside ``‖A‖_F``.
    """
    # The squares of very large or small numbers are none.
    entries = matrix.coalesce().values() if matrix.is_sparse else matrix
    unit = matrix / ((entries.numel() and float(entries.abs().max())) or 1.0)
    asymmetry, size = float((unit - unit.T).norm()), float(unit.norm())
    if asymmetry > _ASYMMETRY[matrix.dtype] * size:
        raise OperatorError(
            f"operator: expected a symmetric matrix, got ‖A − Aᵀ‖ = {asymmetry / size:.1e} ‖A‖"
        )


@in_own_type
def dense_spectrum(operator: SymmetricOperator) -> Spectrum:
    """All eigenvalues and eigenvectors, from the dense matrix.

    Args:
        operator: a symmetric operator; a dense tensor is one.

    Returns:
        A spectrum of ``p`` eigenvalues; its residuals are ``‖A z − λ z‖ / |λ_max|``.

    Raises:
        ValueError: ``p`` is above ``DENSE_LIMIT``.
        OperatorError: a product is not finite, or the matrix is asymmetric beyond rounding.

    Example:
        >>> dense_spectrum(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
        tensor([1., 3.])
    """
    matrix = dense_matrix(operator)
    eigenvalues, eigenvectors = torch.linalg.eigh(matrix)
    scale = eigenvalues.abs().max()
    differences = matrix @ eigenvectors - eigenvectors * eigenvalues
    residuals = (differences / scale if scale > 0 else differences).norm(dim=0)
    # Backward stability promises a small multiple of the unit roundoff.
    converged = residuals <= 100 * len(matrix) ** 0.5 * torch.finfo(matrix.dtype).eps
    method, basis = "dense eigendecomposition", KnownVectors(eigenvectors)
    return numeric_spectrum(eigenvalues, basis, method, residuals, converged)


def numeric_spectrum(
    values: Tensor,
    eigenbasis: Callable[[], Tensor],
    method: str,
    residuals: Tensor | None = None,
    converged: Tensor | None = None,
) -> Spectrum:
    """Computed eigenvalues, each by itself, with their eigenvectors as columns."""
    return Spectrum(
        values=values,
        multiplicities=(1,) * len(values),
        kinds=("numeric",) * len(values),
        method=method,
        eigenbasis=eigenbasis,
        residuals=residuals,
        converged=converged,
    )
