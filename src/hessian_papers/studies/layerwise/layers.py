"""Layers and epochs in data sets of layer-wise studies: what each architecture has, and when.

The dimension ``layer`` counts as many layers as any architecture has; ``layer_name`` has their
names, "" where an architecture has fewer.
"""

import xarray as xr

from hessian_papers.labelled import Variable, Variables
from hessian_papers.ledger.bounds import needs

# How a network with batch normalisation is called, beside the one without.
NORMALISED = "-BN"
# The architectures of wu2022dissecting, in its Tables 6, 7 and 9 and Figure 5.
FULLY_CONNECTED = ("F-200^2", "F-200^4", "F-600^2", "F-600^4", "F-600^8", "F-1500^3")
CONVOLUTIONAL = ("LeNet5", "VGG11", "ResNet18")
# What tells the networks of an ensemble and their layers apart.
ENSEMBLE: Variables = {
    "network": Variable("network", "architecture"),
    "seed": Variable("seed", "of the training"),
    "epoch": Variable("epoch", "after which the weights are taken"),
    "layer_name": Variable("network layer", 'names of the layers, "" where a network has fewer'),
}


def own_layers(data: xr.Dataset) -> xr.Dataset:
    """The data of one network without the layers that others have more of, labelled by name.

    Example:
        >>> names = ("network", "layer"), [["fc1", "fc2"], ["fc1", ""]]
        >>> data = xr.Dataset({"layer_name": names}, {"network": ["F-5", "linear"]})
        >>> own_layers(data.sel(network="linear"))["layer"].values.tolist()
        ['fc1']
    """
    names = data["layer_name"]
    own = data.assign_coords(layer=names).isel(layer=(names != "").values)
    return own.drop_vars("layer_name")


def hidden_layers(data: xr.Dataset) -> xr.Dataset:
    """The layers of one network but the last, whose outputs are the scores."""
    return own_layers(data).isel(layer=slice(None, -1))


def layer_names(data: xr.Dataset, network: str) -> list[str]:
    """The layers of a network, the last one last."""
    return [str(name) for name in data["layer_name"].sel(network=network).values if name]


def with_hidden_layers(data: xr.Dataset) -> list[str]:
    """The networks that have a layer before the last which is spoken of."""
    networks = data["network"].values.tolist()
    return [network for network in networks if len(layer_names(data, network)) > 1]


def in_the_paper(network: str) -> bool:
    """Whether wu2022dissecting has an architecture.

    Example:
        >>> [in_the_paper(name) for name in ("F-200^2-BN", "LeNet5-(fc1-80)", "F-100^2")]
        [True, True, False]
    """
    return network.removesuffix(NORMALISED) in FULLY_CONNECTED or network.startswith(CONVOLUTIONAL)


def normalised(data: xr.Dataset) -> list[str]:
    """The networks with batch normalisation."""
    return [name for name in data["network"].values.tolist() if NORMALISED in name]


def plain(data: xr.Dataset) -> list[str]:
    """The networks without batch normalisation, of more than one layer."""
    return [name for name in with_hidden_layers(data) if NORMALISED not in name]


def outliers_of(classes: int, known: int) -> int:
    """The number ``c − 1`` of outliers that the paper expects of a Hessian for c classes.

    Raises:
        NothingToMeasure: fewer eigenvalues are known.
    """
    needs(1 <= classes - 1 <= known, f"this configuration has {known} of {classes - 1} eigenvalues")
    return classes - 1


def before_training(data: xr.Dataset) -> xr.Dataset:
    """The data at the epoch before training.

    Raises:
        NothingToMeasure: those weights are not kept.
    """
    needs(0 in data["epoch"], "this configuration keeps no weights from before training")
    return data.sel(epoch=0)


def when(data: xr.Dataset) -> str:
    """The words in which texts say the epoch of data at one.

    Example:
        >>> when(xr.Dataset(coords={"epoch": 3}))
        'after 3 epochs'
    """
    number = int(data["epoch"])
    return f"after {number} epochs" if number else "before training"
