"""The two eigenvalues that sum most nearly to a given number, and how near chance comes to it."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# Eigenvalues closer than this share of the largest magnitude are one value: round-off is about
# 1e-15 of it, and independent eigenvalues of the spectra at hand keep a thousand times more apart.
SAME = 1e-11


class Values(NamedTuple):
    """The distinct values of a spectrum.

    Attributes:
        values: ``(g,)`` ascending.
        multiplicities: ``(g,)`` how often each occurs.
    """

    values: Tensor
    multiplicities: Tensor


def distinct_values(
    eigenvalues: Float[Tensor, " q"], multiplicities: Int[Tensor, " q"], tol: float = SAME
) -> Values:
    """Join eigenvalues that differ by round-off alone.

    Args:
        eigenvalues: in any order.
        multiplicities: how often each occurs; those that occur 0 times are left out.
        tol: neighbours closer than this share of the largest magnitude are one value.

    Returns:
        The distinct values, each the mean of what it joins.

    Example:
        >>> result = distinct_values(torch.tensor([2.0, 0.0, 2.0 + 1e-14]), torch.tensor([1, 3, 1]))
        >>> result.values.tolist(), result.multiplicities.tolist()
        ([0.0, 2.0], [3, 2])
    """
    present = multiplicities > 0
    values, order = eigenvalues[present].sort()
    counts = multiplicities[present][order]
    apart = values.diff() > tol * values.abs().max()
    group = torch.cat([apart.new_zeros(1), apart]).cumsum(0)
    totals = counts.new_zeros(int(group[-1]) + 1).index_add(0, group, counts)
    sums = values.new_zeros(len(totals)).index_add(0, group, values * counts)
    return Values(sums / totals, totals)


def closest_pair_sums(
    values: Float[Tensor, "b g"], repeated: Bool[Tensor, "b g"], target: float, count: int = 2
) -> Float[Tensor, "b count"]:
    """The ``count`` smallest ``|λ_i + λ_j − target|`` over the pairs of distinct values.

    A pair is a set of two distinct values, or one value twice if it is repeated; each counts once,
    however often its values occur. So the second smallest distance never is the smallest one again,
    made from other copies of the same two eigenvalues.

    Every value looks for the partners nearest to what it lacks, by bisection: ``O(g log g)``.

    Args:
        values: each row ascending and without repetitions.
        repeated: whether a value occurs more than once, and so has a partner like itself.
        target: the number to be reached.
        count: how many distances are wanted.

    Returns:
        Ascending; infinite where there are fewer pairs.

    Source: singh2026cracking, appendix D.1.2.

    Example:
        >>> row = torch.tensor([[-1.0, 0.0, 4.0]])
        >>> closest_pair_sums(row, torch.tensor([[False, True, False]]), 3.0).tolist()
        [[0.0, 1.0]]
    """
    rows, size = values.shape
    wanted = target - values
    place = torch.searchsorted(values, wanted)
    # The best partners are the nearest ones; a value's own place may stand among them.
    steps = torch.arange(-count - 1, count + 1)
    partner = place[:, :, None] + steps
    own = torch.arange(size)[None, :, None]
    allowed = (partner > own) | ((partner == own) & repeated[:, :, None])
    allowed &= (partner >= 0) & (partner < size)
    inside = partner.clamp(0, size - 1).reshape(rows, -1)
    distance = (values.gather(1, inside).reshape(partner.shape) - wanted[:, :, None]).abs()
    distance = distance.masked_fill(~allowed, torch.inf).reshape(rows, -1)
    return distance.topk(count, dim=1, largest=False).values


def jittered(
    values: Float[Tensor, " g"], repeated: Bool[Tensor, " g"], count: int, draws: torch.Generator
) -> tuple[Float[Tensor, "count g"], Bool[Tensor, "count g"]]:
    """Spectra like the given one, but for coincidences: each value moved by its local spacing.

    A value moves uniformly by at most half the distance between its two neighbours, up or down; one
    at an end by at most the distance to its only neighbour. Zero stays, being zero for reasons of
    rank.

    Args:
        values: ``(g,)`` distinct, ascending.
        repeated: whether each occurs more than once; copies move together.
        count: how many spectra.
        draws: where the random numbers come from.

    Returns:
        The values, ascending in each row, and which are repeated.
    """
    size = len(values)
    moves = 2 * torch.rand(count, size, generator=draws, dtype=values.dtype) - 1
    spacing = values.new_zeros(size)
    if size > 1:
        gaps = values.diff()
        spacing = (torch.cat([gaps[:1], gaps]) + torch.cat([gaps, gaps[-1:]])) / 2
    spacing = spacing.masked_fill(values.abs() <= SAME * values.abs().max(), 0.0)
    moved, order = (values + moves * spacing).sort(dim=1)
    return moved, repeated[order]
