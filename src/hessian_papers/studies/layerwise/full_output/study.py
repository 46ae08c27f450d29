"""The full Hessian's top beside the second derivative by the outputs of all layers.

wu2022dissecting, appendix C and Figure 5: with ``M = Gᵀ A G`` over the outputs of all layers
together, the Hessian's top eigenpairs are about those of ``E[M]`` with each layer's mean input
attached. Beside it stands the Gauss-Newton term, of which the paper says that it dominates.
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
from hessian_papers.studies.layerwise.full_output.derived import GAUSS_NEWTON
from hessian_papers.studies.layerwise.standing import AT_ONE_EPOCH, with_standing
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
    """The top of a network's Hessian, its form in print, and that of its Gauss-Newton term.

    Args:
        kept: a fully connected network, and what it was trained on.
        labels: what tells it from the others, and where it stands.
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
    term = top_of(cv.ggn(problem), k, tol=settings.tolerance, seed=settings.seed)
    forms = {
        "printed": (form.eigenvalues.flip(0), form.eigenvectors().flip(1)),
        GAUSS_NEWTON: (term.values, term.vectors),
    }
    overlaps = [cv.subspace_overlaps(exact.vectors, own) for _, own in forms.values()]
    return {
        "hessian": exact.values.cpu().numpy(),
        "residual": exact.residuals.cpu().numpy(),
        "form": np.array(list(forms)),
        "approximation": np.stack([values.cpu().numpy() for values, _ in forms.values()]),
        "overlap": np.stack([each.cpu().numpy() for each in overlaps]),
        "classes": np.array(full.layers[-1].outputs),
        **labels,
    }


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each network after its training."""
    settings = FullOutputMeasurement(**shared(FullOutputMeasurement, config))
    items = each_network(networks, networks["kept"].values[-1:], settings=settings)
    return with_standing(items, networks)


VARIABLES: Variables = {
    "network": Variable("network", "architecture"),
    "seed": Variable("seed", "of the training"),
    **AT_ONE_EPOCH,
    "form": Variable("form", "where the form of the top stands, or the Gauss-Newton term"),
    "epoch": Variable("", "after which the networks are measured"),
    "classes": Variable("", "classes c"),
    "hessian": Variable("network seed rank", "the full Hessian's top eigenvalues, descending"),
    "residual": Variable("network seed rank", "their relative residuals"),
    "approximation": Variable("network seed form rank", "the form's eigenvalues, descending"),
    "overlap": Variable("network seed form rank", "of the spaces of as many first eigenvectors"),
}

layerwise = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, "network", "seed"))
