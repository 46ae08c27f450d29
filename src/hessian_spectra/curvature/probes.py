"""Random probe vectors, and products with a few of them at a time."""

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor
from tqdm import tqdm

from hessian_spectra.curvature.interface import SymmetricOperator, require_moderate

# Vectors that go through an operator together: where the data is in several batches they share
# the work of building each batch's graph, most of which eight of them save.
_TOGETHER = 8
# What they may take, in bytes.
_BYTES = 1 << 28
# Entries of a vector to work on at a time in float64.
_COLUMNS = 1 << 16


def chunk(operator: SymmetricOperator) -> int:
    """The number of vectors to multiply at a time."""
    return max(1, min(_TOGETHER, _BYTES // vector_bytes(operator)))


def vector_bytes(operator: SymmetricOperator) -> int:
    """The memory of one vector."""
    return operator.shape[0] * operator.dtype.itemsize


def rademacher(operator: SymmetricOperator, count: int, draws: torch.Generator) -> Iterator[Tensor]:
    """Vectors of random signs as rows ``(c, p)``, a few at a time, ``count`` in all.

    Their squared length is ``p`` exactly. Which signs they hold does not depend on how many come
    at a time.
    """
    p, width = operator.shape[0], chunk(operator)
    for start in range(0, count, width):
        size = (min(width, count - start), p)
        bits = torch.randint(0, 2, size, generator=draws, dtype=torch.int8).to(operator.device)
        yield bits.to(operator.dtype).mul_(2).sub_(1)


def each_product(
    operator: SymmetricOperator,
    blocks: Iterable[Tensor],
    count: int,
    what: str,
    use: Callable[[Tensor, Tensor], Tensor],
) -> list[Tensor]:
    """``use(rows, images)`` for blocks of rows ``(c, p)``, ``count`` rows in all, with progress.

    No block is held while the next one is multiplied. The images may be overwritten.

    Raises:
        NotFiniteError: a product is not finite, or too large to be squared.
    """
    results = []
    with tqdm(total=count, desc=what, unit="product", disable=None, leave=False) as bar:
        for rows in blocks:
            images = (operator @ rows.T).T
            require_moderate(images)
            results.append(use(rows, images))
            bar.update(len(rows))
            del rows, images
    return results


def unit_vectors(operator: SymmetricOperator) -> Iterator[Tensor]:
    """The rows of the identity, a few at a time."""
    p, width = operator.shape[0], chunk(operator)
    for start in range(0, p, width):
        rows = min(width, p - start)
        block = torch.zeros(rows, p, dtype=operator.dtype, device=operator.device)
        block[:, start:].fill_diagonal_(1.0)
        yield block


def exact_diagonal(operator: SymmetricOperator, what: str) -> Tensor:
    """``diag A`` from the products with all unit vectors, ``(p,)`` in float64 on the CPU."""
    p = operator.shape[0]
    return torch.cat(each_product(operator, unit_vectors(operator), p, what, dots))


def dots(left: Tensor, right: Tensor) -> Tensor:
    """The dot products of corresponding rows ``(c, p)``: ``(c,)`` in float64 on the CPU."""
    total = torch.zeros(len(left), dtype=torch.float64, device=left.device)
    # A few columns at a time: a copy of all in float64 would not be small.
    for columns, others in zip(left.split(_COLUMNS, dim=1), right.split(_COLUMNS, 1), strict=True):
        total += (columns.double() * others.double()).sum(dim=1)
    return total.cpu()
