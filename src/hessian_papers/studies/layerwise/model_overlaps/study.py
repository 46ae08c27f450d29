"""Overlaps of the top eigenspaces of a layer's Hessian in networks trained independently.

wu2022dissecting, section 5.3, appendices F.2 and G.3: of networks of one architecture, whose
trainings may differ, each two give the overlap of the spaces of the first k eigenvectors of a
layer's Hessian, for all k at once.
Beside it stand the overlap of the layer's Kronecker approximations, and what is expected of that
when the hidden units of one network are permuted at random.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr

from hessian_papers.constraints import AtLeast, Once, Positive
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.networks.base import shared
from hessian_papers.networks.classifiers import KeptClassifier, kept_classifier
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.studies.layerwise.ensembles import (
    ClassifierStudyConfig,
    EigenpairMeasurement,
    batches_of,
    chosen_networks,
)
from hessian_papers.studies.layerwise.layers import ENSEMBLE
from hessian_papers.studies.layerwise.model_overlaps.spaces import pair_of, top_space
from hessian_papers.studies.layerwise.standing import STANDING, standing_of
from hessian_papers.work import FanOut, Item
from hessian_spectra.curvature.layerwise import layers_of
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

# Of each pair and of each network, by the number of dimensions; networks are paired in the order of
# ``itertools.combinations``.
PAIRS, NETWORKS = "network epoch layer pair", "network epoch layer seed"
OF_PAIRS: Variables = {
    "overlap": Variable(f"{PAIRS} rank", "of the spaces of the Hessians' first k eigenvectors"),
    "kronecker": Variable(f"{PAIRS} rank", "the same of their Kronecker approximations"),
    "permuted": Variable(f"{PAIRS} rank", "expected of that with outputs permuted at random"),
    "first_inputs": Variable(PAIRS, "(t₁ · t₁')² of the first eigenvectors of E[x xᵀ]"),
}
# An item has the numbers of all seeds, which follow its own labels.
STANDING_BY_SEED: Variables = {
    name: variable._replace(dims=variable.dims.replace("seed epoch", "epoch seed"))
    for name, variable in STANDING.items()
}
VARIABLES: Variables = {
    **ENSEMBLE,
    **STANDING_BY_SEED,
    "layer": Variable("layer", "place in its network"),
    "outputs": Variable("network layer", "number of a layer's outputs m"),
    "inputs": Variable("network layer", "number of a layer's inputs n"),
    "images": Variable("", "number of images that the Hessian is of"),
    "variation": Variable("seed", "number of the settings of the training"),
    **OF_PAIRS,
    "hessian": Variable(f"{NETWORKS} rank", "eigenvalues of the Hessian, descending"),
    "residual": Variable(f"{NETWORKS} rank", "relative residuals of these eigenpairs"),
    "output": Variable(f"{NETWORKS} output_rank", "eigenvalues of E[M], descending"),
    "input": Variable(f"{NETWORKS} input_rank", "eigenvalues of E[x xᵀ], descending"),
}


@dataclass(frozen=True, kw_only=True)
class OverlapMeasurement(EigenpairMeasurement):
    """The settings that the measurement of a layer depends on.

    Args:
        reach: eigenpairs of a layer over its number of outputs, at least two pairs.
        top: the most eigenpairs.
    """

    reach: Positive
    top: Annotated[int, AtLeast(2)]

    def count(self, outputs: int, inputs: int) -> int:
        """The number of eigenpairs of a layer with so many outputs and inputs.

        Example:
            >>> settings = {"seed": 0, "tolerance": 1e-4, "images": 0}
            >>> OverlapMeasurement(reach=1.5, top=100, **settings).count(10, 84)
            15
        """
        # Rounded first, as 1.1 times 10 is above 11.
        wanted = max(math.ceil(round(self.reach * outputs, 6)), 2)
        return min(wanted, self.top, outputs * inputs)


@dataclass(frozen=True, kw_only=True)
class Config(OverlapMeasurement, ClassifierStudyConfig):
    """The study's configuration.

    Args:
        networks: architectures of the ensemble; empty for all of them.
    """

    networks: Annotated[list[str], Once()]

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no classifiers, have no pair, or are not those asked for."""
        super().require_networks(networks)
        chosen_networks(self, networks)
        count = len(networks.trainings)
        expected = "two seeds or more of each network"
        require(count >= 2, "ensemble", expected, f"{count} in {self.ensemble}")


def measure(
    kept: Sequence[KeptClassifier],
    layer: str,
    facts: Mapping[str, Any],
    settings: OverlapMeasurement,
) -> Arrays:
    """Overlaps of one layer in some networks of one architecture.

    Args:
        kept: the networks, trained on the same images.
        layer: the name of the layer, with m outputs and n inputs.
        facts: what else is to be kept.
        settings: the rest.

    Returns:
        What is in :data:`VARIABLES`, with :meth:`OverlapMeasurement.count` ranks, and the facts.
    """
    # In float32 products are rounded by 1e-4 of the largest eigenvalue, and the m-th is as small.
    batches = batches_of(kept[0], settings.images)
    spaces = [
        top_space(
            item.load().double(), batches, layer,
            count=settings.count, tol=settings.tolerance, seed=settings.seed,
        )
        for item in kept
    ]  # fmt: skip
    pairs = [pair_of(item, other) for item, other in combinations(spaces, 2)]
    arrays = {name: np.array([pair[name].tolist() for pair in pairs]) for name in OF_PAIRS}
    rows = {
        "hessian": [space.values for space in spaces],
        "residual": [space.residuals for space in spaces],
        "output": [space.output.values for space in spaces],
        "input": [space.inputs.values for space in spaces],
    }
    sizes = {
        "layer_name": layer,
        "outputs": len(spaces[0].output.values),
        "inputs": len(spaces[0].inputs.values),
        "images": sum(len(classes) for _, classes in batches),
    }
    return (
        arrays
        | {name: torch.stack(row).double().cpu().numpy() for name, row in rows.items()}
        | {name: np.array(fact) for name, fact in {**sizes, **facts}.items()}
    )


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each layer of each architecture after training, with all seeds but those that diverged."""
    settings = OverlapMeasurement(**shared(OverlapMeasurement, config))
    names, seeds = surviving(networks, "network", config.networks, least=2)
    epoch, items = int(networks["kept"][-1]), list[Item]()
    facts = {"variation": networks["variation"].sel(seed=seeds).values.tolist()}
    for network in names:
        kept = [kept_classifier(networks, network, seed, epoch) for seed in seeds]
        stand = standing_of(networks, network, seeds, epoch)
        facts |= {name: numbers.tolist() for name, numbers in stand.items()}
        items += [
            {
                "kept": kept,
                "layer": layer.name,
                "facts": {**facts, "network": network, "epoch": epoch, "layer": place},
                "settings": settings,
            }
            for place, layer in enumerate(layers_of(kept[0].load(), None))
        ]
    return items


def _cost(item: Item) -> float:
    """Roughly the operations of as many products as eigenpairs, and of keeping the vectors apart.

    Those of a product are in proportion to the network's weights and the images.
    """
    model, settings = item["kept"][0].load(), item["settings"]
    (layer,) = layers_of(model, [item["layer"]])
    count = settings.count(layer.outputs, layer.inputs)
    size = sum(parameter.numel() for parameter in model.parameters())
    images = settings.images or len(item["kept"][0].labels)
    each = images * (size + 1e4) + count * layer.outputs * layer.inputs
    # The check of the products and the start of the search come on top of each eigenpair's.
    return float(len(item["kept"])) * (count + 30) * each


def _probe(item: Item) -> Item:
    """A single network, a tenth of the images, and few eigenpairs."""
    settings = item["settings"]
    images = settings.images or len(item["kept"][0].labels)
    fewer = {"images": max(images // 10, 1), "top": min(settings.top, 60)}
    return {**item, "kept": item["kept"][:1], "settings": replace(settings, **fewer)}


layerwise = FanOut(
    items=_items,
    compute=measure,
    gather=gathering(VARIABLES, "network", "epoch", "layer"),
    cost=_cost,
    probe=_probe,
)
