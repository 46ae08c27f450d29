"""Deep linear networks: what is compared for the equations of anon2026data."""

import numpy as np

from hessian_papers.studies.identities.identities.comparison import (
    Check,
    Compared,
    Error,
    basis,
    excess,
    holds,
    relative,
    same,
    top,
    vectors,
    worst,
)

# How the study of the identities numbers the targets of a balanced network.
LEAST_SQUARES, ZERO_LOSS = 1, 2

_GGN = "ggn_eigenvalues"
_whitened = holds("whitened")
# Least-squares solutions, with or without loss.
_solved = holds("kind")


def _trace(theirs: str) -> Error:
    """A trace against that of the Hessian, over that of the Gauss-Newton matrix."""

    def error(one: Compared) -> float:
        size = one.measured(_GGN).sum()
        away = np.abs(one.number(theirs) - np.trace(one.matrix()))
        return float(away / (size if size > 0 else 1.0))

    return error


def _blocks(one: Compared) -> float:
    """The Hessian's diagonal blocks, over its largest entry."""
    of, ends = one.matrix(), np.cumsum(one.stated("sizes"))
    blocks = [
        of[start:end, start:end].ravel() for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    return float(np.abs(np.concatenate(blocks) - one.stated("blocks")).max() / np.abs(of).max())


def _bound(one: Compared) -> float:
    """By how much the largest Gauss-Newton eigenvalue exceeds the bound."""
    largest = one.measured(_GGN)[-1]
    return excess(largest, one.number("bound"), largest)


def _attained(one: Compared) -> float:
    """Both the formula for the largest eigenvalue and the bound that it attains."""
    return worst(*(same(name, top(_GGN))(one) for name in ("sharpness", "bound")))


def _range_of_hessian(one: Compared) -> float:
    """By how much the Hessian's largest eigenvalue leaves its two bounds."""
    largest, lower, upper = one.eigenvalues[-1], one.number("lower"), one.number("upper")
    return worst(excess(largest, upper, upper), excess(lower, largest, upper))


def _positive(one: Compared) -> float:
    """How many eigenvalues are not round-off."""
    values = one.measured(_GGN)
    return float(np.sum(values > 1e-10 * values[-1]))


def _count(one: Compared) -> float:
    """How far the number of positive eigenvalues is from the one that is stated."""
    return float(np.abs(one.number("positive") / max(_positive(one), 1) - 1))


def _too_many(one: Compared) -> float:
    """By how much more positive eigenvalues there are than print allows."""
    found = _positive(one)
    return excess(found, float(one.number("printed_positive")), max(found, 1))


def _with_loss(one: Compared) -> bool:
    """Least-squares solutions that do not fit the targets."""
    return bool(one.number("kind") == LEAST_SQUARES)


def _without_loss(one: Compared) -> bool:
    return bool(one.number("kind") == ZERO_LOSS)


def _stated(name: str) -> Error:
    """A relative miss that the closed-form side has measured."""
    return lambda one: float(one.number(name))


CHECKS = {
    "any_layers": {
        "layers-jacobian": Check(same("jacobian_product")),
        "layers-kernel": Check(same("kernel_eigenvalues", _GGN)),
        "layers-bound": Check(_bound, where=_whitened),
        "layers-trace": Check(_trace("whitened_trace"), where=_whitened),
        "layers-trace-any": Check(_trace("trace")),
        "layers-blocks": Check(_blocks),
        "layers-brace": Check(_trace("whitened_trace"), _trace("printed_trace"), where=_whitened),
    },
    "balanced": {
        "balanced-kernel": Check(same("kernel_eigenvalues", _GGN)),
        "balanced-vectors": Check(basis("ggn")),
        "balanced-quotient": Check(
            same("quotient_eigenvalues", _GGN), where=lambda one: not one.number("close")
        ),
        "balanced-sharpness": Check(_attained),
        "labels-solution": Check(
            lambda one: relative(one.measured("map"), one.stated("solution")), where=_solved
        ),
        "labels-values": Check(same("label_values", "layer_values"), where=_without_loss),
        "labels-sharpness": Check(same("label_sharpness", top("eigenvalues")), where=_without_loss),
        "labels-shares": Check(same("shares", "label_shares")),
        "labels-hessian": Check(
            lambda one: relative(one.measured("hessian"), one.measured("ggn")), where=_solved
        ),
        "balanced-pairs": Check(same("eigenvalues", _GGN), same("printed_eigenvalues", _GGN)),
        "balanced-count": Check(_count, _too_many),
        "labels-loss": Check(
            same("solution_sharpness", top("eigenvalues")),
            same("label_sharpness", top("eigenvalues")),
            where=_with_loss,
        ),
    },
    "two_layers": {
        "two-layers-sharpness": Check(same("sharpness", top(_GGN))),
        "two-layers-range": Check(_range_of_hessian),
        "two-layers-trace": Check(_trace("trace")),
        "two-layers-vectors": Check(vectors("pair_vectors", "pair_values", "ggn")),
        "two-layers-basis": Check(basis("ggn")),
        "two-layers-pairs": Check(same("eigenvalues", _GGN), same("printed_eigenvalues", _GGN)),
        "two-layers-count": Check(_count, _too_many),
    },
    "recipes": {
        "recipe-weights": Check(
            same("eigenvalues", _GGN), same("eigenvalues", "printed_ggn_eigenvalues")
        ),
        "recipe-whitening": Check(_stated("outside"), _stated("printed_outside")),
        "recipe-subset": Check(_stated("missed"), _stated("printed_missed")),
    },
}
