"""Training of one network, with its trajectory kept for the studies that follow it.

>>> from hessian_spectra.training import gradient_descent
"""

from hessian_spectra.training.descent import (
    Record,
    Trajectory,
    descend,
    follow,
    gradient_descent,
)
from hessian_spectra.training.optimizers import stochastic_gradient_descent

__all__ = [
    "Record",
    "Trajectory",
    "descend",
    "follow",
    "gradient_descent",
    "stochastic_gradient_descent",
]
