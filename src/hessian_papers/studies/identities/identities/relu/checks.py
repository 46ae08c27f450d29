"""The two-layer ReLU network: what is compared for Theorem 3.4."""

from hessian_papers.studies.identities.identities.comparison import (
    Check,
    basis,
    gap,
    has,
    same,
    vectors,
)
from hessian_papers.studies.identities.identities.linear.checks import gradient

_bulk_vector = vectors("bulk_vectors", "bulk_values")

CHECKS = {
    "relu": {
        "relu-spectrum": Check(same("eigenvalues")),
        "relu-basis": Check(basis()),
        "relu-blocks": Check(same("hessian")),
        "relu-gradient": Check(gradient),
        "relu-activation": Check(same("outputs"), same("printed_outputs", "outputs")),
        "relu-largest": Check(
            gap("largest_outlier", lambda one: one.eigenvalues[-1], lambda one: one.scale)
        ),
        "relu-outlier-vector": Check(
            vectors("outlier_vectors", "outliers"),
            vectors("printed_outlier_vectors", "outliers"),
            where=has("outliers"),
        ),
        "relu-bulk-vector": Check(
            _bulk_vector, vectors("printed_bulk_vectors", "bulk_values"), where=has("bulk_values")
        ),
        "relu-bulk-value": Check(
            _bulk_vector, vectors("bulk_vectors", "printed_bulk_values"), where=has("bulk_values")
        ),
        "relu-zero-neuron": Check(
            same("zero_neuron_spectrum", "eigenvalues"),
            same("printed_zero_neuron_spectrum", "eigenvalues"),
            where=has("zero_neuron_spectrum"),
        ),
    },
}
