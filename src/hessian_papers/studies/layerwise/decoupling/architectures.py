"""The architectures and layers of a study that each claim is about."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
import xarray as xr

from hessian_papers.ledger.statements import Labels
from hessian_papers.studies.layerwise.decoupling.tables import printed_rows
from hessian_papers.studies.layerwise.layers import NORMALISED, normalised, own_layers, plain

# Fully connected layers, of which eq. (3) is, and convolutions; the input layer, and the others.
KINDS, PLACES = ("fc", "conv"), ("first", "later")
# The networks of the paper's tables; on others it says nothing.
IN_PRINT = frozenset(row["network"] for row in printed_rows())


def layers_at(data: xr.Dataset, network: str, kind: str, place: str) -> xr.Dataset:
    """The layers of a network that are of a kind and at a place, labelled by name.

    Args:
        data: of all networks.
        network: one of them.
        kind: ``fc`` or ``conv``.
        place: ``first`` for the input layer, ``later`` for those after it.
    """
    own = own_layers(data.sel(network=network))
    chosen = [
        ("conv" in name) == (kind == "conv") and (place == "first") == (number == 0)
        for number, name in enumerate(own["layer"].values.tolist())
    ]
    return own.isel(layer=np.array(chosen, dtype=bool))


def layers(
    data: xr.Dataset,
    *,
    networks: Callable[[xr.Dataset], Sequence[str]],
    kinds: Sequence[str] = KINDS,
    places: Sequence[str] = PLACES,
    beyond_classes: int | None = None,
) -> Iterator[Labels]:
    """The network, kind and place of layers that there are.

    Args:
        data: of a study.
        networks: chooses architectures.
        kinds: of the layers.
        places: of the layers.
        beyond_classes: how many more outputs than classes one of the layers has at least; ``None``
            for any number of outputs.
    """
    for network, kind, place in product(networks(data), kinds, places):
        outputs = layers_at(data, network, kind, place)["outputs"].values
        classes = int(own_layers(data.sel(network=network))["outputs"][-1])
        if beyond_classes is not None:
            outputs = outputs[outputs >= classes + beyond_classes]
        if len(outputs):
            yield {"network": network, "kind": kind, "place": place}


def in_print(data: xr.Dataset) -> list[str]:
    """The architectures of the paper's tables that have no batch normalisation."""
    return [name for name in plain(data) if name in IN_PRINT]


def paired(data: xr.Dataset) -> list[str]:
    """The architectures of the tables that are there with batch normalisation, too."""
    names = [name.removesuffix(NORMALISED) for name in normalised(data)]
    return [name for name in names if name in in_print(data)]


def matrices(data: xr.Dataset, *, random: bool) -> list[Labels]:
    """The two matrices of layers, if the labels are random, or if they are true."""
    # Runs that were recorded before that was kept have the labels of their artifact.
    if "random_labels" in data and bool(data["random_labels"].any()) != random:
        return []
    own = layers(data, networks=in_print, beyond_classes=1)
    return [{**case, "matrix": name} for case, name in product(own, ("output", "hessian"))]
