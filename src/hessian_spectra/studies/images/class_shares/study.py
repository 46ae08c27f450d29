"""The sharpness of a solution and the share of the largest class (anon2026data, figures 1c and 2).

Subsets of images in which one class has a given share; a network is trained on each, and the
largest eigenvalue of its Hessian is compared with what the labels alone predict. Subsets of several
sizes show how far the sharpness depends on the number of samples.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from hessian_spectra import closed_form as cf
from hessian_spectra.data.tools.subsets import imbalanced_subset, share_range
from hessian_spectra.networks.images import (
    CASES,
    ImageNetworksConfig,
    network_item,
    sources,
    split,
    training,
)
from hessian_spectra.results import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.studies.base import DataStudyConfig
from hessian_spectra.studies.images.curvature import at_epoch, measure_sharpness, weights_at
from hessian_spectra.validation import require
from hessian_spectra.work import FanOut, Item


@dataclass(frozen=True, kw_only=True)
class Config(ImageNetworksConfig, DataStudyConfig):
    """Settings of the study of class shares.

    Args:
        cases: what is done to the inputs, how weights are drawn, and the activation, for example
            ``whitened-balanced-linear``.
        shares: shares of class 0; each is taken at those image sets that have enough of it.
        other_samples: further numbers of images, for the first case only; each with those shares
            for which there are enough.
    """

    cases: list[str]
    shares: list[float]
    other_samples: list[int]

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


def points(config: Config, data: Arrays) -> list[Point]:
    """All networks, in the order in which they are kept.

    Raises:
        ValueError: the data set has no images, or an image set has too few for every share.
    """
    found = []
    for source in sources(data):
        available = np.bincount(data[f"{source}/labels"]).tolist()
        chosen = [
            (samples, share)
            for samples in (config.samples, *config.other_samples)
            for share in config.shares
            if _enough(available, samples, share)
        ]
        if not any(samples == config.samples for samples, _ in chosen):
            raise ValueError(
                f"shares: {source} has {available} images of its classes, not enough for any of "
                f"the shares {list(config.shares)} of {config.samples}; take fewer samples"
            )
        found += [
            Point(source, case, samples, share, replicate)
            for case in config.cases
            for samples, share in chosen
            if samples == config.samples or case == config.cases[0]
            for replicate in range(config.replicates)
        ]
    return found


def _enough(available: Sequence[int], size: int, share: float) -> bool:
    """Whether a subset can be drawn."""
    try:
        smallest, largest = share_range(available, size)
    except ValueError:
        return False
    # The shares of the ends themselves are quotients, rounded.
    return smallest - 1e-12 <= share <= largest + 1e-12


def _training_items(config: Config, data: Arrays) -> Iterator[Item]:
    for point in points(config, data):
        # The same order of the images for all shares and sizes, so that subsets overlap.
        draws = generator(config.seed, f"subset {point.source} {point.replicate}")
        labels = torch.from_numpy(data[f"{point.source}/labels"])
        yield network_item(
            config,
            data,
            point.source,
            imbalanced_subset(labels, point.samples, point.share, draws),
            case=point.case,
            width=config.width,
            replicate=point.replicate,
            record=[0, config.epochs],
        )


train = training(_training_items)


def closed_form(config: Config, networks: Arrays) -> Arrays:
    """What the theory says of each trained network.

    Returns:
        For each of N networks: ``source``, ``case``, ``samples``, ``share`` (of class 0),
        ``replicate``, ``rank`` of the inputs; ``labels``, the sharpness predicted from the labels
        alone, eq. (14); ``fit``, the same from the part of the labels that the inputs fit, at the
        least-squares point; ``bound``, eq. (6) at the trained weights; ``second_moment``, the
        largest one μ of a linear network's inputs, and ``first_layer``, μ σ_max²(W_L ... W_2) at
        the trained weights, the largest eigenvalue of the first layer's block of the Gauss-Newton
        matrix; ``defect`` (N, 2) of balancedness before and after training; ``loss`` and ``floor``,
        the smallest loss that the linear networks could reach; ``halvings``, ``finished``,
        ``diverged_at``. NaN where the theory says nothing: ``fit`` and ``bound`` of nonlinear
        networks or raw inputs, the two of the first layer of nonlinear ones.
    """
    rows = [_theory(config, network) for network in split(networks)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _theory(config: Config, network: Arrays) -> dict[str, object]:
    counts = network["counts"]
    row: dict[str, object] = {name: network[name] for name in ("source", "case", "replicate")}
    row |= {name: network[name] for name in ("rank", "halvings", "finished", "diverged_at")}
    row |= {"samples": counts.sum(), "share": counts[0] / counts.sum()}
    scale = config.input_scale
    row["labels"] = float(
        cf.sharpness_from_labels(counts.max() / counts.sum(), config.depth, scale)
    )
    row["fit"] = row["bound"] = row["second_moment"] = row["first_layer"] = np.nan
    weights = weights_at(network, -1)
    if "root" in network:
        moment = float(network["root"].max()) ** 2
        after = functools.reduce(torch.matmul, reversed(weights[1:]))
        row["second_moment"] = moment
        row["first_layer"] = moment * float(torch.linalg.matrix_norm(after, 2)) ** 2
    if str(network["case"]).startswith("whitened") and "root" in network:
        norm = float(np.linalg.norm(network["target"], 2)) / scale
        row["fit"] = float(cf.least_squares_sharpness(norm, config.depth, scale))
        row["bound"] = float(cf.deep_linear_bound(weights, scale))
    row["defect"] = [cf.balancedness_defect(weights_at(network, at)) for at in (0, -1)]
    row["loss"] = network["loss"][-1]
    row["floor"] = network.get("floor", np.array(np.nan))
    return row


def _numerics_items(config: Config, networks: Arrays) -> list[Item]:
    return [
        {
            "network": at_epoch(network, -1),
            "activation": str(network["case"]).rsplit("-", maxsplit=1)[1],
            "diverged": int(network["diverged_at"]) >= 0,
        }
        for network in split(networks)
    ]


def _numerics_cost(item: Item) -> float:
    """Roughly the operations of a product with the Hessian."""
    network = item["network"]
    signals = 10 if item["activation"] == "linear" else len(network["inputs"])
    parameters = sum(array.size for name, array in network.items() if name.startswith("weights "))
    return 1e6 + float(signals * parameters)


def _gather_numerics(config: Config, parts: Sequence[Arrays]) -> Arrays:
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}


numerics = FanOut(
    items=_numerics_items, compute=measure_sharpness, gather=_gather_numerics, cost=_numerics_cost
)
