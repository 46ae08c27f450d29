"""The papers' networks beside those that theorems are about: float64 modules."""

from hessian_papers.models.classifiers import classifier
from hessian_papers.models.initialisation import kaiming_uniform, standard_parametrisation
from hessian_papers.models.parametrisation import (
    PARAMETRISATIONS,
    Parametrisation,
    draw,
    parametrise,
)
from hessian_papers.models.teacher import teacher_data
from hessian_spectra.models import balanced_weights

__all__ = [
    "PARAMETRISATIONS",
    "Parametrisation",
    "balanced_weights",
    "classifier",
    "draw",
    "kaiming_uniform",
    "parametrise",
    "standard_parametrisation",
    "teacher_data",
]
