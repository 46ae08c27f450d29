"""The two-layer ReLU network: what is compared for Theorem 3.4."""

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks.check import (
    Check,
    Errors,
    among,
    basis,
    largest,
    same,
    vectors,
)
from hessian_spectra.studies.identities.identities.checks.ragged import numbers, parts, relative


def _largest(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """λ_max against the larger of the cells' outliers."""
    found = np.array([values[-1] for values in parts(numeric, "relu.eigenvalues")])
    sizes = largest("relu")(numeric)
    return np.abs(found - numbers(exact, "relu.largest_outlier")) / np.where(sizes > 0, sizes, 1.0)


def _has_zero_neurons(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return exact["relu.zero_neuron_spectrum.counts"] > 0


def _zero_neurons(theirs: str) -> Errors:
    """The errors of the instances with v_j = 0; elsewhere there is no spectrum to compare."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        mask = _has_zero_neurons(exact, numeric)
        if not mask.any():
            return np.array([np.nan])
        rows = zip(
            parts(exact, f"relu.{theirs}"), parts(numeric, "relu.eigenvalues"), mask, strict=True
        )
        return np.array([relative(found, true) for found, true, kept in rows if kept])

    return errors


def _has_bulk(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return exact["relu.bulk_values.counts"] > 0


def _has_cell(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return exact["relu.outliers.counts"] > 0


CHECKS = {
    "relu-spectrum": Check("Theorem 3.4: spectrum", same("eigenvalues", "relu")),
    "relu-basis": Check("Theorem 3.4: eigenvectors", basis("relu")),
    "relu-blocks": Check("2024 Theorem 4: cells", same("hessian", "relu")),
    "relu-largest": Check("section 3.2: λ_max", _largest),
    "relu-outlier-vector": Check(
        "eq. (62), (65)",
        among(vectors("relu", "outlier_vectors", "outliers"), _has_cell),
        among(vectors("relu", "printed_outlier_vectors", "outliers"), _has_cell),
    ),
    "relu-bulk-vector": Check(
        "after eq. (64): vector",
        among(vectors("relu", "bulk_vectors", "bulk_values"), _has_bulk),
        among(vectors("relu", "printed_bulk_vectors", "bulk_values"), _has_bulk),
    ),
    "relu-bulk-value": Check(
        "after eq. (64): value",
        among(vectors("relu", "bulk_vectors", "bulk_values"), _has_bulk),
        among(vectors("relu", "bulk_vectors", "printed_bulk_values"), _has_bulk),
    ),
    "relu-zero-neuron": Check(
        "section 3.2: v_j = 0",
        _zero_neurons("zero_neuron_spectrum"),
        _zero_neurons("printed_zero_neuron_spectrum"),
    ),
}
