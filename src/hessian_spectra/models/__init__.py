"""The papers' networks and loss: float64 modules with parameters in the papers' order."""

from hessian_spectra.models.attention import SelfAttention, VectorSelfAttention
from hessian_spectra.models.balanced import balanced_weights
from hessian_spectra.models.classifiers import classifier
from hessian_spectra.models.ensemble import Ensemble, Perceptron
from hessian_spectra.models.initialisation import kaiming_uniform, standard_parametrisation
from hessian_spectra.models.losses import HalfSquaredError
from hessian_spectra.models.multi import LinearNetwork, MultiInputLinear, MultiOutputLinear
from hessian_spectra.models.parametrisation import (
    PARAMETRISATIONS,
    Parametrisation,
    draw,
    parametrise,
)
from hessian_spectra.models.teacher import teacher_data
from hessian_spectra.models.two_layer import LinearWithBias, TwoLayerLinear, TwoLayerReLU

__all__ = [
    "PARAMETRISATIONS",
    "Ensemble",
    "HalfSquaredError",
    "LinearNetwork",
    "LinearWithBias",
    "MultiInputLinear",
    "MultiOutputLinear",
    "Parametrisation",
    "Perceptron",
    "SelfAttention",
    "TwoLayerLinear",
    "TwoLayerReLU",
    "VectorSelfAttention",
    "balanced_weights",
    "classifier",
    "draw",
    "kaiming_uniform",
    "parametrise",
    "standard_parametrisation",
    "teacher_data",
]
