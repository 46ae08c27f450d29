"""The sharpness of a solution and the share of the largest class (anon2026data, figures 1c and 2).

Subsets of images in which one class has a given share; a network is trained on each, and the
largest eigenvalue of its Hessian is compared with what the labels alone predict. Subsets of several
sizes show how far the sharpness depends on the number of samples.
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Different, Each, Once
from hessian_papers.data.tools.subsets import imbalanced_subset, share_range
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.networks.tools.images import CASES, image_sets, network_item, split, training
from hessian_papers.studies.images.base import ImageStudyConfig
from hessian_papers.studies.images.curvature import (
    at_epoch,
    parameters,
    top_eigenvalues,
    weights_at,
)
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.models import Activation
from hessian_spectra.seeding import generator

# Residual of the sharpness, relative; its own error is about the square of it.
TOLERANCE = 1e-5
Shares = Each("one or more shares in (0, 1]", lambda share: 0 < share <= 1)
Sizes = Each("numbers of at least 1", lambda size: size >= 1, least=0)


@dataclass(frozen=True, kw_only=True)
class Config(ImageStudyConfig):
    """Settings of networks on subsets with a given largest class.

    Args:
        cases: what is done to the inputs, how weights are drawn, and the activation, for example
            ``whitened-balanced-linear``.
        shares: shares of class 0; each is taken at those image sets that have enough of it.
        other_samples: further numbers of images, for the first case only; each with those shares
            for which there are enough.
        further_replicates: networks of each point beside ``replicates``, for the first case only.
    """

    cases: Annotated[list[str], Different(CASES)]
    shares: Annotated[list[float], Once(), Shares]
    other_samples: Annotated[list[int], Once(), Sizes]
    further_replicates: Annotated[int, AtLeast(0)]


VARIABLES: Variables = {
    "network": Variable("network", "number of the network, in the order of their training"),
    "source": Variable("network", "image set that the networks are trained on"),
    "case": Variable("network", "what is done to the inputs, initialisation and activation"),
    "samples": Variable("network", "images of a subset, the study's own number first"),
    "share": Variable("network", "share of class 0"),
    "replicate": Variable("network", "which of the networks, each on a subset of its own"),
    "time": Variable("time", "start or end of training"),
    "classes": Variable("network", "number of classes"),
    "edge": Variable("", "2/η at the start"),
    "features": Variable("network", "independent features of the inputs"),
    "labels": Variable("network", "sharpness from the labels alone, eq. (14)"),
    "fit": Variable("network", "the same from what the inputs fit, at the least-squares point"),
    "bound": Variable("network", "bound on the sharpness at the trained weights, eq. (6)"),
    "second_moment": Variable("network", "largest second moment μ of the inputs"),
    "first_layer": Variable(
        "network", "μ σ_max²(W_L ... W_2), the first layer's part of the sharpness"
    ),
    "defect": Variable("network time", "defect of balancedness"),
    "loss": Variable("network", "loss after training"),
    "floor": Variable("network", "smallest loss that linear networks could reach"),
    "halvings": Variable("network", "how often the learning rate was halved"),
    "finished": Variable("network", "last epoch"),
    "diverged_at": Variable("network", "epoch at which training diverged, -1 for never"),
    "sharpness": Variable("network", "largest eigenvalue of the Hessian"),
    "ggn": Variable("network", "largest eigenvalue of the Gauss-Newton matrix"),
    "residual": Variable("network", "of the Hessian's, relative"),
    "ggn_residual": Variable("network", "of the Gauss-Newton matrix's, relative"),
}


def training_items(config: Config, data: xr.Dataset) -> Iterator[Item]:
    """A network on each subset that can be had; the first case has more of them.

    Raises:
        ValueError: the data set has no images, or an image set has too few for every share.
    """
    for source, images in image_sets(data).items():
        labels = torch.from_numpy(images["labels"].values)
        chosen = subsets(config, source, labels)
        every = config.replicates + config.further_replicates
        for case, (samples, share), replicate in itertools.product(
            config.cases, chosen, range(every)
        ):
            of_all = samples == config.samples and replicate < config.replicates
            if of_all or case == config.cases[0]:
                # The same order of the images for all shares and sizes, so that subsets overlap.
                draws = generator(config.seed, f"subset {source} {replicate}")
                yield network_item(
                    config,
                    images,
                    source,
                    imbalanced_subset(labels, samples, share, draws),
                    case=case,
                    width=config.width,
                    replicate=replicate,
                    record=[0, config.epochs],
                )


def subsets(config: Config, source: str, labels: Tensor) -> list[tuple[int, float]]:
    """The numbers of images and shares of which an image set has enough.

    Raises:
        ValueError: it has not for any share at the study's own number.
    """
    available = torch.bincount(labels).tolist()
    sizes = dict.fromkeys((config.samples, *config.other_samples))
    wanted = itertools.product(sizes, config.shares)
    chosen = [(size, share) for size, share in wanted if _enough(available, size, share)]
    if not any(size == config.samples for size, _ in chosen):
        raise ValueError(
            f"shares: expected one of {config.samples} samples for which {source}, with "
            f"{available} images of its classes, has enough, got {list(config.shares)}"
        )
    return chosen


def _enough(available: Sequence[int], size: int, share: float) -> bool:
    """True if a subset can be drawn."""
    try:
        smallest, largest = share_range(available, size)
    except ValueError:
        return False
    # The shares of the ends themselves are quotients, rounded.
    return smallest - 1e-12 <= share <= largest + 1e-12


train = training(training_items)


def closed_form(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The theory of each trained network, NaN where it says nothing.

    That is of nonlinear networks or raw inputs what is said of the least-squares point and the
    bound, of nonlinear ones what is said of the first layer.
    """
    return _numbered(
        [_facts(config, network) | _theory(config, network) for network in split(networks)]
    )


def _numbered(parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all networks, of the arrays of each."""
    rows = [{"network": np.array(number)} | part for number, part in enumerate(parts)]
    return assembled(rows, VARIABLES, ["network"])


def _facts(config: Config, network: Arrays) -> Arrays:
    """The facts of a network that are known without theory."""
    names = ("source", "case", "replicate", "halvings", "finished", "diverged_at")
    counts = network["counts"]
    return {name: network[name] for name in names} | {
        "samples": counts.sum(),
        "share": counts[0] / counts.sum(),
        "features": network["rank"],
        "classes": np.array(len(counts)),
        "edge": np.array(2 / config.learning_rate),
        "time": np.array(["start", "end"]),
        "defect": np.array([cf.balancedness_defect(weights_at(network, at)) for at in (0, -1)]),
        "loss": network["loss"][-1],
        "floor": network.get("floor", np.array(np.nan)),
    }


def _theory(config: Config, network: Arrays) -> Arrays:
    counts, depth, scale = network["counts"], config.depth, config.input_scale
    values = dict.fromkeys(("fit", "bound", "second_moment", "first_layer"), np.nan)
    values["labels"] = float(cf.sharpness_from_labels(counts.max() / counts.sum(), depth, scale))
    weights = weights_at(network, -1)
    if "root" in network:
        moment = float(network["root"].max()) ** 2
        after = functools.reduce(torch.matmul, reversed(weights[1:]))
        values["second_moment"] = moment
        values["first_layer"] = moment * float(torch.linalg.matrix_norm(after, 2)) ** 2
    if str(network["case"]).startswith("whitened") and "root" in network:
        norm = float(np.linalg.norm(network["target"], 2)) / scale
        values["fit"] = float(cf.least_squares_sharpness(norm, depth, scale))
        values["bound"] = float(cf.deep_linear_bound(weights, scale))
    return {name: np.array(value) for name, value in values.items()}


def _numerics_items(config: Config, networks: xr.Dataset) -> list[Item]:
    return [
        {
            "network": at_epoch(network, -1),
            "activation": str(network["case"]).rsplit("-", maxsplit=1)[1],
            "diverged": int(network["diverged_at"]) >= 0,
        }
        for network in split(networks)
    ]


def measure_sharpness(network: Arrays, activation: Activation, diverged: bool) -> Arrays:
    """The largest eigenvalue of the Hessian and of its Gauss-Newton part, NaN if it diverged.

    Returns:
        ``sharpness``, ``ggn`` and the residuals of both.
    """
    names = ("sharpness", "ggn", "residual", "ggn_residual")
    of_both = [np.nan] * 4 if diverged else top_eigenvalues(network, activation, 1, TOLERANCE)
    return {name: np.array(value) for name, value in zip(names, np.ravel(of_both), strict=True)}


def _numerics_cost(item: Item) -> float:
    """Roughly the operations of a product with the Hessian."""
    network = item["network"]
    signals = 10 if item["activation"] == "linear" else len(network["inputs"])
    return 1e6 + float(signals * parameters(network))


numerics = FanOut(
    items=_numerics_items,
    compute=measure_sharpness,
    gather=lambda config, parts: _numbered(parts),
    cost=_numerics_cost,
)
