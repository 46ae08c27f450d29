"""Numerical curvature: operators, eigen-solvers, traces and spectral densities."""

from hessian_spectra.curvature.dense import DENSE_LIMIT, dense_matrix, dense_spectrum
from hessian_spectra.curvature.eigenpairs import top_eigenpairs
from hessian_spectra.curvature.interface import OperatorError, SymmetricOperator
from hessian_spectra.curvature.operators import ggn, hessian
from hessian_spectra.curvature.problem import Problem

__all__ = [
    "DENSE_LIMIT",
    "OperatorError",
    "Problem",
    "SymmetricOperator",
    "dense_matrix",
    "dense_spectrum",
    "ggn",
    "hessian",
    "top_eigenpairs",
]
