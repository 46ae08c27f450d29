"""Deep linear networks: what is compared for the equations of anon2026data."""

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks.check import (
    Check,
    Errors,
    among,
    basis,
    same,
    vectors,
)
from hessian_spectra.studies.identities.identities.checks.ragged import (
    each,
    excess,
    numbers,
    parts,
    relative,
    square,
)

# How the study of the identities numbers the targets of a balanced network.
_LEAST_SQUARES, _ZERO_LOSS = 1, 2


def _whitened(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return numbers(exact, "any_layers.whitened").astype(bool)


def _trace(theirs: str, name: str) -> Errors:
    """A trace against that of the Hessian, over that of the Gauss-Newton matrix."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = [np.trace(square(part)) for part in parts(numeric, f"{name}.hessian")]
        sizes = [values.sum() for values in parts(numeric, f"{name}.ggn_eigenvalues")]
        gaps = np.abs(numbers(exact, f"{name}.{theirs}") - np.array(found))
        return gaps / np.where(np.array(sizes) > 0, sizes, 1.0)

    return errors


def _blocks(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The Hessian's diagonal blocks, over its largest entry."""
    found = []
    for flat, matrix, sizes in zip(
        parts(exact, "any_layers.blocks"),
        parts(numeric, "any_layers.hessian"),
        parts(exact, "any_layers.sizes"),
        strict=True,
    ):
        of, ends = square(matrix), np.cumsum(sizes)
        blocks = [of[e - s : e, e - s : e].ravel() for s, e in zip(sizes, ends, strict=True)]
        found.append(float(np.abs(np.concatenate(blocks) - flat).max() / np.abs(of).max()))
    return np.array(found)


def _bound(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the largest Gauss-Newton eigenvalue exceeds the bound."""
    largest = [values[-1] for values in parts(numeric, "any_layers.ggn_eigenvalues")]
    return each(excess, largest, numbers(exact, "any_layers.bound"), largest)


def _largest(name: str, theirs: str, of: str) -> Errors:
    """A number against the largest of brute force's eigenvalues."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = [values[-1:] for values in parts(numeric, f"{name}.{of}")]
        return each(relative, parts(exact, f"{name}.{theirs}"), found)

    return errors


def _range_of_hessian(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the Hessian's largest eigenvalue leaves its two bounds."""
    found = []
    for values, lower, upper in zip(
        parts(numeric, "two_layers.eigenvalues"),
        numbers(exact, "two_layers.lower"),
        numbers(exact, "two_layers.upper"),
        strict=True,
    ):
        found.append(max(excess(values[-1], upper, upper), excess(lower, values[-1], upper)))
    return np.array(found)


def _positive(numeric: Arrays, name: str) -> np.ndarray:
    """How many eigenvalues are not round-off."""
    found = parts(numeric, f"{name}.ggn_eigenvalues")
    return np.array([float(np.sum(values > 1e-10 * values[-1])) for values in found])


def _count(name: str) -> Errors:
    """How far the number of positive eigenvalues is from the one that is stated."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = _positive(numeric, name)
        return np.abs(numbers(exact, f"{name}.positive") / np.maximum(found, 1) - 1)

    return errors


def _too_many(name: str) -> Errors:
    """By how much more positive eigenvalues there are than print allows."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = _positive(numeric, name)
        stated = numbers(exact, f"{name}.printed_positive").astype(float)
        return each(excess, found, stated, np.maximum(found, 1))

    return errors


def _solved(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return numbers(exact, "balanced.kind") > 0


def _with_loss(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Least-squares solutions that do not fit the targets."""
    return numbers(exact, "balanced.kind") == _LEAST_SQUARES


def _without_loss(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return numbers(exact, "balanced.kind") == _ZERO_LOSS


def _not_close(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return ~numbers(exact, "balanced.close").astype(bool)


def _hessian_is_gauss_newton(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return each(relative, parts(numeric, "balanced.hessian"), parts(numeric, "balanced.ggn"))


def _solution(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return each(relative, parts(numeric, "balanced.map"), parts(exact, "balanced.solution"))


def _attained(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Both the formula for the largest eigenvalue and the bound that it attains."""
    formula, bound = (
        _largest("balanced", name, "ggn_eigenvalues")(exact, numeric)
        for name in ("sharpness", "bound")
    )
    return np.maximum(formula, bound)


def _stated(name: str) -> Errors:
    """A relative miss that the closed-form side has measured."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        return numbers(exact, f"recipes.{name}")

    return errors


_GGN = "ggn_eigenvalues"

CHECKS = {
    "layers-jacobian": Check("data eq. (4)", same("jacobian_product", "any_layers")),
    "layers-kernel": Check("data eq. (5)", same("kernel_eigenvalues", "any_layers", _GGN)),
    "layers-bound": Check("data eq. (6)", among(_bound, _whitened)),
    "layers-trace": Check(
        "data eq. (7): any loss", among(_trace("whitened_trace", "any_layers"), _whitened)
    ),
    "layers-trace-any": Check("data eq. (7): any inputs (ours)", _trace("trace", "any_layers")),
    "layers-blocks": Check("data: diagonal blocks (ours)", _blocks),
    "balanced-kernel": Check("data eq. (8)", same("kernel_eigenvalues", "balanced", _GGN)),
    "balanced-vectors": Check("data section 3: eigenvectors", basis("balanced", "ggn")),
    "balanced-quotient": Check(
        "data eq. (9b)", among(same("quotient_eigenvalues", "balanced", _GGN), _not_close)
    ),
    "balanced-sharpness": Check("data eq. (9b): λ_max", _attained),
    "labels-solution": Check("data eq. (12)", among(_solution, _solved)),
    "labels-values": Check(
        "data eq. (13)", among(same("label_values", "balanced", "layer_values"), _without_loss)
    ),
    "labels-sharpness": Check(
        "data eq. (14): no loss",
        among(_largest("balanced", "label_sharpness", "eigenvalues"), _without_loss),
    ),
    "labels-shares": Check("data section 4: shares", same("shares", "balanced", "label_shares")),
    "labels-hessian": Check(
        "data Assumption 1, weaker (ours)", among(_hessian_is_gauss_newton, _solved)
    ),
    "two-layers-sharpness": Check("data eq. (10)", _largest("two_layers", "sharpness", _GGN)),
    "two-layers-range": Check("data eq. (10): Hessian (ours)", _range_of_hessian),
    "two-layers-trace": Check("data eq. (11)", _trace("trace", "two_layers")),
    "two-layers-vectors": Check(
        "data eq. (16)", vectors("two_layers", "pair_vectors", "pair_values", "ggn")
    ),
    "two-layers-basis": Check("data eq. (16): whole basis", basis("two_layers", "ggn")),
    "layers-brace": Check(
        "data eq. (4): brace",
        among(_trace("whitened_trace", "any_layers"), _whitened),
        among(_trace("printed_trace", "any_layers"), _whitened),
    ),
    "balanced-pairs": Check(
        "data eq. (9): i, j",
        same("eigenvalues", "balanced", _GGN),
        same("printed_eigenvalues", "balanced", _GGN),
    ),
    "balanced-count": Check("data eq. (9): count", _count("balanced"), _too_many("balanced")),
    "labels-loss": Check(
        "data eq. (14): with loss",
        among(_largest("balanced", "solution_sharpness", "eigenvalues"), _with_loss),
        among(_largest("balanced", "label_sharpness", "eigenvalues"), _with_loss),
    ),
    "two-layers-pairs": Check(
        "data eq. (15): i, j",
        same("eigenvalues", "two_layers", _GGN),
        same("printed_eigenvalues", "two_layers", _GGN),
    ),
    "two-layers-count": Check(
        "data eq. (15): count", _count("two_layers"), _too_many("two_layers")
    ),
    "recipe-weights": Check(
        "data appendix C: weights",
        same("eigenvalues", "recipes", _GGN),
        same("eigenvalues", "recipes", "printed_ggn_eigenvalues"),
    ),
    "recipe-whitening": Check(
        "data appendix C: whitening", _stated("outside"), _stated("printed_outside")
    ),
    "recipe-subset": Check(
        "data appendix C: subsets", _stated("missed"), _stated("printed_missed")
    ),
}
