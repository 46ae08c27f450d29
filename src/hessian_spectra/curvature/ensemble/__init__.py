"""Curvature of all networks of an ensemble at once."""

from hessian_spectra.curvature.ensemble.largest_eigenvalue import (
    EnsembleSharpness,
    ensemble_sharpness,
)
from hessian_spectra.curvature.ensemble.moments import Data, SecondMoments
from hessian_spectra.curvature.ensemble.norms import (
    EnsembleBlockBounds,
    EnsembleWeightStatistics,
    ensemble_block_bounds,
    ensemble_weight_statistics,
)
from hessian_spectra.curvature.ensemble.products import Hessians, hessians
from hessian_spectra.curvature.ensemble.spectra import LARGEST_DENSE, exact_spectra
from hessian_spectra.curvature.ensemble.traces import ensemble_trace

__all__ = [
    "LARGEST_DENSE",
    "Data",
    "EnsembleBlockBounds",
    "EnsembleSharpness",
    "EnsembleWeightStatistics",
    "Hessians",
    "SecondMoments",
    "ensemble_block_bounds",
    "ensemble_sharpness",
    "ensemble_trace",
    "ensemble_weight_statistics",
    "exact_spectra",
    "hessians",
]
