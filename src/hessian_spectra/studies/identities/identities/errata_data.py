"""What is wrong in print about deep linear networks, implemented as it is printed.

Nothing here is used for results: the study measures how far these forms are from brute force.
Equation numbers are those of anon2026data.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.studies.identities.identities.deep_formulas import (
    prefixes,
    suffixes,
    with_zeros,
)


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
