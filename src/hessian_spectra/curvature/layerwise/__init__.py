"""Layer-wise Hessians, and their approximation by Kronecker products."""

from hessian_spectra.curvature.layerwise.full_output import (
    Form,
    FullOutputHessian,
    full_output_hessian,
)
from hessian_spectra.curvature.layerwise.kronecker import (
    BestKronecker,
    EigenbasisOperator,
    KroneckerOperator,
    kronecker_spectrum,
)
from hessian_spectra.curvature.layerwise.layer import FactorKind, Layerwise, layerwise
from hessian_spectra.curvature.layerwise.layers import Captured, layers_of

__all__ = [
    "BestKronecker",
    "Captured",
    "EigenbasisOperator",
    "FactorKind",
    "Form",
    "FullOutputHessian",
    "KroneckerOperator",
    "Layerwise",
    "full_output_hessian",
    "kronecker_spectrum",
    "layers_of",
    "layerwise",
]
