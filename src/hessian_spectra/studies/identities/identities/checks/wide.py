"""Several inputs and outputs: what is compared for Corollaries B.1 to B.3, D.3.3 and D.4."""

from itertools import combinations

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
    vectors,
)
from hessian_spectra.studies.identities.identities.checks.ragged import (
    excess,
    numbers,
    parts,
    relative,
    square,
)


def _diagonal(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Diagonal linear networks."""
    return numbers(exact, "multi_input.width") == 1


def _pair_sum(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The smallest |λ_i + λ_j − tr(H)/D| over all pairs, over the largest eigenvalue."""
    found = []
    for values, share, inputs, size in zip(
        parts(numeric, "orthogonal.eigenvalues"),
        numbers(exact, "orthogonal.trace_share"),
        numbers(exact, "orthogonal.inputs"),
        largest("orthogonal")(numeric),
        strict=True,
    ):
        nearest = min(abs(one + two - share) for one, two in combinations(values, 2))
        trace_error = abs(values.sum() / inputs - share)
        found.append(max(nearest, trace_error) / (size if size > 0 else 1.0))
    return np.array(found)


def _blocks(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Both diagonal blocks of the Hessian."""
    found = []
    for matrix, count, first, second in zip(
        parts(numeric, "matrices.hessian"),
        numbers(exact, "matrices.first_size"),
        parts(exact, "matrices.first_block"),
        parts(exact, "matrices.second_block"),
        strict=True,
    ):
        of = square(matrix)
        upper, lower = of[:count, :count].ravel(), of[count:, count:].ravel()
        found.append(max(relative(first, upper), relative(second, lower)))
    return np.array(found)


def _trace_of(theirs: str) -> Errors:
    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        traces = np.array([np.trace(square(part)) for part in parts(numeric, "matrices.hessian")])
        return np.abs(numbers(exact, f"matrices.{theirs}") / traces - 1)

    return errors


def _whitened(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return numbers(exact, "matrices.whitened").astype(bool)


def _whitened_square(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return _whitened(exact, numeric) & numbers(exact, "matrices.square").astype(bool)


def _whitened_fitted(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """Whitened inputs and no loss: there the Hessian is the GGN."""
    sizes = largest("matrices")(numeric)
    return _whitened(exact, numeric) & (numbers(numeric, "matrices.loss") < 1e-20 * sizes)


def _lower_bound(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much λ_max falls below the larger squared spectral norm."""
    found = []
    for norm, values, size in zip(
        numbers(exact, "matrices.largest_norm"),
        parts(numeric, "matrices.eigenvalues"),
        largest("matrices")(numeric),
        strict=True,
    ):
        found.append(excess(norm, values[-1], size))
    return np.array(found)


def _sharpness_of_ggn(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """λ_max of the GGN against the sum of the squared spectral norms."""
    norms = numbers(exact, "matrices.sum_of_norms")
    return np.abs(norms / numbers(numeric, "matrices.ggn_sharpness") - 1)


def _sharpness(theirs: str) -> Errors:
    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = np.array([values[-1] for values in parts(numeric, "matrices.eigenvalues")])
        return np.abs(numbers(exact, f"matrices.{theirs}") / found - 1)

    return errors


def _plain_pair(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """For one input both outliers stand above the bulk's lower and upper half."""
    rows = zip(
        parts(exact, "orthogonal.pair"), parts(numeric, "orthogonal.eigenvalues"), strict=True
    )
    return np.array([relative(pair, values[[-1, len(values) // 2 - 1]]) for pair, values in rows])


def _one_input(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return numbers(exact, "orthogonal.inputs") == 1


def _worst(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The worst error of the sum over the coordinates on correlated inputs."""
    return same("decoupled", "correlated_input", "eigenvalues")(exact, numeric).max(keepdims=True)


CHECKS = {
    "multi-input-spectrum": Check("Corollary B.1: spectrum", same("eigenvalues", "multi_input")),
    "multi-input-decoupled": Check(
        "Corollary B.1: formula", same("decoupled", "multi_input", "eigenvalues")
    ),
    "diagonal-networks": Check(
        "diagonal networks", among(same("eigenvalues", "multi_input"), _diagonal)
    ),
    "mixture": Check("eq. (114): mixture", same("outputs", "multi_input")),
    "correlated-spectrum": Check(
        "correlated inputs (ours)", same("eigenvalues", "correlated_input")
    ),
    "multi-output-spectrum": Check("Corollary B.2: spectrum", same("eigenvalues", "multi_output")),
    "multi-output-basis": Check("Corollary B.2: eigenvectors", basis("multi_output")),
    "multi-output-vector": Check(
        "Corollary B.3", vectors("multi_output", "outlier_vectors", "outliers")
    ),
    "orthogonal-spectrum": Check("orthogonal layer (ours)", same("eigenvalues", "orthogonal")),
    "orthogonal-plain": Check("eq. (106): no bias", among(_plain_pair, _one_input), None, ROOT),
    "orthogonal-pair": Check("section 4.1: pair sum", _pair_sum),
    "matrices-blocks": Check("D.3.3: blocks", _blocks),
    "matrices-trace": Check("D.4: trace, any inputs", _trace_of("trace")),
    "matrices-frobenius": Check(
        "D.4: trace, whitened", among(_trace_of("frobenius_trace"), _whitened_square)
    ),
    "matrices-lower-bound": Check("D.3.3: lower bound", among(_lower_bound, _whitened)),
    "matrices-ggn": Check("λ_max of the GGN", among(_sharpness_of_ggn, _whitened)),
    "multi-output-display": Check(
        "eq. (116): order",
        same("hessian", "multi_output"),
        same("printed_hessian", "multi_output", "hessian"),
    ),
    "matrices-sharpness": Check(
        "D.3.3: λ_max",
        among(_sharpness("sum_of_norms"), _whitened_fitted),
        among(_sharpness("printed_sharpness"), _whitened_fitted),
    ),
}

# What becomes of the printed formulas where their assumptions do not hold: no errors of ours.
WITHOUT_ASSUMPTIONS = {"decorrelation": _worst}
