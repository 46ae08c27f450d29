"""A bound on the error of a user's own network: the certificate, and its alternatives."""

from hessian_spectra.pac_bayes.bounding import bound
from hessian_spectra.pac_bayes.certificate import Alternative, Certificate, alternatives, table

__all__ = ["Alternative", "Certificate", "alternatives", "bound", "table"]
