"""Exact Hessian spectra and bounds: one module for each theorem of the papers.

Random networks and edge cases of each theorem, with the spectrum that it states, are drawn from
``hessian_spectra.closed_form.instances``.
"""

from hessian_spectra.closed_form.assumptions import AssumptionError
from hessian_spectra.closed_form.attention_bounds import (
    Bounds,
    attention_cubic,
    attention_largest_eigenvalue_bounds,
    attention_outlier_bounds,
    attention_outliers_without_bulk,
    condition_number_bound,
)
from hessian_spectra.closed_form.balanced import balanced_sharpness, balanced_spectrum
from hessian_spectra.closed_form.binary_kl import binary_kl, kl_inverse
from hessian_spectra.closed_form.bulk import bulk, deep_bulk, sign_counts
from hessian_spectra.closed_form.cubic import DepressedCubic
from hessian_spectra.closed_form.decoupled_output_hessian import (
    RectifiedMoments,
    decoupled_output_hessian,
    decoupled_top_space,
    rectified_moments,
)
from hessian_spectra.closed_form.deep_linear import (
    deep_linear,
    deep_linear_from_moments,
    pair_eigenvalues,
)
from hessian_spectra.closed_form.deep_linear_moments import (
    balancedness_defect,
    deep_linear_bound,
    deep_linear_sharpness,
    deep_linear_trace,
)
from hessian_spectra.closed_form.edge_of_stability import (
    LearningRates,
    final_sharpness_bounds,
    learning_rates,
    sharpness_grows,
)
from hessian_spectra.closed_form.gradient_descent_subspace import (
    GradientDescentSubspace,
    gradient_descent_subspace,
)
from hessian_spectra.closed_form.label_dependence import (
    least_squares_sharpness,
    least_squares_singular_values,
    sharpness_from_labels,
)
from hessian_spectra.closed_form.learning_phases import learning_phase, smallest_eigenvalue_bound
from hessian_spectra.closed_form.linear_with_bias import bias_sextic, linear_with_bias
from hessian_spectra.closed_form.multi_input import multi_input
from hessian_spectra.closed_form.multi_output import multi_output
from hessian_spectra.closed_form.orthogonal_first_layer import (
    PairAndTriple,
    orthogonal_first_layer,
    pair_and_triple,
)
from hessian_spectra.closed_form.pac_bayes import (
    Prior,
    best_prior,
    complexity,
    gaussian_kl,
    maurer_complexity,
    monte_carlo_error,
    pac_bayes_bound,
    prior_index,
    prior_variance,
)
from hessian_spectra.closed_form.random_start import (
    Edge,
    LargestWishart,
    initial_norm_correlations,
    largest_wishart,
    marchenko_pastur_cdf,
    marchenko_pastur_density,
    marchenko_pastur_moment,
    marchenko_pastur_quantile,
    pair_sum_cdf,
    pair_sum_quantile,
    sampled_edge,
)
from hessian_spectra.closed_form.recognition import (
    Candidate,
    NoClosedFormError,
    bulk_of,
    candidates,
    of,
)
from hessian_spectra.closed_form.self_attention import (
    AttentionCoefficients,
    AttentionMoments,
    attention_coefficients,
    attention_moments,
    attention_spectrum,
    self_attention,
)
from hessian_spectra.closed_form.two_layer_flow import gradient_flow
from hessian_spectra.closed_form.two_layer_linear import outlier_pair, two_layer_linear
from hessian_spectra.closed_form.two_layer_relu import two_layer_relu
from hessian_spectra.closed_form.two_layer_training import (
    TrainingPath,
    gradient_descent,
    relu_cells,
)
from hessian_spectra.closed_form.vector_attention import vector_attention_bulk

__all__ = [
    "AssumptionError",
    "AttentionCoefficients",
    "AttentionMoments",
    "Bounds",
    "Candidate",
    "DepressedCubic",
    "Edge",
    "GradientDescentSubspace",
    "LargestWishart",
    "LearningRates",
    "NoClosedFormError",
    "PairAndTriple",
    "Prior",
    "RectifiedMoments",
    "TrainingPath",
    "attention_coefficients",
    "attention_cubic",
    "attention_largest_eigenvalue_bounds",
    "attention_moments",
    "attention_outlier_bounds",
    "attention_outliers_without_bulk",
    "attention_spectrum",
    "balanced_sharpness",
    "balanced_spectrum",
    "balancedness_defect",
    "best_prior",
    "bias_sextic",
    "binary_kl",
    "bulk",
    "bulk_of",
    "candidates",
    "complexity",
    "condition_number_bound",
    "decoupled_output_hessian",
    "decoupled_top_space",
    "deep_bulk",
    "deep_linear",
    "deep_linear_bound",
    "deep_linear_from_moments",
    "deep_linear_sharpness",
    "deep_linear_trace",
    "final_sharpness_bounds",
    "gaussian_kl",
    "gradient_descent",
    "gradient_descent_subspace",
    "gradient_flow",
    "initial_norm_correlations",
    "kl_inverse",
    "largest_wishart",
    "learning_phase",
    "learning_rates",
    "least_squares_sharpness",
    "least_squares_singular_values",
    "linear_with_bias",
    "marchenko_pastur_cdf",
    "marchenko_pastur_density",
    "marchenko_pastur_moment",
    "marchenko_pastur_quantile",
    "maurer_complexity",
    "monte_carlo_error",
    "multi_input",
    "multi_output",
    "of",
    "orthogonal_first_layer",
    "outlier_pair",
    "pac_bayes_bound",
    "pair_and_triple",
    "pair_eigenvalues",
    "pair_sum_cdf",
    "pair_sum_quantile",
    "prior_index",
    "prior_variance",
    "rectified_moments",
    "relu_cells",
    "sampled_edge",
    "self_attention",
    "sharpness_from_labels",
    "sharpness_grows",
    "sign_counts",
    "smallest_eigenvalue_bound",
    "two_layer_linear",
    "two_layer_relu",
    "vector_attention_bulk",
]
