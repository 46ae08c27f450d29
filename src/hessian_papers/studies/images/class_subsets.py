"""Networks on subsets of images in which one class has a given share: which ones there are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
import xarray as xr

from hessian_papers.constraints import Once
from hessian_papers.data.tools.subsets import imbalanced_subset, share_range
from hessian_papers.networks.tools.images import CASES, image_sets, network_item
from hessian_papers.studies.images.base import ImageStudyConfig
from hessian_papers.work import Item
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class ClassSubsetsConfig(ImageStudyConfig):
    """Settings of networks on subsets with a given largest class.

    Args:
        cases: what is done to the inputs, how weights are drawn, and the activation, for example
            ``whitened-balanced-linear``.
        shares: shares of class 0; each is taken at those image sets that have enough of it.
        other_samples: further numbers of images, for the first case only; each with those shares
            for which there are enough.
    """

    cases: Annotated[list[str], Once()]
    shares: Annotated[list[float], Once()]
    other_samples: Annotated[list[int], Once()]

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = len(self.cases) > 0 and set(self.cases) <= set(CASES)
        require(chosen, "cases", f"one or more of {', '.join(CASES)}", list(self.cases))
        shares = list(self.shares)
        valid = len(shares) > 0 and all(0 < share <= 1 for share in shares)
        require(valid, "shares", "one or more shares in (0, 1]", shares)
        sizes = list(self.other_samples)
        require(all(n >= 1 for n in sizes), "other_samples", "numbers of at least 1", sizes)


class Point(NamedTuple):
    """A network to train."""

    source: str
    case: str
    samples: int
    share: float
    replicate: int


def points(config: ClassSubsetsConfig, data: xr.Dataset) -> list[Point]:
    """All networks, in the order in which they are kept.

    Raises:
        ValueError: the data set has no images, or an image set has too few for every share.
    """
    entries = []
    for source, images in image_sets(data).items():
        available = np.bincount(images["labels"].values).tolist()
        chosen = [
            (samples, share)
            for samples in dict.fromkeys((config.samples, *config.other_samples))
            for share in config.shares
            if _enough(available, samples, share)
        ]
        if not any(samples == config.samples for samples, _ in chosen):
            raise ValueError(
                f"shares: expected one of {config.samples} samples for which {source}, with "
                f"{available} images of its classes, has enough, got {list(config.shares)}"
            )
        entries += [
            Point(source, case, samples, share, replicate)
            for case in config.cases
            for samples, share in chosen
            if samples == config.samples or case == config.cases[0]
            for replicate in range(config.replicates)
        ]
    return entries


def _enough(available: Sequence[int], size: int, share: float) -> bool:
    """Whether a subset can be drawn."""
    try:
        smallest, largest = share_range(available, size)
    except ValueError:
        return False
    # The shares of the ends themselves are quotients, rounded.
    return smallest - 1e-12 <= share <= largest + 1e-12


def training_items(config: ClassSubsetsConfig, data: xr.Dataset) -> Iterator[Item]:
    """A network on each of the subsets."""
    sets = image_sets(data)
    for point in points(config, data):
        # The same order of the images for all shares and sizes, so that subsets overlap.
        draws = generator(config.seed, f"subset {point.source} {point.replicate}")
        images = sets[point.source]
        labels = torch.from_numpy(images["labels"].values)
        yield network_item(
            config,
            images,
            point.source,
            imbalanced_subset(labels, point.samples, point.share, draws),
            case=point.case,
            width=config.width,
            replicate=point.replicate,
            record=[0, config.epochs],
        )
