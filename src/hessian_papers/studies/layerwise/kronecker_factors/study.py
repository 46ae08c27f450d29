"""Which Kronecker factors come near a layer's Hessian, from the start of a training to its minimum.

Beyond wu2022dissecting, whose conjecture takes the factors of one kind: those that KFAC takes.
Beside them stand factors in which the positions of a convolution meet each other, those in which
each input counts by its own curvature, one step of the power iteration from the identity to the
product that is nearest in the Frobenius norm, and this one; and both matrices that keep
eigenvectors alone, as EKFAC and SOAP do. Each is held against the Hessian, against its top space,
and by the step that its damped inverse makes of the gradient.
"""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.networks.base import shared
from hessian_papers.networks.classifiers import KeptClassifier
from hessian_papers.studies.layerwise.ensembles import (
    LABELS,
    ClassifierStudyConfig,
    batches_of,
    each_network,
)
from hessian_papers.studies.layerwise.kronecker_factors.quantities import (
    FORMS,
    FactorMeasurement,
    measured,
)
from hessian_papers.studies.layerwise.layers import ENSEMBLE
from hessian_papers.studies.layerwise.standing import STANDING, with_standing
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays


@dataclass(frozen=True, kw_only=True)
class Config(FactorMeasurement, ClassifierStudyConfig):
    """The study's configuration."""


def measure(kept: KeptClassifier, labels: Arrays, settings: FactorMeasurement) -> Arrays:
    """All that is measured of the layers of one network.

    Args:
        kept: the network, and what it was trained on.
        labels: what tells it from the others, and where it stands.
        settings: the rest.

    Returns:
        The :data:`VARIABLES` of one network, and its labels.
    """
    model, batches = kept.load().double(), batches_of(kept, settings.images)
    layers = cv.layerwise(cv.Problem(model, nn.CrossEntropyLoss(), batches))
    weights = [model.get_parameter(f"{name}.weight") for name in layers]
    gradients = _gradients(model, weights, batches)
    convolutions = [weight.ndim > 2 for weight in weights]
    rows = [
        measured(layer, gradient, convolution=convolution, settings=settings)
        for layer, gradient, convolution in zip(
            layers.values(), gradients, convolutions, strict=True
        )
    ]
    return {
        **{name: np.stack([row[name] for row in rows]) for name in rows[0]},
        "layer_name": np.array(list(layers)),
        "convolution": np.array(convolutions),
        "form": np.array(list(FORMS)),
        "damping": np.array(settings.dampings, dtype=float),
        "images": np.array(sum(len(classes) for _, classes in batches)),
        **labels,
    }


def _gradients(
    model: nn.Module, weights: list[nn.Parameter], batches: list[tuple[Tensor, Tensor]]
) -> list[Tensor]:
    """The gradient of the mean loss by each weight, row by row."""
    count = sum(len(classes) for _, classes in batches)
    with torch.enable_grad():
        losses = [
            nn.functional.cross_entropy(model(x), classes, reduction="sum")
            for x, classes in batches
        ]
        gradients = torch.autograd.grad(torch.stack(losses).sum() / count, weights)
    return [gradient.flatten() for gradient in gradients]


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each network at each epoch whose weights are kept."""
    settings = FactorMeasurement(**shared(FactorMeasurement, config))
    items = each_network(networks, np.sort(networks["kept"].values), settings=settings)
    return with_standing(items, networks)


EACH = "network seed epoch layer"

VARIABLES: Variables = {
    **ENSEMBLE,
    **STANDING,
    "form": Variable("form", "the factors, and whether only their eigenvectors are kept"),
    "damping": Variable("damping", "δ over the largest eigenvalue of H"),
    "images": Variable("", "images of the loss that H is the second derivative of"),
    "convolution": Variable("network layer", "whether the layer is a convolution"),
    "spectral": Variable(f"{EACH} form", "‖K − H‖ over ‖H‖, spectral norms"),
    "frobenius": Variable(f"{EACH} form", "the same in Frobenius norms, by random vectors"),
    "overlap": Variable(f"{EACH} form rank", "of as many first eigenvectors of K and H"),
    "step_error": Variable(f"{EACH} form damping", "distance of the steps over the exact one's"),
    "decrease": Variable(f"{EACH} form damping", "of the damped parabola, over the exact step's"),
    "plain_decrease": Variable(f"{EACH} damping", "the same along the gradient itself"),
    "largest": Variable(EACH, "largest eigenvalue of H"),
    "residual": Variable(EACH, "largest relative residual of the eigenpairs of H"),
}

layerwise = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, *LABELS))
