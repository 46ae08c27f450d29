"""Inverses of operators, by the iterations and factorisations of curvlinops."""

import warnings
from typing import Any, Literal

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator, as_operator
from hessian_spectra.curvature.curvlinops_operators import load_curvlinops, without_deprecations
from hessian_spectra.curvature.fisher import KroneckerOperator
from hessian_spectra.curvature.interface import OperatorError, SymmetricOperator

InverseMethod = Literal["cg", "lsmr", "kronecker"]
_METHODS = ("cg", "lsmr", "kronecker")


def inverse(
    operator: SymmetricOperator | Tensor,
    method: InverseMethod = "cg",
    *,
    damping: float = 0.0,
    tol: float = 1e-5,
    max_iterations: int = 1000,
) -> Operator:
    """``(A + δ I)⁻¹`` as an operator: each product solves a linear system.

    No result is returned unseen: one more product with ``A`` measures its residual.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one.
        method: ``"cg"``, conjugate gradients, for positive definite matrices; ``"lsmr"``, also for
            indefinite ones, in scipy on the CPU; ``"kronecker"``, the exact inverse from the
            factors of :func:`kfac` or :func:`ekfac`, which takes no other operator.
        damping: ``δ``, added to each eigenvalue.
        tol: the largest relative residual ``‖(A + δ I) x − b‖ / ‖b‖`` of a column.
        max_iterations: how many iterations to spend on a product.

    Returns:
        An operator ``(p, p)``, whose products raise ``OperatorError`` where the residual is larger
        than ``tol``: the matrix is singular or, for ``"cg"``, not positive definite, or the
        iterations did not suffice.

    Raises:
        ValueError: an argument is out of its range.
        ModuleNotFoundError: curvlinops is not installed.

    Source: Hestenes and Stiefel (1952); Fong and Saunders (2011); for ``"kronecker"`` Grosse et al.
    (2023), equation 21.

    Example:
        >>> A = torch.diag(torch.tensor([1.0, 3.0]))
        >>> inverse(A, damping=1.0) @ torch.ones(2)
        tensor([0.5000, 0.2500])
    """
    if method not in _METHODS:
        raise ValueError(
            f"method: expected one of {', '.join(map(repr, _METHODS))}, got {method!r}"
        )
    if not 0 <= damping < float("inf"):
        raise ValueError(f"damping: expected a number of at least 0, got {damping}")
    if not 0 < tol < 1 or max_iterations < 1:
        raise ValueError(
            "tol, max_iterations: expected a number in (0, 1) and at least 1, "
            f"got {tol} and {max_iterations}"
        )
    if method == "kronecker" and not isinstance(operator, KroneckerOperator):
        raise ValueError(
            "method: 'kronecker' inverts what kfac and ekfac return, got "
            f"{type(operator).__name__}; use 'cg' or 'lsmr'"
        )
    return _Inverse(as_operator(operator), method, damping, tol, max_iterations)


class _Inverse(Operator):
    def __init__(
        self, matrix: Operator, method: str, damping: float, tol: float, max_iterations: int
    ) -> None:
        super().__init__(matrix.shape[0], matrix.dtype, matrix.device)
        self._matrix, self._method, self._damping = matrix, method, damping
        self._tol, self._max_iterations = tol, max_iterations
        self._damped = matrix.shift(damping)

    def _matmat(self, columns: Tensor) -> Tensor:
        # Its warning that the iteration did not converge becomes an error below.
        with without_deprecations(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = self._inner(columns.shape[1]) @ columns
        residuals = (self._damped @ solution - columns).norm(dim=0)
        relative = residuals / columns.norm(dim=0).clamp_min(torch.finfo(self.dtype).tiny)
        if not bool((relative <= self._tol).all()):
            raise OperatorError(
                f"inverse: {self._method} leaves a relative residual of {float(relative.max()):.1e}"
                f" (tol {self._tol:.0e}); likely causes: (a) a matrix that is singular"
                f"{' or not positive definite' if self._method == 'cg' else ''}: more damping than "
                f"{self._damping:g}; (b) too few iterations: more max_iterations than "
                f"{self._max_iterations}; (c) a tol below what {self.dtype} can resolve"
            )
        return solution

    def _inner(self, count: int) -> Any:
        """Curvlinops' inverse for ``count`` columns."""
        library = load_curvlinops()
        if isinstance(self._matrix, KroneckerOperator) and self._method == "kronecker":
            return library.KFACInverseLinearOperator(
                self._matrix.inner, damping=self._damping, use_exact_damping=True
            )
        damped = self._damped.to_curvlinops()
        if self._method == "lsmr":
            return library.LSMRInverseLinearOperator(
                damped, atol=0.0, btol=self._tol / 2, conlim=0.0, maxiter=self._max_iterations
            )
        # Its tolerance is on the mean over the columns, by default 1; and directions x along which
        # xᵀ A x < eps are left out, by default those of 1e-10, which is far above rounding.
        tolerance = self._tol / (2 * max(count, 1))
        return library.CGInverseLinearOperator(
            damped,
            tolerance=tolerance,
            stop_updating_after=tolerance,
            eps=torch.finfo(self.dtype).tiny,
            max_iter=self._max_iterations,
            max_tridiag_iter=0,
        )
