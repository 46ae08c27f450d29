"""An orthonormal basis of what some images span, grown a few vectors at a time."""

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import SymmetricOperator
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
        """Orthonormalise further vectors ``(c, p)``, which are overwritten."""
        lengths = [norm(vector) for vector in vectors]
        old = self._size
        # In place: there may not be room for as many again.
        overlaps = _take_out(vectors, self.rows)
        for column, vector, length in zip(overlaps.T, vectors, lengths, strict=True):
            self._largest = max(self._largest, length)
            self._add(vector, length, column, old)
            if self.closed:
                return

    def _add(self, vector: Tensor, length: float, column: Tensor, old: int) -> None:
        """Take in a vector whose overlaps with the first ``old`` rows are already removed."""
        size = self._size
        within = _take_out(vector[None], self._rows[old:size])
        coordinates = torch.cat([column, within[:, 0]])
        remaining = norm(vector)
        if remaining < 0.7 * length:
            # What cancelled leaves rounding errors along all rows; a second pass is enough.
            coordinates = coordinates + _take_out(vector[None], self.rows)[:, 0]
            remaining = norm(vector)
        if remaining <= self._smallest * self._largest:
            self.closed = True
            return
        self._triangle[:size, size] = coordinates
        self._triangle[size, size] = remaining
        torch.div(vector, remaining, out=self._rows[size])
        self._size += 1


def _take_out(vectors: Tensor, rows: Tensor) -> Tensor:
    """Leave of vectors, in place, what is outside orthonormal rows; their overlaps ``(r, c)``."""
    overlaps = gram(rows, vectors)
    if len(rows):
        vectors.addmm_(overlaps.T.to(vectors.dtype).to(vectors.device), rows, alpha=-1)
    return overlaps


def outside(vectors: Tensor, rows: Tensor) -> Tensor:
    """The part ``(c, p)`` of some vectors outside the span of orthonormal rows ``(r, p)``.

    The vectors are overwritten.
    """
    _take_out(vectors, rows)
    return vectors
