"""Curvature of all networks of an ensemble at once."""

from hessian_spectra.curvature.ensemble.largest_eigenvalue import Sharpness, sharpness
from hessian_spectra.curvature.ensemble.moments import Data, SecondMoments
from hessian_spectra.curvature.ensemble.norms import (
    BlockBounds,
    WeightStatistics,
    block_bounds,
    weight_statistics,
)
from hessian_spectra.curvature.ensemble.products import Hessians, hessians
from hessian_spectra.curvature.ensemble.traces import hessian_trace

__all__ = [
    "BlockBounds",
    "Data",
    "Hessians",
    "SecondMoments",
    "Sharpness",
    "WeightStatistics",
    "block_bounds",
    "hessian_trace",
    "hessians",
    "sharpness",
    "weight_statistics",
]
