"""Inverses of operators, by iterations that need their products alone."""

from typing import Literal, get_args

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, lsmr
from torch import Tensor

from hessian_spectra.curvature.composition import Operator, as_operator
from hessian_spectra.curvature.interface import NotFiniteError, OperatorError, SymmetricOperator
from hessian_spectra.validation import require, require_word

InverseMethod = Literal["cg", "lsmr"]


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
            indefinite ones, in scipy on the CPU, with two products an iteration.
        damping: ``δ``, added to each eigenvalue.
        tol: the largest relative residual ``‖(A + δ I) x − b‖ / ‖b‖`` of a column.
        max_iterations: how many iterations to spend on a column.

    Returns:
        An operator ``(p, p)``. Its products raise ``OperatorError`` where the matrix turns out not
        to be positive definite for ``"cg"``, or the residual is larger than ``tol``: the matrix is
        singular, or the iterations did not suffice; and ``ValueError`` for columns that are not
        finite.

    Raises:
        ValueError: an argument is out of its range.

    Source: Hestenes and Stiefel (1952), section 3; Fong and Saunders (2011).

    Example:
        >>> A = torch.diag(torch.tensor([1.0, 3.0]))
        >>> inverse(A, damping=1.0) @ torch.ones(2)
        tensor([0.5000, 0.2500])
    """
    require_word("method", method, get_args(InverseMethod))
    require(0 <= damping < float("inf"), "damping", "a number of at least 0", damping)
    if not 0 < tol < 1 or max_iterations < 1:
        raise ValueError(
            "tol, max_iterations: expected a number in (0, 1) and at least 1, "
            f"got {tol} and {max_iterations}"
        )
    return _Inverse(as_operator(operator), method, damping, tol, max_iterations)


class _Inverse(Operator):
    def __init__(
        self, matrix: Operator, method: str, damping: float, tol: float, max_iterations: int
    ) -> None:
        super().__init__(matrix.shape[0], matrix.dtype, matrix.device)
        self._method, self._damping = method, damping
        self._tol, self._max_iterations = tol, max_iterations
        self._damped = matrix.shift(damping)

    def _matmat(self, columns: Tensor) -> Tensor:
        if not torch.isfinite(columns).all():
            raise ValueError("inverse @ x: expected finite numbers, got NaN or infinity")
        # To length one, or the squares of small numbers would be zero.
        scales = columns.abs().amax(dim=0).clamp_min(torch.finfo(self.dtype).tiny)
        scales = scales * (columns / scales).norm(dim=0).clamp_min(1.0)
        columns = columns / scales
        solve = self._conjugate_gradients if self._method == "cg" else self._least_squares
        solution = solve(columns)
        residuals = (self._damped @ solution - columns).norm(dim=0)
        if not (residuals <= self._tol).all():
            raise OperatorError(
                f"inverse: {self._method} leaves a relative residual of {residuals.max():.1e} (tol "
                f"{self._tol:.0e}); likely causes: (a) a matrix that is singular: more damping "
                f"than {self._damping:g}; (b) too few iterations: more max_iterations than "
                f"{self._max_iterations}; (c) a tol below what {self.dtype} can resolve"
            )
        return solution * scales

    def _conjugate_gradients(self, columns: Tensor) -> Tensor:
        """Each column by itself, until its residual is half of what is asked for."""
        solution = torch.zeros_like(columns)
        residual, direction = columns.clone(), columns.clone()
        squares = columns.square().sum(dim=0)
        active = torch.arange(columns.shape[1], device=self.device)
        for _ in range(self._max_iterations):
            unsolved = squares > (self._tol / 2) ** 2
            if not unsolved.all():
                # Those that are solved take no part in further products.
                active, squares = active[unsolved], squares[unsolved]
                residual, direction = residual[:, unsolved], direction[:, unsolved]
            # Of a singular matrix they grow beyond all numbers, which the residual then tells.
            if not len(active) or not torch.isfinite(direction).all():
                break
            image = self._damped @ direction
            curvature = (direction * image).sum(dim=0)
            self._require_positive(curvature, direction)
            step = squares / curvature
            solution[:, active] += step * direction
            residual -= step * image
            before, squares = squares, residual.square().sum(dim=0)
            direction.mul_(squares / before).add_(residual)
        return solution

    def _require_positive(self, curvature: Tensor, direction: Tensor) -> None:
        if not torch.isfinite(curvature).all():
            raise NotFiniteError("operator: a product is not finite")
        if not (curvature > 0).all():
            quotient = float((curvature / direction.square().sum(dim=0)).min())
            raise OperatorError(
                "inverse: 'cg' needs a positive definite matrix, and met a direction x with "
                f"xᵀ(A + δ I)x / xᵀx = {quotient:.1e}; give more damping than {self._damping:g}, "
                "or method='lsmr' for an indefinite matrix"
            )

    def _least_squares(self, columns: Tensor) -> Tensor:
        """Each column by itself, in scipy."""

        def product(x: np.ndarray) -> np.ndarray:
            vector = torch.tensor(x, dtype=self.dtype, device=self.device)
            return (self._damped @ vector).double().cpu().numpy()

        # Of float64, in which scipy's estimates of norms do not overflow.
        damped = LinearOperator(self.shape, matvec=product, rmatvec=product, dtype=np.float64)
        tol, most = self._tol / 2, self._max_iterations
        solution = torch.zeros_like(columns)
        for number, column in enumerate(columns.T.double().cpu().numpy()):
            values, *_ = lsmr(damped, column, atol=0.0, btol=tol, conlim=0.0, maxiter=most)
            solution[:, number] = torch.from_numpy(values)
        return solution
