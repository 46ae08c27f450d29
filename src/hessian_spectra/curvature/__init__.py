"""Numerical curvature: operators, eigen-solvers, traces and spectral densities."""

from hessian_spectra.curvature.composition import Operator, as_operator, block_diagonal
from hessian_spectra.curvature.curvlinops_operators import curvlinops_arguments
from hessian_spectra.curvature.data_parallel import data_parallel
from hessian_spectra.curvature.dense import DENSE_LIMIT, dense_matrix, dense_spectrum
from hessian_spectra.curvature.density import SpectralDensity, spectral_density
from hessian_spectra.curvature.diagonals import DiagonalEstimate, diagonal
from hessian_spectra.curvature.distinct import DistinctEigenvalues, distinct_eigenvalues
from hessian_spectra.curvature.eigenpairs import Which, top_eigenpairs
from hessian_spectra.curvature.ensemble import (
    EnsembleBlockBounds,
    EnsembleSharpness,
    EnsembleWeightStatistics,
    SecondMoments,
    ensemble_block_bounds,
    ensemble_sharpness,
    ensemble_trace,
    ensemble_weight_statistics,
)
from hessian_spectra.curvature.functions import (
    FunctionProduct,
    FunctionTrace,
    effective_dimension,
    function_product,
    log_determinant,
    trace_of_function,
)
from hessian_spectra.curvature.interface import (
    ConvergenceWarning,
    NotFiniteError,
    OperatorError,
    PlainDerivativesWarning,
    SymmetricOperator,
)
from hessian_spectra.curvature.inverses import inverse
from hessian_spectra.curvature.landscape import LossCurve, LossPlane, loss_along, loss_plane
from hessian_spectra.curvature.largest_eigenvalue import Sharpness, layer_sharpness, sharpness
from hessian_spectra.curvature.layerwise import (
    BestKronecker,
    EigenbasisOperator,
    FactorKind,
    FullOutputHessian,
    KroneckerOperator,
    Layerwise,
    full_output_hessian,
    layerwise,
)
from hessian_spectra.curvature.memory import PeakMemory
from hessian_spectra.curvature.minibatches import (
    BatchSharpness,
    GradientNoise,
    batch_sharpness,
    gradient_noise,
)
from hessian_spectra.curvature.operations import (
    FunctionalParts,
    functional_parts,
    linearised_hessian,
    operations,
)
from hessian_spectra.curvature.operator_from import operator_from
from hessian_spectra.curvature.operators import ggn, hessian
from hessian_spectra.curvature.preconditioning import preconditioned, preconditioner
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.subspaces import subspace_overlap, subspace_overlaps
from hessian_spectra.curvature.traces import TraceEstimate, trace
from hessian_spectra.curvature.tracker import SharpnessRecord, SharpnessTracker

__all__ = [
    "DENSE_LIMIT",
    "BatchSharpness",
    "BestKronecker",
    "ConvergenceWarning",
    "DiagonalEstimate",
    "DistinctEigenvalues",
    "EigenbasisOperator",
    "EnsembleBlockBounds",
    "EnsembleSharpness",
    "EnsembleWeightStatistics",
    "FactorKind",
    "FullOutputHessian",
    "FunctionProduct",
    "FunctionTrace",
    "FunctionalParts",
    "GradientNoise",
    "KroneckerOperator",
    "Layerwise",
    "LossCurve",
    "LossPlane",
    "NotFiniteError",
    "Operator",
    "OperatorError",
    "PeakMemory",
    "PlainDerivativesWarning",
    "Problem",
    "SecondMoments",
    "Sharpness",
    "SharpnessRecord",
    "SharpnessTracker",
    "SpectralDensity",
    "SymmetricOperator",
    "TraceEstimate",
    "Which",
    "as_operator",
    "batch_sharpness",
    "block_diagonal",
    "curvlinops_arguments",
    "data_parallel",
    "dense_matrix",
    "dense_spectrum",
    "diagonal",
    "distinct_eigenvalues",
    "effective_dimension",
    "ensemble_block_bounds",
    "ensemble_sharpness",
    "ensemble_trace",
    "ensemble_weight_statistics",
    "full_output_hessian",
    "function_product",
    "functional_parts",
    "ggn",
    "gradient_noise",
    "hessian",
    "inverse",
    "layer_sharpness",
    "layerwise",
    "linearised_hessian",
    "log_determinant",
    "loss_along",
    "loss_plane",
    "operations",
    "operator_from",
    "preconditioned",
    "preconditioner",
    "sharpness",
    "spectral_density",
    "subspace_overlap",
    "subspace_overlaps",
    "top_eigenpairs",
    "trace",
    "trace_of_function",
]
