"""Random probe vectors, and products with many of them at a time."""

from collections.abc import Iterator

import torch
from torch import Tensor
from tqdm import tqdm

from hessian_spectra.curvature.interface import OperatorError, SymmetricOperator

# Vectors that go through an operator together: as many as have this many numbers (1 GiB, float64).
_ELEMENTS = 1 << 27


def rademacher(operator: SymmetricOperator, count: int, draws: torch.Generator) -> Tensor:
    """Vectors ``(p, count)`` of random signs, whose squared length is ``p`` exactly."""
    signs = torch.randint(0, 2, (operator.shape[0], count), generator=draws) * 2 - 1
    return signs.to(operator.dtype).to(operator.device)


def product(operator: SymmetricOperator, vectors: Tensor, what: str) -> Tensor:
    """``operator @ vectors`` for a matrix ``(p, k)``, a few columns at a time, with progress.

    Raises:
        OperatorError: a product is not finite.
    """
    results = []
    with tqdm(total=vectors.shape[1], desc=what, unit="product", disable=None, leave=False) as bar:
        for columns in vectors.split(chunk(operator), dim=1):
            results.append(operator @ columns)
            bar.update(columns.shape[1])
    result = torch.cat(results, dim=1)
    if not torch.isfinite(result).all():
        raise OperatorError("operator: a product is not finite")
    return result


def chunk(operator: SymmetricOperator) -> int:
    """How many columns to multiply at a time."""
    return max(1, _ELEMENTS // operator.shape[0])


def unit_vectors(operator: SymmetricOperator) -> Iterator[tuple[range, Tensor]]:
    """The columns of the identity, a few at a time, each with its indices."""
    p, width = operator.shape[0], chunk(operator)
    for start in range(0, p, width):
        indices = range(start, min(start + width, p))
        columns = torch.zeros(p, len(indices), dtype=operator.dtype, device=operator.device)
        columns[indices, torch.arange(len(indices))] = 1.0
        yield indices, columns
