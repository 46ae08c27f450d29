"""Several inputs and outputs: what is compared for Corollaries B.1 to B.3, D.3.3 and D.4."""

from itertools import combinations

import numpy as np

from hessian_spectra.studies.identities.identities.comparison import (
    ROOT,
    Check,
    Compared,
    basis,
    excess,
    ratio,
    relative,
    same,
    vectors,
    worst,
)
from hessian_spectra.studies.identities.identities.linear.checks import outliers


def _pair_sum(one: Compared) -> float:
    """The smallest |λ_i + λ_j − tr(H)/D| over all pairs, over the largest eigenvalue."""
    values, share = one.eigenvalues, one.number("trace_share")
    nearest = min(abs(first + second - share) for first, second in combinations(values, 2))
    trace_error = abs(values.sum() / one.number("inputs") - share)
    return worst(nearest, trace_error) / one.scale


def _blocks(one: Compared) -> float:
    """Both diagonal blocks of the Hessian."""
    of, count = one.matrix(), int(one.number("first_size"))
    blocks = {"first_block": of[:count, :count], "second_block": of[count:, count:]}
    return worst(*(relative(one.stated(name), block.ravel()) for name, block in blocks.items()))


def _trace(one: Compared) -> float:
    return np.trace(one.matrix())


def _largest(one: Compared) -> float:
    return one.eigenvalues[-1]


def _whitened(one: Compared) -> bool:
    return bool(one.number("whitened"))


def _whitened_square(one: Compared) -> bool:
    return bool(one.number("whitened") and one.number("square"))


def _whitened_fitted(one: Compared) -> bool:
    """Whitened inputs and no loss: there the Hessian is the GGN."""
    return _whitened(one) and one.measured("loss").item() < 1e-20 * one.size


CHECKS = {
    "multi_input": {
        "multi-input-spectrum": Check("Corollary B.1: spectrum", same("eigenvalues")),
        "multi-input-decoupled": Check("Corollary B.1: formula", same("decoupled", "eigenvalues")),
        "diagonal-networks": Check(
            "diagonal networks",
            same("eigenvalues"),
            where=lambda one: bool(one.number("width") == 1),
        ),
        "mixture": Check("eq. (114): mixture", same("outputs")),
    },
    "correlated_input": {
        "correlated-spectrum": Check("correlated inputs (ours)", same("eigenvalues")),
    },
    "multi_output": {
        "multi-output-spectrum": Check("Corollary B.2: spectrum", same("eigenvalues")),
        "multi-output-basis": Check("Corollary B.2: eigenvectors", basis()),
        "multi-output-vector": Check("Corollary B.3", vectors("outlier_vectors", "outliers")),
        "multi-output-display": Check(
            "eq. (116): order", same("hessian"), same("printed_hessian", "hessian")
        ),
    },
    "orthogonal": {
        "orthogonal-spectrum": Check("orthogonal layer (ours)", same("eigenvalues")),
        # For one input both outliers stand where they do without bias.
        "orthogonal-plain": Check(
            "eq. (106): no bias",
            same("pair", outliers),
            tolerance=ROOT,
            where=lambda one: bool(one.number("inputs") == 1),
        ),
        "orthogonal-pair": Check("section 4.1: pair sum", _pair_sum),
    },
    "matrices": {
        "matrices-blocks": Check("D.3.3: blocks", _blocks),
        "matrices-trace": Check("D.4: trace, any inputs", ratio("trace", _trace)),
        "matrices-frobenius": Check(
            "D.4: trace, whitened",
            ratio("frobenius_trace", _trace),
            where=_whitened_square,
        ),
        "matrices-lower-bound": Check(
            "D.3.3: lower bound",
            lambda one: excess(one.number("largest_norm"), _largest(one), one.size),
            where=_whitened,
        ),
        "matrices-ggn": Check(
            "λ_max of the GGN",
            ratio("sum_of_norms", lambda one: one.measured("ggn_sharpness").item()),
            where=_whitened,
        ),
        "matrices-sharpness": Check(
            "D.3.3: λ_max",
            ratio("sum_of_norms", _largest),
            ratio("printed_sharpness", _largest),
            where=_whitened_fitted,
        ),
    },
}
