"""Training of one network, with its trajectory kept, or of a whole ensemble at once.

>>> from hessian_spectra.training import gradient_descent
"""

from hessian_spectra.training.descent import (
    Record,
    Trajectory,
    descend,
    follow,
    gradient_descent,
)
from hessian_spectra.training.ensemble import EnsembleTraining, train_ensemble
from hessian_spectra.training.optimizers import stochastic_gradient_descent

__all__ = [
    "EnsembleTraining",
    "Record",
    "Trajectory",
    "descend",
    "follow",
    "gradient_descent",
    "stochastic_gradient_descent",
    "train_ensemble",
]
