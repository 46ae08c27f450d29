"""An orthonormal basis of what some images span, grown a few vectors at a time."""

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import SymmetricOperator
from hessian_spectra.curvature.probes import dots
from hessian_spectra.curvature.rows import gram, norm


class RangeBasis:
    """The factors of ``Y = Q R``, a column of ``Y`` after the other.

    The only thing of length ``p`` that it keeps is ``Q``, in the operator's type; dot products are
    added up in float64. A vector that the others span up to rounding closes the basis: nothing is
    added from it on.

    Args:
        operator: whose images the vectors are.
        capacity: how many vectors will come at most.
    """

    def __init__(self, operator: SymmetricOperator, capacity: int) -> None:
        self.closed = False
        self._size = 0
        self._largest = 0.0
        self._smallest = 1e3 * torch.finfo(operator.dtype).eps
        self._triangle = torch.zeros(capacity, capacity, dtype=torch.float64)
        self._rows = torch.empty(
            capacity, operator.shape[0], dtype=operator.dtype, device=operator.device
        )

    @property
    def rows(self) -> Tensor:
        """``(r, p)``, the columns of ``Q``."""
        return self._rows[: self._size]

    @property
    def triangle(self) -> Tensor:
        """``R``, ``(r, r)`` in float64 on the CPU."""
        return self._triangle[: self._size, : self._size]

    def extend(self, vectors: Tensor) -> None:
        """Orthonormalise further vectors ``(c, p)``."""
        lengths = dots(vectors, vectors).sqrt().tolist()
        old = self._size
        overlaps, remainders = _outside(vectors, self.rows)
        for column, vector, length in zip(overlaps.T, remainders, lengths, strict=True):
            self._largest = max(self._largest, length)
            self._add(vector, length, column, old)
            if self.closed:
                return

    def _add(self, vector: Tensor, length: float, column: Tensor, old: int) -> None:
        """Take in a vector whose overlaps with the first ``old`` rows are already removed."""
        size = self._size
        within, rest = _outside(vector[None], self._rows[old:size])
        coordinates = torch.cat([column, within[:, 0]])
        remaining = norm(rest[0])
        if remaining < 0.7 * length:
            # What cancelled leaves rounding errors along all rows; a second pass is enough.
            again, rest = _outside(rest, self.rows)
            coordinates = coordinates + again[:, 0]
            remaining = norm(rest[0])
        if remaining <= self._smallest * self._largest:
            self.closed = True
            return
        self._triangle[:size, size] = coordinates
        self._triangle[size, size] = remaining
        torch.div(rest[0], remaining, out=self._rows[size])
        self._size += 1


def _outside(vectors: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The overlaps ``(r, c)`` of vectors with orthonormal rows, and what is outside these."""
    overlaps = gram(rows, vectors)
    if not len(rows):
        return overlaps, vectors
    weights = overlaps.T.to(vectors.dtype).to(vectors.device)
    return overlaps, torch.addmm(vectors, weights, rows, alpha=-1)


def outside(vectors: Tensor, rows: Tensor) -> Tensor:
    """The part ``(c, p)`` of some vectors outside the span of orthonormal rows ``(r, p)``."""
    return _outside(vectors, rows)[1]
