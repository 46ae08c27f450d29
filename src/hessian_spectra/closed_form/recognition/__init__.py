"""The closed form of a network as it is: recognised, its assumptions checked, then evaluated."""

from hessian_spectra.closed_form.recognition.consecutive import bulk_of
from hessian_spectra.closed_form.recognition.network import candidates, of
from hessian_spectra.closed_form.recognition.verdicts import Candidate, NoClosedFormError

__all__ = ["Candidate", "NoClosedFormError", "bulk_of", "candidates", "of"]
