"""Image networks at several epochs of their training (anon2026data, figures 3 and 4)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hessian_papers.constraints import Count
from hessian_papers.data.base import IMAGES, Form
from hessian_papers.networks.tools.images import (
    ImageNetworksConfig,
    joined,
    network_item,
    require_images,
    sources,
    split,
)
from hessian_papers.results import stacked
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.images.curvature import at_epoch
from hessian_papers.work import FanOut, Item
from hessian_spectra.files import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class ThroughTrainingConfig(ImageNetworksConfig, DataStudyConfig):
    """Settings of networks that are looked at through their training.

    Args:
        initialisation: ``balanced`` or ``kaiming``.
        recorded: number of epochs, evenly spaced in the logarithm, at which they are looked at,
            beside the start.
    """

    takes = IMAGES

    initialisation: str
    recorded: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.initialisation in ("balanced", "kaiming")
        require(known, "initialisation", "balanced or kaiming", self.initialisation)

    def require_data(self, form: Form) -> None:
        """Refuse data of anything but images, or of fewer than a subset has."""
        super().require_data(form)
        require_images(self.samples, form)


def recorded_epochs(config: ThroughTrainingConfig) -> list[int]:
    """0, 1, ..., the last epoch."""
    spaced = np.geomspace(1, config.epochs, config.recorded)
    return [0, *sorted({round(float(epoch)) for epoch in spaced})]


def training_items(
    config: ThroughTrainingConfig, data: Arrays, widths: Sequence[int]
) -> Iterator[Item]:
    """A network of each width and replicate on a random subset of each image set.

    Raises:
        ValueError: an image set has fewer images than a subset.
    """
    for source in sources(data):
        count = len(data[f"{source}/labels"])
        fits = config.samples <= count
        require(fits, "samples", f"at most {count}, all of {source}", config.samples)
        for width in widths:
            for replicate in range(config.replicates):
                draws = generator(config.seed, f"subset {source} {replicate}")
                yield network_item(
                    config,
                    data,
                    source,
                    torch.randperm(count, generator=draws)[: config.samples],
                    case=f"whitened-{config.initialisation}-linear",
                    width=width,
                    replicate=replicate,
                    record=recorded_epochs(config),
                )


def facts(network: Arrays) -> Arrays:
    """What both studies say about a network at its recorded epochs; of the last one if it stopped.

    Returns:
        ``epoch`` (t,), ``loss`` (t,), ``rate`` (t,), and ``source``, ``replicate``, ``rank``,
        ``floor``, ``diverged_at``, ``samples``.
    """
    names = ("epoch", "loss", "rate", "source", "replicate", "rank", "floor", "diverged_at")
    return {name: network[name] for name in names} | {"samples": np.array(network["counts"].sum())}


def at_each_epoch(
    compute: Callable[..., Arrays], settings: Callable[[Any], dict[str, Any]]
) -> FanOut:
    """What is computed of each network at each recorded epoch, side by side.

    Args:
        compute: from ``network``, what the loss at that epoch depends on, and ``epoch``.
        settings: what else it takes, from the study's configuration.
    """

    def items(config: ThroughTrainingConfig, networks: Arrays) -> list[Item]:
        return [
            {"network": at_epoch(network, at), "epoch": int(epoch)} | settings(config)
            for network in split(networks)
            for at, epoch in enumerate(network["epoch"])
        ]

    return FanOut(items=items, compute=compute, gather=gather_epochs, cost=_cost)


def _cost(item: Item) -> float:
    """The parameters, to which the time of a product is roughly proportional, and its calls."""
    weights = [array for name, array in item["network"].items() if name.startswith("weights ")]
    return 1e5 + float(sum(array.size for array in weights))


def gather_epochs(config: ThroughTrainingConfig, parts: Sequence[Arrays]) -> Arrays:
    """What was measured at each epoch, ``<number>/<name>`` with the epochs first."""
    # A network begins anew wherever the epochs do not rise.
    networks: list[list[Arrays]] = []
    for part in parts:
        if not networks or part["epoch"] <= networks[-1][-1]["epoch"]:
            networks.append([])
        networks[-1].append(part)
    return joined([*map(stacked, networks)])
