"""The equations of anon2026data on deep linear networks, written down as the paper has them.

What is wrong there is called ``printed``. Weights are ``W_1, ..., W_L``, inputs ``x (n, d_0)``: the
paper's X is the transpose.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf


def prefixes(weights: Sequence[Tensor]) -> list[Tensor]:
    """``P_l = W_{l-1} ... W_1``, without the inputs."""
    found = [torch.eye(weights[0].shape[1], dtype=torch.float64)]
    for weight in weights[:-1]:
        found.append(weight @ found[-1])
    return found


def suffixes(weights: Sequence[Tensor]) -> list[Tensor]:
    """``S_l = W_L ... W_{l+1}``."""
    found = [torch.eye(len(weights[-1]), dtype=torch.float64)]
    for weight in reversed(weights[1:]):
        found.append(found[-1] @ weight)
    return found[::-1]


def jacobian_product(weights: Sequence[Tensor], x: Tensor, probe: Tensor) -> Tensor:
    """Eq. (4): ``Σ_l ((P_l X)ᵀ ⊗ S_l) vec(Z_l)``, for ``probe`` the Z_l row by row.

    Returns:
        ``(n d_L,)``, the outputs of one sample after those of another.
    """
    total = torch.zeros(len(x) * len(weights[-1]), dtype=torch.float64)
    parts = probe.split([weight.numel() for weight in weights])
    for weight, p, s, part in zip(
        weights, prefixes(weights), suffixes(weights), parts, strict=True
    ):
        by_columns = part.view_as(weight).mT.flatten()
        total += torch.kron(x @ p.mT, s) @ by_columns
    return total


def kernel_eigenvalues(
    terms: Sequence[tuple[Tensor, Tensor]], x: Tensor, parameters: int
) -> Tensor:
    """Eq. (5), (8): the eigenvalues of ``Σ_l (XᵀA_l X / n) ⊗ B_l``, with or without zeros.

    Returns:
        As many as there are parameters, ascending.
    """
    matrix = torch.stack(
        [torch.kron((x @ a @ x.mT / len(x)).contiguous(), b.contiguous()) for a, b in terms]
    ).sum(0)
    return with_zeros(torch.linalg.eigvalsh(matrix), parameters)


def with_zeros(values: Tensor, count: int) -> Tensor:
    """The largest ``count`` of eigenvalues that are not negative; zeros where there are fewer."""
    largest = values.sort(descending=True).values[:count]
    return torch.cat([largest, largest.new_zeros(count - len(largest))]).flip(0)


def quotients(first: Tensor, last: Tensor, depth: int) -> Tensor:
    """Eq. (9b) for all pairs; singular values that differ by round-off only count as equal."""
    i, j = first[:, None].expand(-1, len(last)), last.expand(len(first), -1)
    equal = (i - j).abs() <= 1e-9 * torch.maximum(i, j)
    divisor = torch.where(equal, 1.0, i**2 - j**2)
    unequal = (i ** (2 * depth) - j ** (2 * depth)) / divisor
    return torch.where(equal, depth * i ** (2 * (depth - 1)), unequal).flatten()


def pair_vectors(first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """Eq. (16) for the parameters: ``Jᵀ q_ij``, that is ``W_2ᵀ u_j v_iᵀ`` and ``u_j (W_1 v_i)ᵀ``.

    Returns:
        The vectors ``(p, k)``, not normalised, and ``σ_i²(W_1) + σ_j²(W_2)`` ``(k,)``, of the pairs
        for which that is not 0.
    """
    s_1, v = torch.linalg.svd(first)[1:]
    u, s_2, _ = torch.linalg.svd(last)
    s_1 = torch.cat([s_1, s_1.new_zeros(len(v) - len(s_1))])
    s_2 = torch.cat([s_2, s_2.new_zeros(len(u) - len(s_2))])
    columns, values = [], []
    for i, row in enumerate(v):
        for j, column in enumerate(u.mT):
            value = s_1[i] ** 2 + s_2[j] ** 2
            if value > 1e-20 * (s_1[0] ** 2 + s_2[0] ** 2):
                parts = torch.outer(last.mT @ column, row), torch.outer(column, first @ row)
                columns.append(torch.cat([part.flatten() for part in parts]))
                values.append(value)
    return torch.stack(columns, dim=1), torch.stack(values)


def printed_pairs(
    weights: Sequence[Tensor], input_scale: float, last_input: int, last_output: int
) -> Tensor:
    """Eq. (9), (15): the pairs of the indices i and j up to the last ones.

    Returns:
        As many eigenvalues as there are parameters: what is not mentioned in print is 0.
    """
    spectrum = cf.pair_eigenvalues(
        torch.linalg.svdvals(weights[0])[:last_input],
        torch.linalg.svdvals(weights[-1])[:last_output],
        last_input,
        last_output,
        depth=len(weights),
        input_scale=input_scale,
        index_set="printed",
    )
    return with_zeros(spectrum.eigenvalues, sum(weight.numel() for weight in weights))


def printed_trace(weights: Sequence[Tensor], x: Tensor, input_scale: float) -> Tensor:
    """Eq. (7) with the P_l of eq. (4), whose brace spans the inputs X as well."""
    pairs = zip(prefixes(weights), suffixes(weights), strict=True)
    terms = [(x @ p.mT).square().sum() * s.square().sum() for p, s in pairs]
    return input_scale**2 * torch.stack(terms).sum()


def printed_largest_share(size: int, share: float, classes: int) -> float:
    """Appendix C: floor((1 - α) n) samples of each other class; the rest are of the largest one."""
    return 1 - (classes - 1) * math.floor((1 - share) * size) / size
