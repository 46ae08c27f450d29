"""Extreme eigenvalues of several matrices of one network, each searched from what was found."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from torch import Tensor

from hessian_papers.studies.gpt2.arnoldi import extreme_eigenvalue
from hessian_papers.studies.layerwise.ensembles import top_of
from hessian_spectra import curvature as cv


class Extremes:
    """Eigenvalues and their relative residuals by name, and the eigenvectors behind them.

    Args:
        tol: the relative residual at which a search stops.
        seed: of the vector that the first one starts from.

    Attributes:
        pairs: of each name the eigenvalue and its residual.
        vectors: of each name the eigenvector ``(p,)``.
    """

    def __init__(self, *, tol: float, seed: int) -> None:
        self._tol, self._seed = tol, seed
        self.pairs: dict[str, tuple[float, float]] = {}
        self.vectors: dict[str, Tensor] = {}

    def search(self, name: str, operator: cv.SymmetricOperator, near: str = "", **how: Any) -> None:
        """Find the largest eigenvalue of a matrix, or another one.

        Args:
            name: what it is kept as; a search starts from what was kept under it before.
            operator: the matrix.
            near: the name whose eigenvector it starts from the first time.
            how: further arguments of :func:`~hessian_spectra.curvature.top_eigenpairs`.
        """
        start = self.vectors.get(name, self.vectors.get(near))
        top = top_of(operator, 1, start=start, tol=self._tol, seed=self._seed, **how)
        self.vectors[name] = top.vectors[:, 0]
        self.pairs[name] = float(top.values[0]), float(top.residuals[0])

    def search_released(
        self, name: str, operator: cv.SymmetricOperator, near: str, **how: Any
    ) -> None:
        """Find one by a product that is not symmetric, near the eigenvector of another name.

        Args:
            name: what it is kept as.
            operator: the matrix.
            near: the name whose eigenvector it starts from.
            how: further arguments of :func:`.arnoldi.extreme_eigenvalue`.
        """
        start = self.vectors[near]
        self.pairs[name] = extreme_eigenvalue(operator, start, tol=self._tol, **how)

    def columns(self, names: Iterable[str]) -> np.ndarray:
        """The eigenvalues of some names, and their residuals, ``(2, names)``."""
        return np.array([self.pairs[name] for name in names]).T
