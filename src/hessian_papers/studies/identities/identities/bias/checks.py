"""The linear network with bias: what is compared for Theorem B.1 and its sextic."""

import numpy as np

from hessian_papers.studies.identities.identities.comparison import (
    ROOT,
    Check,
    Compared,
    excess,
    has,
    relative,
    same,
    vanishes,
    worst,
)


def _trace(one: Compared) -> float:
    """tr(H) = 2 (‖v‖² + ‖w‖²), of which pair and triple each make up one half."""
    pair, triple = one.stated("pair"), one.stated("triple")
    shares = np.array([2 * one.number("half_trace"), 2 * pair.sum(), 2 * triple.sum()])
    return relative(shares, np.full(3, np.trace(one.matrix())))


def _bound(one: Compared) -> float:
    """By how much the measured triple leaves (‖v‖² + ‖w‖²)/3 ± t'."""
    values, triple = one.eigenvalues, one.stated("triple")
    nearest = values[np.abs(values[None] - triple[:, None]).argmin(axis=1)]
    away = np.abs(nearest - one.number("half_trace") / 3)
    return worst(*(excess(distance, one.number("bound"), one.size) for distance in away))


# At width 2 the sextic has all six eigenvalues for roots; other instances hold none.
_sextic = vanishes("sextic", "eigenvalues")

CHECKS = {
    "bias": {
        "bias-spectrum": Check(same("eigenvalues")),
        "bias-print": Check(same("spectrum", "eigenvalues"), tolerance=ROOT, where=has("spectrum")),
        "bias-trace": Check(_trace),
        "bias-bound": Check(_bound),
        "bias-hessian": Check(same("hessian")),
        "bias-quintic": Check(vanishes("quintic", "eigenvalues"), where=has("quintic")),
        "bias-display": Check(same("hessian"), same("printed_hessian", "hessian")),
    },
    "parallel": {
        "bias-parallel": Check(same("spectrum", "eigenvalues"), where=has("spectrum")),
    },
    "sextic": {
        "sextic-spectrum": Check(same("eigenvalues")),
        "sextic-norm": Check(
            _sextic, vanishes("printed_sextic_norm", "eigenvalues"), where=has("sextic")
        ),
        "sextic-sign": Check(
            _sextic, vanishes("printed_sextic_sign", "eigenvalues"), where=has("sextic")
        ),
    },
}
