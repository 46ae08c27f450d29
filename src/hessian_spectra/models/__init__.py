"""The networks that theorems are about, and their loss: parameters in the papers' order."""

from hessian_spectra.models.attention import SelfAttention, VectorSelfAttention
from hessian_spectra.models.balanced import balanced_weights
from hessian_spectra.models.ensemble import (
    Activation,
    Ensemble,
    Perceptron,
    PiecewiseLinear,
    require_piecewise_linear,
)
from hessian_spectra.models.losses import HalfSquaredError
from hessian_spectra.models.multi import LinearNetwork, MultiInputLinear, MultiOutputLinear
from hessian_spectra.models.two_layer import LinearWithBias, TwoLayerLinear, TwoLayerReLU

__all__ = [
    "Activation",
    "Ensemble",
    "HalfSquaredError",
    "LinearNetwork",
    "LinearWithBias",
    "MultiInputLinear",
    "MultiOutputLinear",
    "Perceptron",
    "PiecewiseLinear",
    "SelfAttention",
    "TwoLayerLinear",
    "TwoLayerReLU",
    "VectorSelfAttention",
    "balanced_weights",
    "require_piecewise_linear",
]
