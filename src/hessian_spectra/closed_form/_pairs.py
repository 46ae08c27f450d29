"""Eigenvalues that belong to pairs of singular values, one of the first layer, one of the last."""

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._inputs import finite, times_power_of_two
from hessian_spectra.spectrum import Spectrum


def rank_of(singular_values: Float[Tensor, " k"], size: int) -> int:
    """The number of singular values, descending, above rounding errors of a matrix of this size."""
    if len(singular_values) == 0:
        return 0
    cut = size * torch.finfo(singular_values.dtype).eps * singular_values[0]
    return int((singular_values > cut).sum())


def power_sum(first: Tensor, last: Tensor, depth: int) -> Tensor:
    """``Σ_l s_i^{2(l-1)} s_j^{2(L-l)}`` with ``0⁰ = 1``, for ``s_i`` of first, ``s_j`` of last.

    A sum of terms that are not negative keeps its digits where the quotient ``(s_i^{2L} -
    s_j^{2L}) / (s_i² - s_j²)`` cancels.
    """
    largest, smallest = torch.maximum(first, last), torch.minimum(first, last)
    ratio = (smallest / torch.where(largest > 0, largest, 1.0)) ** 2
    total = torch.ones_like(ratio)
    for _ in range(depth - 1):
        total = 1 + ratio * total
    return total * largest ** (2 * (depth - 1))


def spectrum_of_pairs(
    first: Float[Tensor, " r_1"],
    last: Float[Tensor, " r_2"],
    *,
    inputs: int,
    outputs: int,
    depth: int,
    second_moment: Tensor,
    null: int,
    method: str,
    power: int = 0,
) -> Spectrum:
    """One group for each pair of positive singular values, one for each with a zero, the rest.

    Args:
        first: positive singular values of the first layer, descending.
        last: positive singular values of the last layer, descending.
        inputs: ``d_0``; the first layer has ``d_0 - r_1`` zeros beside ``first``.
        outputs: ``d_L``.
        depth: ``L``.
        second_moment: ``()`` ``σ_x²``.
        null: how many zero eigenvalues there are beside those of the pairs.
        method: the equation's name.
        power: the eigenvalues are ``2**power`` times what these numbers give.
    """
    if depth == 1:
        values, multiplicities = second_moment[None], [inputs * outputs]
        kinds, cells = ["bulk"], [""]
    else:
        zero = torch.zeros_like(second_moment)[None]
        values = second_moment * torch.cat(
            [
                power_sum(first[:, None], last, depth).flatten(),
                power_sum(first, zero, depth),
                power_sum(zero, last, depth),
                zero,
            ]
        )
        r_1, r_2 = len(first), len(last)
        rest = (inputs - r_1) * (outputs - r_2) + null
        multiplicities = [1] * (r_1 * r_2) + [outputs - r_2] * r_1 + [inputs - r_1] * r_2 + [rest]
        kinds = ["outlier"] * (r_1 * r_2) + ["bulk"] * (r_1 + r_2) + ["zero"]
        rows, columns = range(1, r_1 + 1), range(1, r_2 + 1)
        cells = [f"{i},{j}" for i in rows for j in columns]
        cells += [f"{i},0" for i in rows] + [f"0,{j}" for j in columns] + [""]
    return Spectrum(
        values=finite(times_power_of_two(values, power)),
        multiplicities=multiplicities,
        kinds=kinds,
        cells=cells,
        method=method,
    )
