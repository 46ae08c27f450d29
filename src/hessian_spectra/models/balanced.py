"""Weights of deep linear networks whose layers are balanced."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hessian_spectra.validation import require


def balanced_weights(
    sizes: Sequence[int], singular_values: Sequence[float], generator: torch.Generator
) -> tuple[Tensor, ...]:
    """Random matrices W_1, ..., W_L with W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}, of given singular values.

    With S the diagonal matrix of the k singular values and U_l ``(d_l, k)`` random orthonormal
    columns, W_l = U_l S U_{l−1}ᵀ. So all layers have the same singular values, the rest being
    zeros, and those of their product are the L-th powers.

    Args:
        sizes: d_0, ..., d_L; none of them below k.
        singular_values: k of them, not negative, in any order.
        generator: where the numbers come from, on the CPU.

    Returns:
        W_l ``(d_l, d_{l−1})`` for each layer, float64.

    Raises:
        ValueError: fewer than two sizes; singular values that are none, negative or not finite; or
            a layer with fewer units than there are singular values, which cannot carry them all.

    Source: anon2026data, appendix C; step 1 there must say "left singular vectors".

    Example:
        >>> first, last = balanced_weights((3, 5, 2), [2.0, 1.0], torch.Generator().manual_seed(0))
        >>> bool(torch.allclose(first @ first.T, last.T @ last))
        True
        >>> [round(value, 9) for value in torch.linalg.svdvals(last @ first).tolist()]
        [4.0, 1.0]
    """
    count = len(singular_values)
    require(len(sizes) >= 2, "sizes", "two or more", sizes)
    fits = count >= 1 and all(math.isfinite(value) and value >= 0 for value in singular_values)
    expected = "one or more finite numbers, none below 0"
    require(fits, "singular_values", expected, list(singular_values))
    if count > min(sizes):
        layer = list(sizes).index(min(sizes))
        raise ValueError(
            f"sizes: expected at least {count} units in each layer, one for each singular value, "
            f"got d_{layer} = {sizes[layer]}; balanced layers share all singular values, so give "
            f"{min(sizes)} at most"
        )
    diagonal = torch.tensor(singular_values, dtype=torch.float64)
    bases = [_orthonormal_columns(size, count, generator) for size in sizes]
    return tuple((left * diagonal) @ right.T for right, left in itertools.pairwise(bases))


def _orthonormal_columns(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    """Uniformly distributed among all matrices with orthonormal columns."""
    gaussian = torch.randn(rows, columns, dtype=torch.float64, generator=generator)
    basis, triangle = torch.linalg.qr(gaussian)
    # The sign of a column is the solver's choice: without this the distribution would be, too.
    return basis * torch.where(triangle.diagonal() < 0, -1.0, 1.0)
