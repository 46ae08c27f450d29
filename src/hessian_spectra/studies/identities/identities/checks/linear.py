"""The two-layer linear network: what is compared for Theorems 3.1 to 3.3 and their equations."""

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks.check import (
    ROOT,
    Check,
    Errors,
    among,
    basis,
    largest,
    same,
    vanishes,
    vectors,
)
from hessian_spectra.studies.identities.identities.checks.ragged import (
    columns,
    each,
    excess,
    numbers,
    parts,
    relative,
    square,
)

_SIZES = largest("linear")


def _outliers(exact: Arrays, numeric: Arrays) -> list[np.ndarray]:
    """Both outliers of brute force, the larger one first.

    Between the two bulk eigenvalues, of multiplicity m - 1 each, lies the smaller outlier, and
    above both the larger one, so the places are known.
    """
    found = parts(numeric, "linear.eigenvalues")
    return [values[[-1, len(values) // 2 - 1]] for values in found]


def _outlier_errors(theirs: str) -> Errors:
    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        return each(relative, parts(exact, f"linear.{theirs}"), _outliers(exact, numeric))

    return errors


def _trace(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """tr(H) against the sum of the outliers and against σ²(‖w‖² + ‖v‖²)."""
    traces = np.array([np.trace(square(part)) for part in parts(numeric, "linear.hessian")])
    sums = np.array([pair.sum() for pair in _outliers(exact, numeric)])
    found = np.maximum(np.abs(traces - sums), np.abs(traces - numbers(exact, "linear.trace")))
    return found / np.where(_SIZES(numeric) > 0, _SIZES(numeric), 1.0)


def _product(exact: Arrays, numeric: Arrays) -> np.ndarray:
    products = np.array([-pair.prod() for pair in _outliers(exact, numeric)])
    return np.abs(products - numbers(exact, "linear.product")) / _SIZES(numeric) ** 2


def _order(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much -|δx| <= λ_2 <= |δx| <= λ_1 is violated."""
    bulk = np.abs(numbers(exact, "linear.residual_covariance"))
    pairs, sizes = _outliers(exact, numeric), _SIZES(numeric)
    return np.array(
        [
            max(excess(-d, low, s), excess(low, d, s), excess(d, high, s))
            for (high, low), d, s in zip(pairs, bulk, sizes, strict=True)
        ]
    )


def _gradient(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The gradient's error over ‖H‖ ‖θ‖, which stays a scale where the gradient vanishes."""

    def one(found: np.ndarray, true: np.ndarray, theta: np.ndarray, size: float) -> float:
        scale = size * np.abs(theta).max()
        return float(np.abs(found - true).max() / (scale if scale > 0 else 1.0))

    return each(
        one,
        parts(exact, "linear.gradient"),
        parts(numeric, "linear.gradient"),
        parts(exact, "linear.theta"),
        _SIZES(numeric),
    )


def _hessian_gradient(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The error of H∇ℓ over ‖H‖² ‖θ‖."""

    def one(found: np.ndarray, matrix: np.ndarray, slope: np.ndarray, theta: np.ndarray) -> float:
        of = square(matrix)
        scale = np.linalg.norm(of, 2) ** 2 * np.abs(theta).max()
        return float(np.abs(found - of @ slope).max() / (scale if scale > 0 else 1.0))

    return each(
        one,
        parts(exact, "linear.hessian_gradient"),
        parts(numeric, "linear.hessian"),
        parts(numeric, "linear.gradient"),
        parts(exact, "linear.theta"),
    )


def _determinant(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """|H − λ I| at a λ away from the spectrum, from the eigenvalues of brute force."""
    probes = numbers(exact, "linear.probe")
    found = parts(numeric, "linear.eigenvalues")
    true = np.array([np.prod(values - p) for values, p in zip(found, probes, strict=True)])
    return np.abs(numbers(exact, "linear.determinant") / true - 1)


def _schur(theirs: str) -> Errors:
    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        probes = numbers(exact, "linear.probe")
        found = parts(numeric, "linear.eigenvalues")
        true = np.array([np.prod(values - p) for values, p in zip(found, probes, strict=True)])
        true = true / numbers(exact, "linear.lower_determinant")
        return np.abs(numbers(exact, f"linear.{theirs}") / true - 1)

    return errors


def _relative_norms(exact: Arrays) -> np.ndarray:
    """The smaller norm of the two vectors of Theorem 3.2, over the size that they usually have."""
    found = []
    for flat, pair, theta in zip(
        parts(exact, "linear.outlier_vectors"),
        parts(exact, "linear.outliers"),
        parts(exact, "linear.theta"),
        strict=True,
    ):
        norms = np.linalg.norm(columns(flat, len(theta)), axis=0)
        usual = np.abs(pair).max() * np.linalg.norm(theta)
        found.append(float(norms.min() / (usual if usual > 0 else 1.0)))
    return np.array(found)


def _regular(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Both vectors of Theorem 3.2 are there."""
    return ~(_relative_norms(exact) <= 1e-4)


def _vanishing(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """One of them is zero up to round-off."""
    return _relative_norms(exact) < 1e-12


def _residual_left(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The gradient does not vanish."""
    dx = np.abs(numbers(exact, "linear.residual_covariance"))
    return _regular(exact, numeric) & (dx > 1e-4 * _SIZES(numeric))


def _zero_vector(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The error of the print: 1, no direction at all, where one of its vectors is zero."""
    return np.where(_relative_norms(exact) < 1e-12, 1.0, 0.0)


def _norms(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """How far the norms of the two printed vectors are from 1, in units of the larger of both."""
    found = []
    for flat in parts(exact, "linear.outlier_vectors"):
        norms = np.linalg.norm(flat.reshape(-1, 2), axis=0)
        found.append(float((np.abs(norms - 1) / np.maximum(norms, 1)).max()))
    return np.array(found)


def _cosine(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """How far they are from being orthogonal."""
    found = []
    for flat in parts(exact, "linear.outlier_vectors"):
        first, second = flat.reshape(-1, 2).T
        norms = float(np.linalg.norm(first) * np.linalg.norm(second))
        found.append(abs(float(first @ second)) / norms if norms > 0 else 0.0)
    return np.array(found)


def _smallest(theirs: str) -> Errors:
    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        lowest = np.array([values[0] for values in parts(numeric, "linear.eigenvalues")])
        return np.abs(lowest - numbers(exact, f"linear.{theirs}")) / _SIZES(numeric)

    return errors


def _loss_bound(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much |δx| <= √(2ℓ) σ and λ_min >= -√(2ℓ) σ are violated."""
    found = []
    for dx, bound, values in zip(
        numbers(exact, "linear.residual_covariance"),
        numbers(exact, "linear.loss_bound"),
        parts(numeric, "linear.eigenvalues"),
        strict=True,
    ):
        size = np.abs(values).max()
        found.append(max(excess(abs(dx), bound, size), excess(-values[0], bound, size)))
    return np.array(found)


def _solved(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The residual is uncorrelated with the input."""
    dx = np.abs(numbers(exact, "linear.residual_covariance"))
    return dx < 1e-13 * numbers(exact, "linear.trace")


def _rank_one(exact: Arrays, numeric: Arrays) -> np.ndarray:
    found = []
    traces = numbers(exact, "linear.trace")
    for values, trace in zip(parts(numeric, "linear.eigenvalues"), traces, strict=True):
        expected = np.zeros_like(values)
        expected[-1] = trace
        found.append(relative(expected, values))
    return np.array(found)


def _bulk(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """There is a bulk."""
    return numbers(exact, "linear.width") > 1


def _orthogonal_iterates(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The cosine of the parameters and of the gradient with the bulk eigenspace."""

    def one(space: np.ndarray, theta: np.ndarray, gradient: np.ndarray) -> float:
        z, cosines = columns(space, len(theta)), [0.0]
        for vector in (theta, gradient):
            norm = float(np.linalg.norm(vector))
            cosines.append(float(np.linalg.norm(z.T @ vector)) / (norm if norm > 0 else 1.0))
        return max(cosines)

    return each(
        one,
        parts(exact, "linear.bulk_space"),
        parts(exact, "linear.theta"),
        parts(numeric, "linear.gradient"),
    )


def _constant_bulk(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """After one step of gradient descent: is the old bulk eigenspace the new one?"""

    def one(space: np.ndarray, matrix: np.ndarray, dx: float) -> float:
        of = square(matrix)
        z, size = columns(space, len(of)), np.linalg.norm(of, 2)
        if z.shape[1] == 0:
            return 0.0
        inside = z.T @ of @ z
        leak = np.linalg.norm(of @ z - z @ inside, 2)
        bulk = np.repeat([-abs(dx), abs(dx)], z.shape[1] // 2)
        moved = np.abs(np.linalg.eigvalsh((inside + inside.T) / 2) - bulk).max()
        return float(max(leak, moved) / (size if size > 0 else 1.0))

    return each(
        one,
        parts(exact, "linear.bulk_space"),
        parts(numeric, "linear.next_hessian"),
        numbers(exact, "linear.next_residual_covariance"),
    )


CHECKS = {
    "linear-spectrum": Check("Theorem 3.1: spectrum", same("eigenvalues", "linear")),
    "linear-basis": Check("Theorems 3.2, 3.3: eigenvectors", basis("linear")),
    "linear-root": Check("eq. (1): outliers", _outlier_errors("outliers_by_root"), None, ROOT),
    "linear-squares": Check(
        "eq. (2): outliers", _outlier_errors("outliers_by_squares"), None, ROOT
    ),
    "linear-trace-form": Check(
        "eq. (122): outliers", _outlier_errors("outliers_by_trace"), None, ROOT
    ),
    "linear-trace": Check("sum of the outliers", _trace),
    "linear-product": Check("product of the outliers", _product),
    "linear-order": Check("footnote a: order", _order),
    "linear-gradient": Check("eq. (5), (6): gradient", _gradient),
    "linear-hessian": Check("eq. (7) to (9): Hessian", same("hessian", "linear")),
    "linear-hessian-gradient": Check("eq. (12): H∇ℓ", _hessian_gradient),
    "linear-determinant": Check("eq. (32): polynomial", _determinant),
    "linear-outlier-vector": Check(
        "Theorem 3.2: formula", among(vectors("linear", "outlier_vectors", "outliers"), _regular)
    ),
    "linear-gradient-vector": Check(
        "Theorem 3.2: by gradient",
        among(vectors("linear", "gradient_vectors", "outliers"), _residual_left),
    ),
    "linear-orthogonal-iterates": Check(
        "Corollary 3.1: orthogonal", among(_orthogonal_iterates, _bulk)
    ),
    "linear-constant-bulk": Check("Corollary 3.1: constant", among(_constant_bulk, _bulk)),
    "linear-loss-bound": Check("eq. (34): bound", _loss_bound),
    "linear-rank-one": Check("solution: rank one", among(_rank_one, _solved)),
    "linear-poster": Check(
        "poster: outliers", _outlier_errors("outliers"), _outlier_errors("printed_poster_outliers")
    ),
    "linear-bulk-sign": Check(
        "Theorem 3.3: sign",
        among(vectors("linear", "bulk_vectors", "bulk_values"), _bulk),
        among(vectors("linear", "printed_bulk_vectors", "bulk_values"), _bulk),
    ),
    "linear-zero-vector": Check(
        "Theorem 3.2: zero vector",
        among(basis("linear"), _vanishing),
        among(_zero_vector, _vanishing),
    ),
    "linear-orthonormal": Check(
        "Theorem 3.2: orthonormal", among(_cosine, _regular), among(_norms, _regular)
    ),
    "linear-smallest": Check(
        "eq. (34): λ_min", _smallest("smallest"), _smallest("printed_smallest")
    ),
    "linear-display": Check(
        "eq. (10), (11)", same("hessian", "linear"), same("printed_hessian", "linear", "hessian")
    ),
    "linear-display-2024": Check(
        "2024 eq. (12), (13)",
        same("hessian", "linear"),
        same("printed_hessian_2024", "linear", "hessian"),
    ),
    "linear-cubic": Check(
        "eq. (30)",
        vanishes("linear", "cubic", _outliers),
        vanishes("linear", "printed_cubic", _outliers),
    ),
    "linear-schur-14": Check("2024 eq. (14)", _schur("schur"), _schur("printed_schur_14")),
    "linear-schur-16": Check("2024 eq. (16)", _schur("schur"), _schur("printed_schur_16")),
}
