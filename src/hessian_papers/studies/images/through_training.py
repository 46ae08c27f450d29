"""Image networks at several epochs of their training (anon2026data, figures 3 and 4)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import Count
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.networks.tools.images import image_sets, network_item, split
from hessian_papers.studies.images.base import ImageStudyConfig
from hessian_papers.studies.images.curvature import at_epoch, weights_at
from hessian_papers.studies.images.derived import NETWORK
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

AXES = (*NETWORK, "epoch")


@dataclass(frozen=True, kw_only=True)
class ThroughTrainingConfig(ImageStudyConfig):
    """Settings of networks that are looked at through their training.

    Args:
        initialisation: ``balanced`` or ``kaiming``.
        recorded: number of epochs, evenly spaced in the logarithm, at which they are looked at,
            beside the start.
    """

    initialisation: str
    recorded: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.initialisation in ("balanced", "kaiming")
        require(known, "initialisation", "balanced or kaiming", self.initialisation)


def recorded_epochs(last: int, number: int) -> list[int]:
    """0, 1, ..., the last epoch, so many after 0 at most, evenly spaced in the logarithm."""
    spaced = np.geomspace(1, last, number)
    return [0, *sorted({round(float(epoch)) for epoch in spaced})]


def training_items(
    config: ThroughTrainingConfig, data: xr.Dataset, widths: Sequence[int]
) -> Iterator[Item]:
    """A network of each width and replicate on a random subset of each image set.

    Raises:
        ValueError: an image set has fewer images than a subset.
    """
    for source, images in image_sets(data).items():
        count = images.sizes["image"]
        fits = config.samples <= count
        require(fits, "samples", f"at most {count}, all of {source}", config.samples)
        for width in widths:
            for replicate in range(config.replicates):
                draws = generator(config.seed, f"subset {source} {replicate}")
                yield network_item(
                    config,
                    images,
                    source,
                    torch.randperm(count, generator=draws)[: config.samples],
                    case=f"whitened-{config.initialisation}-linear",
                    width=width,
                    replicate=replicate,
                    record=recorded_epochs(config.epochs, config.recorded),
                )


VARIABLES: Variables = {
    "source": Variable("source", "image set that the networks are trained on"),
    "width": Variable("width", "units of each hidden layer"),
    "replicate": Variable("replicate", "which of the networks, each on a subset of its own"),
    "epoch": Variable("epoch", "recorded epoch of training"),
    "loss": Variable(" ".join(AXES), "loss"),
    "rate": Variable(" ".join(AXES), "learning rate"),
    "floor": Variable(" ".join(NETWORK), "loss of least squares"),
    "features": Variable(" ".join(NETWORK), "independent features of the inputs"),
    "samples": Variable(" ".join(NETWORK), "images of a subset"),
    "diverged_at": Variable(" ".join(NETWORK), "epoch at which training diverged, -1 for never"),
}


def _labels(network: Arrays, at: int) -> Arrays:
    """Which network it is, at which of its recorded epochs."""
    return {
        "source": network["source"],
        "width": np.array(network["weights 1"].shape[1]),
        "replicate": network["replicate"],
        "epoch": np.array(network["epoch"][at]),
    }


def at_epochs(networks: xr.Dataset) -> Iterator[tuple[Arrays, list[Tensor]]]:
    """What is known of each network at each recorded epoch without theory, and its weights."""
    for network in split(networks):
        facts = {name: network[name] for name in ("floor", "diverged_at")}
        facts |= {"features": network["rank"], "samples": np.array(network["counts"].sum())}
        for at in range(len(network["epoch"])):
            course = {name: np.array(network[name][at]) for name in ("loss", "rate")}
            yield _labels(network, at) | facts | course, weights_at(network, at)


def trace_by_formula(config: ThroughTrainingConfig, weights: Sequence[Tensor]) -> np.ndarray:
    """The trace of the Hessian on white inputs, whose moments are a multiple of the identity."""
    moments = config.input_scale**2 * torch.eye(weights[0].shape[1], dtype=torch.float64)
    return np.array(float(cf.deep_linear_trace(weights, moments)))


def at_each_epoch(
    compute: Callable[..., Arrays], settings: Callable[[Any], dict[str, Any]], variables: Variables
) -> FanOut:
    """What is computed of each network at each recorded epoch, side by side.

    Args:
        compute: from ``labels``, which are returned as well, and ``network``, what the loss at that
            epoch depends on.
        settings: what else it takes, from the study's configuration.
        variables: what the study declares.
    """

    def items(config: ThroughTrainingConfig, networks: xr.Dataset) -> list[Item]:
        return [
            {"labels": _labels(network, at), "network": at_epoch(network, at)} | settings(config)
            for network in split(networks)
            for at in range(len(network["epoch"]))
        ]

    return FanOut(items=items, compute=compute, gather=gathering(variables, *AXES), cost=_cost)


def _cost(item: Item) -> float:
    """The parameters, to which the time of a product is roughly proportional, and its calls."""
    weights = [array for name, array in item["network"].items() if name.startswith("weights ")]
    return 1e5 + float(sum(array.size for array in weights))
