"""The two-layer linear network: what is compared for Theorems 3.1 to 3.3 and their equations."""

import numpy as np

from hessian_papers.studies.identities.identities.comparison import (
    ROOT,
    Check,
    Compared,
    Error,
    basis,
    excess,
    gap,
    has_bulk,
    ratio,
    relative,
    same,
    vanishes,
    vectors,
    worst,
)


def outliers(one: Compared) -> np.ndarray:
    """Both measured outliers, the larger one first.

    Between the two bulk eigenvalues, of multiplicity m - 1 each, lies the smaller outlier, and
    above both the larger one, so the places are known.
    """
    return one.eigenvalues[[-1, len(one.eigenvalues) // 2 - 1]]


def _trace(one: Compared) -> float:
    """tr(H) against the sum of the outliers and against σ²(‖w‖² + ‖v‖²)."""
    trace = np.trace(one.matrix())
    away = np.abs(trace - np.array([outliers(one).sum(), one.number("trace")]))
    return float(away.max() / one.scale)


def _order(one: Compared) -> float:
    """By how much -|δx| <= λ_2 <= |δx| <= λ_1 is violated."""
    bulk, (high, low) = np.abs(one.number("residual_covariance")), outliers(one)
    pairs = (-bulk, low), (low, bulk), (bulk, high)
    return worst(*(excess(less, more, one.size) for less, more in pairs))


def gradient(one: Compared) -> float:
    """The gradient's error over ‖H‖ ‖θ‖, which stays a scale where the gradient vanishes."""
    away = np.abs(one.stated("gradient") - one.measured("gradient")).max()
    return float(away / (one.size * np.abs(one.stated("theta")).max() or 1.0))


def _hessian_gradient(one: Compared) -> float:
    """The error of H∇ℓ over ‖H‖² ‖θ‖."""
    of = one.matrix()
    away = np.abs(one.stated("hessian_gradient") - of @ one.measured("gradient")).max()
    return float(away / (np.linalg.norm(of, 2) ** 2 * np.abs(one.stated("theta")).max() or 1.0))


def _at_probe(one: Compared) -> float:
    """|H − λ I| at a λ away from the spectrum, from the measured eigenvalues."""
    return float(np.prod(one.eigenvalues - one.number("probe")))


def _schur(theirs: str) -> Error:
    return ratio(theirs, lambda one: _at_probe(one) / one.number("lower_determinant"))


def _smallest(theirs: str) -> Error:
    return gap(theirs, lambda one: one.eigenvalues[0], lambda one: one.size)


def _relative_norm(one: Compared) -> float:
    """The smaller norm of the two vectors of Theorem 3.2, over the size that they usually have."""
    norms = np.linalg.norm(one.columns("outlier_vectors"), axis=0)
    usual = np.abs(one.stated("outliers")).max() * np.linalg.norm(one.stated("theta"))
    return float(norms.min() / (usual or 1.0))


def _regular(one: Compared) -> bool:
    """Both vectors of Theorem 3.2 are there."""
    return not _relative_norm(one) <= 1e-4


def _vanishing(one: Compared) -> bool:
    """One of them is zero up to round-off."""
    return _relative_norm(one) < 1e-12


def _residual_left(one: Compared) -> bool:
    """The gradient does not vanish."""
    return _regular(one) and bool(np.abs(one.number("residual_covariance")) > 1e-4 * one.size)


def _solved(one: Compared) -> bool:
    """The residual is uncorrelated with the input."""
    return bool(np.abs(one.number("residual_covariance")) < 1e-13 * one.number("trace"))


def _norms(one: Compared) -> float:
    """How far the norms of the two printed vectors are from 1, in units of the larger of both."""
    norms = np.linalg.norm(one.columns("outlier_vectors"), axis=0)
    return float((np.abs(norms - 1) / np.maximum(norms, 1)).max())


def _cosine(one: Compared) -> float:
    """How far they are from being orthogonal."""
    first, second = one.columns("outlier_vectors").T
    norms = np.linalg.norm(first) * np.linalg.norm(second)
    return float(np.abs(first @ second) / (norms or 1.0))


def _loss_bound(one: Compared) -> float:
    """By how much |δx| <= √(2ℓ) σ and λ_min >= -√(2ℓ) σ are violated."""
    below = np.abs(one.number("residual_covariance")), -one.eigenvalues[0]
    return worst(*(excess(value, one.number("loss_bound"), one.size) for value in below))


def _rank_one(one: Compared) -> float:
    """The trace and zeros against the measured eigenvalues."""
    expected = np.zeros_like(one.eigenvalues)
    expected[-1] = one.number("trace")
    return relative(expected, one.eigenvalues)


def _orthogonal_iterates(one: Compared) -> float:
    """The cosine of the parameters and of the gradient with the bulk eigenspace."""
    bulk, iterates = one.columns("bulk_space"), (one.stated("theta"), one.measured("gradient"))
    return worst(*(np.linalg.norm(bulk.T @ z) / (np.linalg.norm(z) or 1.0) for z in iterates))


def _constant_bulk(one: Compared) -> float:
    """After one step of gradient descent: is the old bulk eigenspace the new one?"""
    z, of = one.columns("bulk_space"), one.matrix("next_hessian")
    inside = z.T @ of @ z
    leak = np.linalg.norm(of @ z - z @ inside, 2)
    dx = np.abs(one.number("next_residual_covariance"))
    bulk = np.repeat([-dx, dx], z.shape[1] // 2)
    moved = np.abs(np.linalg.eigvalsh((inside + inside.T) / 2) - bulk).max()
    return worst(leak, moved) / float(np.linalg.norm(of, 2) or 1.0)


CHECKS = {
    "linear": {
        "linear-spectrum": Check(same("eigenvalues")),
        "linear-basis": Check(basis()),
        "linear-root": Check(same("outliers_by_root", outliers), tolerance=ROOT),
        "linear-squares": Check(same("outliers_by_squares", outliers), tolerance=ROOT),
        "linear-trace-form": Check(same("outliers_by_trace", outliers), tolerance=ROOT),
        "linear-trace": Check(_trace),
        "linear-product": Check(
            gap("product", lambda one: -outliers(one).prod(), lambda one: one.size**2)
        ),
        "linear-order": Check(_order),
        "linear-gradient": Check(gradient),
        "linear-hessian": Check(same("hessian")),
        "linear-hessian-gradient": Check(_hessian_gradient),
        "linear-determinant": Check(ratio("determinant", _at_probe)),
        "linear-outlier-vector": Check(vectors("outlier_vectors", "outliers"), where=_regular),
        "linear-gradient-vector": Check(
            vectors("gradient_vectors", "outliers"), where=_residual_left
        ),
        "linear-orthogonal-iterates": Check(_orthogonal_iterates, where=has_bulk),
        "linear-constant-bulk": Check(_constant_bulk, where=has_bulk),
        "linear-loss-bound": Check(_loss_bound),
        "linear-rank-one": Check(_rank_one, where=_solved),
        "linear-poster": Check(
            same("outliers", outliers), same("printed_poster_outliers", outliers)
        ),
        "linear-bulk-sign": Check(
            vectors("bulk_vectors", "bulk_values"),
            vectors("printed_bulk_vectors", "bulk_values"),
            where=has_bulk,
        ),
        "linear-zero-vector": Check(
            basis(),
            # A vector of zeros is no direction at all.
            lambda one: float(_vanishing(one)),
            where=_vanishing,
        ),
        "linear-orthonormal": Check(_cosine, _norms, where=_regular),
        "linear-smallest": Check(_smallest("smallest"), _smallest("printed_smallest")),
        "linear-display": Check(same("hessian"), same("printed_hessian", "hessian")),
        "linear-display-2024": Check(same("hessian"), same("printed_hessian_2024", "hessian")),
        "linear-cubic": Check(vanishes("cubic", outliers), vanishes("printed_cubic", outliers)),
        "linear-schur-14": Check(_schur("schur"), _schur("printed_schur_14")),
        "linear-schur-16": Check(_schur("schur"), _schur("printed_schur_16")),
    },
}
