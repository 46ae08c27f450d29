"""What the second derivative by the outputs of all layers says of the Hessian of all weights.

wu2022dissecting, appendix C and Figure 5: with ``M = Gᵀ A G`` over the outputs of all layers
together, the Hessian's top eigenpairs are about those of ``E[M]`` with each layer's mean input
attached. As printed, each eigenvector is that of ``E[M]``; it is right to weigh the layers by the
lengths of their mean inputs first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import numpy as np
import xarray as xr
from torch import nn

from hessian_papers.constraints import AtLeast, Count
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.networks.base import shared
from hessian_papers.networks.classifiers import KeptClassifier
from hessian_papers.studies.layerwise.ensembles import (
    ClassifierStudyConfig,
    batches_of,
    each_network,
    require_residual,
    top_of,
)
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.curvature.layerwise import Form
from hessian_spectra.files import Arrays

FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True, kw_only=True)
class FullOutputMeasurement:
    """What the measurement of a network depends on.

    Args:
        seed: of the vector that the eigenpairs are searched from.
        top: eigenpairs; fewer if the layers have fewer outputs.
        tolerance: their relative residual.
        images: the loss is that on the first so many; 0 for all.
    """

    seed: int
    top: Count
    tolerance: float
    images: Annotated[int, AtLeast(0)]


@dataclass(frozen=True, kw_only=True)
class Config(FullOutputMeasurement, ClassifierStudyConfig):
    """The study's configuration."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_residual(self)


def measure(
    kept: KeptClassifier, labels: Mapping[str, Any], settings: FullOutputMeasurement
) -> Arrays:
    """The top of a network's Hessian, and what its forms say of it.

    Args:
        kept: a fully connected network, and what it was trained on.
        labels: what tells it from the others.
        settings: the rest.

    Returns:
        The :data:`VARIABLES` of one network, and its labels.
    """
    batches = batches_of(kept, settings.images)
    problem = cv.Problem(kept.load().double(), nn.CrossEntropyLoss(), batches)
    full = cv.full_output_hessian(problem)
    k = min(settings.top, len(full.matrix))
    exact = top_of(cv.hessian(problem), k, tol=settings.tolerance, seed=settings.seed)
    forms = [full.approximation(k, form) for form in FORMS]
    overlaps = [cv.subspace_overlaps(exact.vectors, form.eigenvectors().flip(1)) for form in forms]
    return {
        "hessian": exact.values.cpu().numpy(),
        "residual": exact.residuals.cpu().numpy(),
        "form": np.array(FORMS),
        "approximation": np.stack([form.eigenvalues.flip(0).cpu().numpy() for form in forms]),
        "overlap": np.stack([overlap.cpu().numpy() for overlap in overlaps]),
        "parameters": np.array(problem.size),
        "classes": np.array(full.layers[-1].outputs),
        **{name: np.array(label) for name, label in labels.items()},
    }


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each network after its training."""
    settings = FullOutputMeasurement(**shared(FullOutputMeasurement, config))
    return each_network(networks, settings, networks["kept"].values[-1:])


VARIABLES: Variables = {
    "network": Variable("network", "architecture"),
    "seed": Variable("seed", "of the training"),
    "form": Variable("form", "how the eigenvectors' layers are weighed"),
    "epoch": Variable("", "after which the networks are measured"),
    "classes": Variable("", "classes c"),
    "parameters": Variable("network", "weights and biases"),
    "hessian": Variable("network seed rank", "the full Hessian's top eigenvalues, descending"),
    "residual": Variable("network seed rank", "their relative residuals"),
    "approximation": Variable("network seed form rank", "the eigenvalues of a form, descending"),
    "overlap": Variable("network seed form rank", "of the spaces of as many first eigenvectors"),
}

layerwise = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, "network", "seed"))
