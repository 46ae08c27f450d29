"""Several inputs and outputs: what is compared for Corollaries B.1 to B.3, D.3.3 and D.4."""

from itertools import combinations

import numpy as np

from hessian_papers.studies.identities.identities.comparison import (
    ROOT,
    Check,
    Compared,
    basis,
    excess,
    holds,
    ratio,
    relative,
    same,
    vectors,
    worst,
)
from hessian_papers.studies.identities.identities.linear.checks import outliers


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


def _largest_of_blocks(one: Compared) -> float:
    """λ_max of the Hessian without the blocks of two layers."""
    of, count = one.matrix(), int(one.number("first_size"))
    blocks = of[:count, :count], of[count:, count:]
    return max(float(np.linalg.eigvalsh(block)[-1]) for block in blocks)


def _trace(one: Compared) -> float:
    return np.trace(one.matrix())


def _largest(one: Compared) -> float:
    return one.eigenvalues[-1]


_whitened = holds("whitened")


def _whitened_square(one: Compared) -> bool:
    return bool(_whitened(one) and one.number("square"))


def _whitened_fitted(one: Compared) -> bool:
    """Whitened inputs and no loss: there the Hessian is the GGN."""
    return bool(_whitened(one) and one.measured("loss").item() < 1e-20 * one.size)


CHECKS = {
    "multi_input": {
        "multi-input-spectrum": Check(same("eigenvalues")),
        "multi-input-decoupled": Check(same("decoupled", "eigenvalues")),
        "diagonal-networks": Check(
            same("eigenvalues"), where=lambda one: bool(one.number("width") == 1)
        ),
        "mixture": Check(same("outputs")),
    },
    "correlated_input": {
        "correlated-spectrum": Check(same("eigenvalues")),
    },
    "multi_output": {
        "multi-output-spectrum": Check(same("eigenvalues")),
        "multi-output-basis": Check(basis()),
        "multi-output-vector": Check(vectors("outlier_vectors", "outliers")),
        "multi-output-display": Check(same("hessian"), same("printed_hessian", "hessian")),
    },
    "orthogonal": {
        "orthogonal-spectrum": Check(same("eigenvalues")),
        # For one input both outliers stand where they do without bias.
        "orthogonal-plain": Check(
            same("pair", outliers),
            tolerance=ROOT,
            where=lambda one: bool(one.number("inputs") == 1),
        ),
        "orthogonal-pair": Check(_pair_sum),
    },
    "matrices": {
        "matrices-blocks": Check(_blocks),
        "matrices-trace": Check(ratio("trace", _trace)),
        "matrices-frobenius": Check(ratio("frobenius_trace", _trace), where=_whitened_square),
        "matrices-lower-bound": Check(
            lambda one: excess(one.number("largest_block"), _largest(one), one.size)
        ),
        "matrices-block-diagonal": Check(
            ratio("largest_norm", _largest_of_blocks),
            ratio("printed_largest_norm", _largest_of_blocks),
            where=_whitened,
        ),
        "matrices-ggn": Check(
            ratio("sum_of_norms", lambda one: one.measured("ggn_sharpness").item()), where=_whitened
        ),
        "matrices-sharpness": Check(
            ratio("sum_of_norms", _largest),
            ratio("printed_sharpness", _largest),
            where=_whitened_fitted,
        ),
    },
}
