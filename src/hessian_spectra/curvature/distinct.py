"""The distinct eigenvalues of a matrix that has few of them, and which of them repeat."""

from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import SymmetricOperator, in_own_type, size_of
from hessian_spectra.curvature.lanczos import Krylov
from hessian_spectra.seeding import generator


class DistinctEigenvalues(NamedTuple):
    """The values that a spectrum consists of.

    Attributes:
        values: ``(g,)`` each eigenvalue once, ascending.
        repeated: ``(g,)`` whether its multiplicity is more than one.
        residual: the largest ``‖A z − λ z‖ / |λ_max|`` over the eigenpairs that were found.
    """

    values: Tensor
    repeated: Tensor
    residual: float


@in_own_type
def distinct_eigenvalues(
    operator: SymmetricOperator, tol: float = 1e-12, *, seed: int = 0, max_products: int = 200
) -> DistinctEigenvalues:
    """Every eigenvalue of a matrix with few distinct ones, in a few products.

    The Krylov space of a random vector holds one vector of each eigenspace and no more, so with
    ``g`` distinct eigenvalues it ends after ``g`` products. The Krylov space of a second random
    vector, orthogonal to the first, then holds one more vector of each eigenspace that has one: its
    eigenvalues are those that repeat. Both hold with probability one.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one.
        tol: the space counts as ended, and eigenvalues as equal, below this share of ``|λ_max|``.
        seed: seed of the two vectors.
        max_products: how many products to make at most, above twice the number of distinct values.

    Raises:
        ValueError: the spaces do not end within ``max_products`` products.
        NotFiniteError: a product is not finite, or too large to be squared.

    Example:
        >>> matrix = torch.diag(torch.tensor([2.0, 2.0, 2.0, 5.0]).double())
        >>> distinct = distinct_eigenvalues(matrix)
        >>> [round(value, 9) for value in distinct.values.tolist()], distinct.repeated.tolist()
        ([2.0, 5.0], [True, False])
    """
    nothing = torch.zeros(0, size_of(operator), dtype=operator.dtype, device=operator.device)
    space = Krylov(operator, nothing, max_products, generator(seed, "distinct eigenvalues"))
    ends = 0
    while ends < 2 and not space.full:
        if space.products == max_products:
            raise ValueError(
                f"operator: expected fewer than about {max_products // 2} distinct eigenvalues; "
                "raise max_products, or use dense_spectrum"
            )
        space.step()
        ends += float(space.coupling.abs().max()) <= tol * space.scale
    values, coordinates, _ = space.ritz(lambda values: -values)
    scale = float(values.abs().max()) or 1.0
    vectors = space.vectors(coordinates).T
    residuals = (operator @ vectors - vectors * values.to(vectors)).norm(dim=0) / scale
    new = torch.cat([torch.ones(1, dtype=torch.bool), values.diff() > tol * scale])
    group = new.cumsum(0) - 1
    counts = torch.bincount(group)
    means = torch.zeros(len(counts), dtype=values.dtype).index_add(0, group, values) / counts
    return DistinctEigenvalues(means, counts > 1, float(residuals.max()))
