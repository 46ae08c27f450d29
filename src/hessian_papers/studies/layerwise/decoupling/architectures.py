"""The architectures of a study that each claim is about."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import permutations, product

import xarray as xr

from hessian_papers.ledger.statements import Labels
from hessian_papers.studies.layerwise.decoupling.derived import NORMALISED
from hessian_papers.studies.layerwise.layers import with_hidden_layers

# F-n^m: m hidden layers of n.
_SIZES = re.compile(r"F-(?P<width>\d+)(?:\^(?P<depth>\d+))?$")


def networks(data: xr.Dataset) -> list[str]:
    """All architectures."""
    return [str(name) for name in data["network"].values]


def plain(data: xr.Dataset) -> list[str]:
    """The architectures without batch normalisation, of more than one layer."""
    return [name for name in with_hidden_layers(data) if NORMALISED not in name]


def normalised(data: xr.Dataset) -> list[str]:
    """The architectures with batch normalisation."""
    return [name for name in networks(data) if NORMALISED in name]


def followed(data: xr.Dataset) -> list[str]:
    """All architectures, of a run that has networks before their training and after."""
    return networks(data) if data.sizes["epoch"] > 1 and 0 in data["epoch"] else []


def pairs(data: xr.Dataset) -> list[Labels]:
    """The architectures with batch normalisation that are there without it, too."""
    names = [name.removesuffix(NORMALISED) for name in normalised(data)]
    return [{"network": name} for name in names if name in plain(data)]


def matrices(data: xr.Dataset, *, random: bool) -> list[Labels]:
    """The two matrices of each architecture, if the labels are random, or if they are true."""
    # Runs that were recorded before that was kept have the labels of their artifact.
    if "random_labels" in data and bool(data["random_labels"].any()) != random:
        return []
    each = product(plain(data), ("output", "hessian"))
    return [{"network": network, "matrix": matrix} for network, matrix in each]


with_true_labels, with_random_labels = (
    partial(matrices, random=labels) for labels in (False, True)
)


def others(data: xr.Dataset) -> list[Labels]:
    """What may be nearer to the Hessian: the best product, and EKFAC's eigenvalues."""
    each = product(networks(data), ("nearest", "corrected"))
    return [{"network": name, "other": other} for name, other in each]


def sizes(data: xr.Dataset) -> Iterator[Labels]:
    """Two fully connected architectures of which one is wider, or deeper, and otherwise alike."""
    for larger, smaller in permutations(plain(data), 2):
        first, second = _SIZES.match(larger), _SIZES.match(smaller)
        if first is None or second is None:
            continue
        width, depth = (
            int(first[name] or 1) - int(second[name] or 1) for name in ("width", "depth")
        )
        if (width > 0 and depth == 0) or (depth > 0 and width == 0):
            yield {"larger": larger, "smaller": smaller, "what": "deeper" if depth else "wider"}
