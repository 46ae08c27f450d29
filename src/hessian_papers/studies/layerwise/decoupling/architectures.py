"""The architectures of a study that each claim is about."""

from functools import partial
from itertools import product

import xarray as xr

from hessian_papers.ledger.statements import Labels
from hessian_papers.studies.layerwise.layers import NORMALISED, normalised, plain


def followed(data: xr.Dataset) -> list[str]:
    """All architectures, of a run that has networks before their training and after."""
    known = data.sizes["epoch"] > 1 and 0 in data["epoch"]
    return data["network"].values.tolist() if known else []


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
    """The matrices that may be nearer to the Hessian: the best product, and EKFAC's."""
    each = product(data["network"].values.tolist(), ("nearest", "corrected"))
    return [{"network": name, "other": other} for name, other in each]
