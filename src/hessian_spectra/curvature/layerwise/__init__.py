"""Layer-wise Hessians, and their approximation by Kronecker products."""

from hessian_spectra.curvature.layerwise.full_output import FullOutputHessian, full_output_hessian
from hessian_spectra.curvature.layerwise.kronecker import BestKronecker, KroneckerOperator
from hessian_spectra.curvature.layerwise.layer import Layerwise, layerwise

__all__ = [
    "BestKronecker",
    "FullOutputHessian",
    "KroneckerOperator",
    "Layerwise",
    "full_output_hessian",
    "layerwise",
]
