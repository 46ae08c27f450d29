"""A bound on the error of a user's own network: the certificate, and its alternatives."""

from hessian_spectra.pac_bayes.bases import BATCH, curvature_in, layer_factors
from hessian_spectra.pac_bayes.bounding import bound, certify
from hessian_spectra.pac_bayes.certificate import Alternative, Certificate, alternatives, table
from hessian_spectra.pac_bayes.draws import error_of_draws
from hessian_spectra.pac_bayes.local import minimise_locally
from hessian_spectra.pac_bayes.minimisation import minimise_bound
from hessian_spectra.pac_bayes.objectives import OBJECTIVES
from hessian_spectra.pac_bayes.posterior import GaussianPosterior
from hessian_spectra.pac_bayes.settings import (
    BoundDescent,
    BoundSettings,
    DivergedError,
    LocalDescent,
)
from hessian_spectra.pac_bayes.starts import start_locally

__all__ = [
    "BATCH",
    "OBJECTIVES",
    "Alternative",
    "BoundDescent",
    "BoundSettings",
    "Certificate",
    "DivergedError",
    "GaussianPosterior",
    "LocalDescent",
    "alternatives",
    "bound",
    "certify",
    "curvature_in",
    "error_of_draws",
    "layer_factors",
    "minimise_bound",
    "minimise_locally",
    "start_locally",
    "table",
]
