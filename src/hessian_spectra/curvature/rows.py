"""Sums over millions of numbers, and storage for vectors as long as that."""

from collections.abc import Iterator

import torch
from torch import Tensor

# Columns to add up in the vectors' own type; more would cost float32 its digits, fewer time.
_CHUNK = 1 << 15
# Columns of a basis to rotate at a time: a GPU has room for many, and each launch takes its time.
_ROTATED = {"cuda": 1 << 20}
# Vectors to allocate together.
_SLAB = 32


def gram(left: Tensor, right: Tensor) -> Tensor:
    """The dot products of rows ``(a, p)`` with rows ``(b, p)``: ``(a, b)`` in float64 on the CPU.

    Float32 sums over all of ``p`` lose two digits at three million entries, and with them the
    orthogonality of a basis; partial sums that are added up in float64 keep six and a half.
    """
    # All chunks together: one by one they would be a thousand launches of a GPU for each sum.
    whole = left.shape[1] // _CHUNK * _CHUNK
    chunks, others = (
        rows[:, :whole].unflatten(1, (-1, _CHUNK)).transpose(0, 1) for rows in (left, right)
    )
    total = (chunks @ others.mT).sum(dim=0, dtype=torch.float64)
    return (total + left[:, whole:] @ right[:, whole:].T).cpu()


def norm(vector: Tensor) -> float:
    """The Euclidean norm of a vector, with all the digits of its type."""
    return float(gram(vector[None], vector[None])) ** 0.5


def all_finite(tensor: Tensor) -> bool:
    """Whether all numbers are, as they are if their sum is, which costs far less to know."""
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


class Rows:
    """A growing list of vectors ``(p,)``, kept as the rows of a few matrices.

    It takes the memory of the rows that are there and no more: nothing is copied when it grows.

    Args:
        like: a tensor of the vectors' type and device, whose last axis has the length ``p``.
        limit: how many rows there can be.
    """

    def __init__(self, like: Tensor, limit: int) -> None:
        self._like = like
        self._limit = limit
        self._slabs: list[Tensor] = []
        self._allocated = 0

    def reserve(self, count: int) -> None:
        """Make the first ``count`` rows available; what they hold at first is not specified."""
        while self._allocated < count:
            more = max(1, min(_SLAB, self._limit - self._allocated))
            self._slabs.append(self._like.new_empty(more, self._like.shape[-1]))
            self._allocated += more

    def __getitem__(self, row: int) -> Tensor:
        """One row ``(p,)``, which may be written to."""
        return self._slabs[row // _SLAB][row % _SLAB]

    def slabs(self, first: int, last: int) -> Iterator[tuple[slice, Tensor]]:
        """The rows ``first, ..., last - 1``, some at a time, with their places counted from 0."""
        begin = 0
        for slab in self._slabs:
            low, high = max(first, begin), min(last, begin + len(slab))
            if low < high:
                yield slice(low - first, high - first), slab[low - begin : high - begin]
            begin += len(slab)

    def overlaps(self, vectors: Tensor, count: int) -> Tensor:
        """Dot products of ``(b, p)`` with the first ``count`` rows, ``(b, count)`` in float64."""
        values = torch.zeros(len(vectors), count, dtype=torch.float64)
        for places, slab in self.slabs(0, count):
            values[:, places] = gram(vectors, slab)
        return values

    def subtract(self, vectors: Tensor, coefficients: Tensor, first: int = 0) -> None:
        """Subtract from ``(b, p)``, in place, rows from ``first`` on times ``(b, count)``."""
        coefficients = coefficients.to(vectors.dtype).to(vectors.device)
        for places, slab in self.slabs(first, first + coefficients.shape[1]):
            vectors.addmm_(coefficients[:, places], slab, alpha=-1)

    def combine(self, coefficients: Tensor) -> Tensor:
        """The sums ``(r, p)`` of the first rows times ``(r, count)``."""
        result = self._like.new_zeros(len(coefficients), self._like.shape[-1])
        self.subtract(result, -coefficients)
        return result

    def replace(self, coefficients: Tensor, waiting: int) -> None:
        """Put sums of the first rows, ``(r, count)`` times them, and what follows in their place.

        Args:
            coefficients: ``(r, count)`` with ``r`` at most ``count``.
            waiting: how many rows behind the first ``count`` move up behind the sums.
        """
        keep, count = coefficients.shape
        rotation = torch.eye(keep + waiting, count + waiting, dtype=torch.float64)
        rotation[:keep, :count] = coefficients
        rotation[keep:, :count] = 0
        rotation[keep:, count:] = torch.eye(waiting, dtype=torch.float64)
        rotation = rotation.to(self._like.dtype).to(self._like.device)
        size = _ROTATED.get(self._like.device.type, _CHUNK)
        for start in range(0, self._like.shape[-1], size):
            columns = slice(start, start + size)
            old = torch.cat([slab[:, columns] for _, slab in self.slabs(0, count + waiting)])
            new = rotation @ old
            for places, slab in self.slabs(0, keep + waiting):
                slab[:, columns] = new[places]
