"""The Hessian of a layer beside the Kronecker product of its two expectations.

wu2022dissecting, sections 3, 5.1 and 5.2, appendices F.1, F.3, F.4, G.2 and G.4: the decoupling
conjecture ``E[M ⊗ x xᵀ] ≈ E[M] ⊗ E[x xᵀ]`` for each layer of trained classifiers, by the error of
the product and of its top eigenpairs, and what the paper concludes from it: spectra alike,
eigenvectors that are nearly products, an input autocorrelation of nearly rank one. Other products
have a study of their own, :mod:`hessian_papers.studies.layerwise.kronecker_factors`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from hessian_papers.constraints import Once
from hessian_papers.labelled import Variable, Variables, assembled, data_set
from hessian_papers.networks.base import shared
from hessian_papers.networks.classifiers import KeptClassifier
from hessian_papers.studies.layerwise.decoupling.quantities import (
    DecouplingMeasurement,
    first_input,
    probed,
    throughout,
    whole,
)
from hessian_papers.studies.layerwise.ensembles import (
    LABELS,
    ClassifierStudyConfig,
    batches_of,
    chosen_networks,
    each_network,
    layers_of,
    network_of,
)
from hessian_papers.studies.layerwise.layers import ENSEMBLE
from hessian_papers.studies.layerwise.standing import STANDING, with_standing
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

# Of the first seed alone, of the layers that are shown.
SHARES = ("output_share", "input_share")


@dataclass(frozen=True, kw_only=True)
class Config(DecouplingMeasurement, ClassifierStudyConfig):
    """The study's configuration.

    Args:
        networks: architectures of the ensemble; empty for all of them.
        shown: layers whose eigenvectors are drawn, such as ``fc1:LeNet5``.
    """

    networks: Annotated[list[str], Once()]
    shown: list[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        names = list(self.shown)
        fits = bool(names) and all(":" in name for name in names) and len({*names}) == len(names)
        require(fits, "shown", "different layers such as fc1:LeNet5", names)

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no classifiers, are not kept, or lack what is shown."""
        super().require_networks(networks)
        names = chosen_networks(self, networks)
        fits = {network_of(name) for name in self.shown} <= {*names}
        expected = f"layers of {', '.join(names)}, such as fc1:{names[0]}"
        require(fits, "shown", expected, list(self.shown))


def measure(
    kept: KeptClassifier, last: bool, labels: Arrays, settings: DecouplingMeasurement
) -> Arrays:
    """All that is measured of the layers of one network.

    Args:
        kept: the network, and what it was trained on.
        last: whether all is measured, or what is at every epoch alone.
        labels: what tells it from the others, and where it stands.
        settings: the rest.

    Returns:
        The :data:`VARIABLES` of one network, its labels, and :data:`SHARES` of all layers.
    """
    model = kept.load()

    def layers_of(images: int) -> dict[str, cv.Layerwise]:
        batches = batches_of(kept, images, torch.float32)
        return cv.layerwise(cv.Problem(model, nn.CrossEntropyLoss(), batches))

    layers = layers_of(settings.images)
    few = 0 < settings.images < kept.samples.count
    everything = layers_of(0) if last and few else layers
    rows = []
    for name, layer in layers.items():
        images = probed(layer, settings)
        rows.append(throughout(layer, images, settings))
        if last:
            rows[-1] |= whole(layer, settings) | first_input(everything[name])
    sizes = np.array([layer.shape for layer in layers.values()])
    return {
        **{name: np.stack([row[name] for row in rows]) for name in rows[0]},
        "layer_name": np.array(list(layers)),
        "outputs": sizes[:, 0],
        "inputs": sizes[:, 1],
        "random_labels": np.array(kept.samples.random_labels),
        **labels,
    }


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each architecture with each seed at each epoch whose weights are kept."""
    epochs = np.sort(networks["kept"].values)
    settings = DecouplingMeasurement(**shared(DecouplingMeasurement, config))
    items = with_standing(
        each_network(networks, epochs, config.networks, settings=settings), networks
    )
    last = int(epochs[-1])
    result: list[Item] = [{**item, "last": int(item["labels"]["epoch"]) == last} for item in items]
    _require_layers(config, result)
    return result


def _require_layers(config: Config, items: Sequence[Item]) -> None:
    """Refuse layers to be shown that their network lacks."""
    models = {item["labels"]["network"].item(): item["kept"] for item in items}
    for name in layers_of(config.shown, models):
        parameters = dict(models[network_of(name)].load().named_parameters())
        known = [key.removesuffix(".weight") for key in parameters if key.endswith(".weight")]
        fits = name.partition(":")[0] in known
        require(fits, "shown", f"layers {', '.join(known)} of {network_of(name)}", name)


def _top(meaning: str) -> Variable:
    return Variable("network seed layer rank", meaning)


VARIABLES: Variables = {
    **ENSEMBLE,
    **STANDING,
    "shown": Variable("shown", "layers whose eigenvectors are drawn"),
    "outputs": Variable("network layer", "outputs m of each layer"),
    "inputs": Variable("network layer", "inputs d of each layer"),
    "random_labels": Variable("network", "whether the network was trained on random labels"),
    "output": Variable("network seed epoch layer rank", "eigenvalues of E[M], descending"),
    "input": Variable("network seed epoch layer rank", "eigenvalues of E[x xᵀ], descending"),
    "squares": Variable(
        "network seed epoch layer probe", "squared norm of a random vector's image"
    ),
    "missed": Variable("network seed epoch layer probe", "what E[M] ⊗ E[x xᵀ] misses of it"),
    "hessian": _top("eigenvalues of the layer-wise Hessian, descending"),
    "residual": _top("their relative residuals"),
    "approximation": _top("eigenvalues of E[M] ⊗ E[x xᵀ], descending"),
    "rank_one": _top("an eigenvector's largest singular value as a matrix, over its norm"),
    "along_first": _top("how much of an eigenvector lies along the first one of E[x xᵀ]"),
    "overlap": _top("of as many first eigenvectors with those of E[M] ⊗ E[x xᵀ]"),
    "spectral": Variable("network seed layer", "‖E[M] ⊗ E[x xᵀ] − H‖ over ‖H‖, spectral norms"),
    "spectral_residual": Variable("network seed layer", "relative residual of the difference's"),
    "mean_aligned": Variable("network seed layer", "(v₁ · Ê[x])², v₁ the first of E[x xᵀ]"),
    "spectral_ratio": Variable("network seed layer", "λ₁/λ₂ of E[x xᵀ]"),
    "output_share": Variable("shown rank direction", "of an eigenvector, along each one of E[M]"),
    "input_share": Variable("shown rank direction", "of an eigenvector, along each one of E[x xᵀ]"),
}


def _gather(config: Config, parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all networks; of those that diverged nothing is shown."""
    rows = [{name: row[name] for name in row if name not in SHARES} for row in parts]
    shown = layers_of(config.shown, {row["network"].item() for row in parts})
    shares = {
        name: np.array([_of_layer(parts, name, layer) for layer in shown])
        for name in SHARES
        if shown
    }
    own = data_set({"shown": np.array(shown, dtype=str), **shares}, VARIABLES)
    return assembled(rows, VARIABLES, LABELS).merge(own)


def _of_layer(parts: Sequence[Arrays], name: str, shown: str) -> np.ndarray:
    """An array that the first seed has of one layer, such as ``fc1:LeNet5``."""
    layer, _, network = shown.partition(":")
    part = next(part for part in parts if name in part and part["network"] == network)
    return np.asarray(part[name][part["layer_name"].tolist().index(layer)])


def _cost(item: Item) -> float:
    """Images times products with a matrix times weights, about, summed over layers."""
    settings: DecouplingMeasurement = item["settings"]
    weights = [weight for weight in item["kept"].load().parameters() if weight.ndim > 1]
    everything = item["kept"].samples.count
    images = min(settings.images or everything, everything)
    products = settings.probes + 10 + (4 * settings.top + 100) * item["last"]
    # Tables 6, 7 and 9 are about all images.
    others = 4 * everything * (item["last"] and images < everything)
    size = len(weights) * sum(weight.numel() for weight in weights)
    return float((images * products + others) * size)


def _probe(item: Item) -> Item:
    """The part that is measured throughout."""
    return {**item, "last": False}


layerwise = FanOut(items=_items, compute=measure, gather=_gather, cost=_cost, probe=_probe)
