# What a type checker is told of the attributes that are loaded at first use.
from hessian_spectra import closed_form as closed_form
from hessian_spectra import curvature as curvature
from hessian_spectra import models as models
from hessian_spectra import pac_bayes as pac_bayes
from hessian_spectra import pictures as pictures
from hessian_spectra import seeding as seeding
from hessian_spectra import spectrum as spectrum
from hessian_spectra import statistics as statistics
from hessian_spectra import training as training

__version__: str
