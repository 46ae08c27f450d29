"""Overlaps of the top eigenspaces of Kronecker products, measured and expected.

The product ``M ⊗ A`` has the eigenvectors ``r_i ⊗ t_j`` with eigenvalues ``τ_i γ_j``. Of two such
products ``(r_i ⊗ t_j) · (r'_i' ⊗ t'_j') = (r_i · r'_i') (t_j · t'_j')``, so that the overlap of the
first k needs the squares of these two alone, and its expectation where the first is at random that
of its square. Nothing of the size of the product is formed.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Factor(NamedTuple):
    """Eigenpairs of a symmetric matrix, by descending eigenvalue.

    Attributes:
        values: ``(n,)``.
        vectors: ``(n, n)``, as columns.
    """

    values: Tensor
    vectors: Tensor


def eigenpairs(matrix: Tensor) -> Factor:
    """The eigenpairs of a symmetric matrix ``(n, n)``, in float64.

    Example:
        >>> eigenpairs(torch.diag(torch.tensor([1.0, 2.0]))).values
        tensor([2., 1.], dtype=torch.float64)
    """
    values, vectors = torch.linalg.eigh(matrix.double())
    return Factor(values.flip(0), vectors.flip(1))


def top_places(output: Tensor, inputs: Tensor, count: int) -> Tensor:
    """Which ``τ_i γ_j`` are the largest, as pairs (i, j) by descending product.

    Args:
        output: τ ``(m,)``.
        inputs: γ ``(n,)``.
        count: how many, at most ``m n``.

    Returns:
        ``(2, count)``, the first row i and the second j.

    Example:
        >>> top_places(torch.tensor([3.0, 1.0]), torch.tensor([4.0, 2.0]), 3)
        tensor([[0, 0, 1],
                [0, 1, 0]])
    """
    places = torch.outer(output, inputs).flatten().argsort(descending=True, stable=True)[:count]
    return torch.stack([places // len(inputs), places % len(inputs)])


def product_overlaps(output: Tensor, inputs: Tensor, first: Tensor, other: Tensor) -> Tensor:
    """The overlaps of the spaces of the first k eigenvectors of two products, for all k at once.

    ``(1/k) Σ (r_i · r'_i')² (t_j · t'_j')²`` over the first k pairs (i, j) of one and of the other.

    Args:
        output: ``(m, m)`` the squares ``(r_i · r'_i')²``, or what is expected of them.
        inputs: ``(n, n)`` those of the inputs' eigenvectors.
        first: the pairs of one product, as :func:`top_places` gives them, ``(2, K)``.
        other: those of the other.

    Returns:
        ``(K,)``, for k from 1 to K.

    Source: wu2022dissecting, (267).

    Example:
        >>> places = top_places(torch.tensor([2.0, 1.0]), torch.tensor([1.0]), 2)
        >>> product_overlaps(torch.full((2, 2), 0.5), torch.ones(1, 1), places, places)
        tensor([0.5000, 1.0000])
    """
    (i, j), (p, q) = first, other
    squares = output[i[:, None], p] * inputs[j[:, None], q]
    counts = torch.arange(1, len(squares) + 1, dtype=squares.dtype, device=squares.device)
    return squares.cumsum(dim=0).cumsum(dim=1).diagonal() / counts


def permuted_squares(first: Tensor, other: Tensor) -> Tensor:
    """``E (r_i · P r'_i')²`` over all permutations P of the outputs.

    For unit vectors with the sums s and s' it is ``1/m + (s² − 1)(s'² − 1) / (m (m − 1))``: two
    entries ``r'_a r'_b``, a ≠ b, are on average ``(s'² − 1) / (m (m − 1))``. Hidden units of
    independently trained networks stand in any order with the same chance, and so this is what is
    expected, whatever the eigenvectors are.

    Args:
        first: eigenvectors r as columns, ``(m, m)``.
        other: r'.

    Example:
        >>> permuted_squares(torch.eye(2), torch.eye(2))
        tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]])
    """
    m = len(first)
    excess, others = (vectors.sum(dim=0).square() - 1 for vectors in (first, other))
    return (1 + torch.outer(excess, others) / max(m - 1, 1)) / m
