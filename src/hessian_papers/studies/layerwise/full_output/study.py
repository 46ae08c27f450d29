"""The full Hessian's top beside the second derivative by the outputs of all layers.

wu2022dissecting, appendix C and Figure 5: with ``M = Gᵀ A G`` over the outputs of all layers
together, the Hessian's top eigenpairs are about those of ``E[M]`` with each layer's mean input
attached.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from torch import nn

from hessian_papers.constraints import Count
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.networks.base import shared
from hessian_papers.networks.classifiers import KeptClassifier
from hessian_papers.studies.layerwise.ensembles import (
    ClassifierStudyConfig,
    EigenpairMeasurement,
    batches_of,
    each_network,
    top_of,
)
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays


@dataclass(frozen=True, kw_only=True)
class FullOutputMeasurement(EigenpairMeasurement):
    """The settings that the measurement of a network depends on.

    Args:
        top: eigenpairs; fewer if the layers have fewer outputs.
    """

    top: Count


@dataclass(frozen=True, kw_only=True)
class Config(FullOutputMeasurement, ClassifierStudyConfig):
    """The study's configuration."""


def measure(kept: KeptClassifier, labels: Arrays, settings: FullOutputMeasurement) -> Arrays:
    """The top of a network's Hessian, and its form in print.

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
    form = full.approximation(k, "printed")
    overlaps = cv.subspace_overlaps(exact.vectors, form.eigenvectors().flip(1))
    return {
        "hessian": exact.values.cpu().numpy(),
        "residual": exact.residuals.cpu().numpy(),
        "form": np.array(["printed"]),
        "approximation": form.eigenvalues.flip(0).cpu().numpy()[None],
        "overlap": overlaps.cpu().numpy()[None],
        "classes": np.array(full.layers[-1].outputs),
        **labels,
    }


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each network after its training."""
    settings = FullOutputMeasurement(**shared(FullOutputMeasurement, config))
    return each_network(networks, networks["kept"].values[-1:], settings=settings)


VARIABLES: Variables = {
    "network": Variable("network", "architecture"),
    "seed": Variable("seed", "of the training"),
    "form": Variable("form", "where the form of the top stands"),
    "epoch": Variable("", "after which the networks are measured"),
    "classes": Variable("", "classes c"),
    "hessian": Variable("network seed rank", "the full Hessian's top eigenvalues, descending"),
    "residual": Variable("network seed rank", "their relative residuals"),
    "approximation": Variable("network seed form rank", "the form's eigenvalues, descending"),
    "overlap": Variable("network seed form rank", "of the spaces of as many first eigenvectors"),
}

layerwise = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, "network", "seed"))
