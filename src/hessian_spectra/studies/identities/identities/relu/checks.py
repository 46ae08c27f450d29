"""The two-layer ReLU network: what is compared for Theorem 3.4."""

from hessian_spectra.studies.identities.identities.comparison import (
    Check,
    basis,
    gap,
    has,
    same,
    vectors,
)

_bulk_vector = vectors("bulk_vectors", "bulk_values")

CHECKS = {
    "relu": {
        "relu-spectrum": Check("Theorem 3.4: spectrum", same("eigenvalues")),
        "relu-basis": Check("Theorem 3.4: eigenvectors", basis()),
        "relu-blocks": Check("2024 Theorem 4: cells", same("hessian")),
        "relu-largest": Check(
            "section 3.2: λ_max",
            gap("largest_outlier", lambda one: one.eigenvalues[-1], lambda one: one.scale),
        ),
        "relu-outlier-vector": Check(
            "eq. (62), (65)",
            vectors("outlier_vectors", "outliers"),
            vectors("printed_outlier_vectors", "outliers"),
            where=has("outliers"),
        ),
        "relu-bulk-vector": Check(
            "after eq. (64): vector",
            _bulk_vector,
            vectors("printed_bulk_vectors", "bulk_values"),
            where=has("bulk_values"),
        ),
        "relu-bulk-value": Check(
            "after eq. (64): value",
            _bulk_vector,
            vectors("bulk_vectors", "printed_bulk_values"),
            where=has("bulk_values"),
        ),
        "relu-zero-neuron": Check(
            "section 3.2: v_j = 0",
            same("zero_neuron_spectrum", "eigenvalues"),
            same("printed_zero_neuron_spectrum", "eigenvalues"),
            where=has("zero_neuron_spectrum"),
        ),
    },
}
