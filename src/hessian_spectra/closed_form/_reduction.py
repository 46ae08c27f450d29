"""The device behind every closed form: a large Hessian as a small matrix and known eigenspaces.

The Hessians of the papers have the form ``H = D + F K Fᵀ``. ``D`` comes from the residual and is
``c_s I`` on each of a few *sectors* of the parameter space; ``F`` has few columns. In each sector
the columns of ``F`` span a small subspace, and everything orthogonal to it keeps the eigenvalue
``c_s``. What is left is a symmetric matrix as small as the spans together. Nothing here divides, so
that vanishing, parallel or too many columns need no special treatment.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._inputs import finite, norm


@dataclass(frozen=True)
class Sector:
    """A subspace of the parameters, with coordinates ``a`` in ``R^size``, on which ``D = value I``.

    Args:
        value: ``()`` the bulk eigenvalue.
        factor: ``(size, k_s)`` the columns of ``F`` that reach into the sector.
        columns: which ones of all ``k`` columns they are.
        placement: pairs of an offset and a weight: the parameter vector of ``a`` holds
            ``weight * a`` from each offset on. The squares of the weights sum to 1.
    """

    value: Tensor
    factor: Float[Tensor, "size k_s"]
    columns: Sequence[int]
    placement: Sequence[tuple[int, float]]

    @property
    def size(self) -> int:
        """Dimension of the sector."""
        return self.factor.shape[0]

    @property
    def rank(self) -> int:
        """Dimensions set aside for the columns; the rest of the sector is bulk."""
        return min(self.factor.shape)

    def triangle(self) -> Float[Tensor, "rank k_s"]:
        """The columns in an orthonormal basis of their span."""
        if self.factor.shape[1] == 1:
            return norm(self.factor.T)[:, None]
        return torch.linalg.qr(self.factor, mode="r").R


@dataclass(frozen=True)
class Reduction:
    """``H = D + F K Fᵀ``, sector by sector.

    Args:
        sectors: orthogonal sectors that fill the parameter space.
        coupling: ``(k, k)`` the symmetric matrix ``K``.
    """

    sectors: Sequence[Sector]
    coupling: Float[Tensor, "k k"]

    @property
    def parameters(self) -> int:
        """Number of parameters ``p``."""
        return sum(sector.size for sector in self.sectors)

    @property
    def outliers(self) -> int:
        """Size of the small matrix."""
        return sum(sector.rank for sector in self.sectors)

    def outlier_values(self) -> Float[Tensor, " r"]:
        """Eigenvalues of the small matrix, ascending. No array has more than ``m k`` entries."""
        return torch.linalg.eigvalsh(self._matrix([s.triangle() for s in self.sectors]))

    def eigenbasis(self) -> Float[Tensor, "p p"]:
        """Orthonormal eigenvectors: the outliers, ascending, then each sector's bulk in turn."""
        # The complete Householder factorisation extends the span's basis to one of the sector.
        bases = [torch.linalg.qr(s.factor, mode="complete") for s in self.sectors]
        small = torch.linalg.eigh(
            self._matrix([b.R[: s.rank] for b, s in zip(bases, self.sectors, strict=True)])
        ).eigenvectors
        p = self.parameters
        vectors = small.new_zeros(p, p)
        row, column = 0, self.outliers
        for sector, basis in zip(self.sectors, bases, strict=True):
            rank, bulk = sector.rank, sector.size - sector.rank
            spanned = basis.Q[:, :rank] @ small[row : row + rank]
            for offset, weight in sector.placement:
                rows = slice(offset, offset + sector.size)
                vectors[rows, : self.outliers] += weight * spanned
                vectors[rows, column : column + bulk] = weight * basis.Q[:, rank:]
            row, column = row + rank, column + bulk
        return vectors

    def _matrix(self, triangles: Sequence[Tensor]) -> Float[Tensor, "r r"]:
        """The small matrix, given the columns in an orthonormal basis of each span."""
        spans = self.coupling.new_zeros(self.outliers, self.coupling.shape[0])
        bulk = []
        row = 0
        for sector, triangle in zip(self.sectors, triangles, strict=True):
            spans[row : row + sector.rank, list(sector.columns)] = triangle
            bulk.append(sector.value.expand(sector.rank))
            row += sector.rank
        matrix = torch.diag(torch.cat(bulk)) + spans @ self.coupling @ spans.T
        finite(matrix)
        return matrix
