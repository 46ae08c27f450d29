"""What the studies of trained classifiers share: their networks, one an item, and the arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from torch import Tensor, nn

from hessian_spectra.networks.classifiers import KeptClassifier, kept_classifier
from hessian_spectra.networks.tools.result import Networks
from hessian_spectra.results import Arrays
from hessian_spectra.studies.base import EnsembleStudyConfig
from hessian_spectra.validation import require
from hessian_spectra.work import Item

# Batches are of so many images.
BATCH = 500
# What tells the networks of an ensemble apart.
LABELS = ("network", "seed", "epoch")

# What stands where an item lacks what others have, by the kind of its array.
EMPTY = {"U": "", "i": 0}


@dataclass(frozen=True, kw_only=True)
class ClassifierStudyConfig(EnsembleStudyConfig):
    """A study of classifiers at epochs whose weights are kept."""

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no classifiers, or of which no weights are kept."""
        there = hasattr(networks, "networks") and bool(getattr(networks, "kept", ()))
        require(there, "ensemble", "classifiers of which weights are kept", self.ensemble)


def each_network(networks: Arrays, settings: Any) -> list[Item]:
    """An item for each architecture with each seed at each kept epoch.

    Returns:
        Of each its ``kept`` network, its ``labels``, and the ``settings``.
    """
    assert isinstance(networks, Networks)
    values = (networks[name].tolist() for name in ("network", "seed", "kept"))
    return [
        {
            "kept": kept_classifier(networks, network, seed, epoch),
            "labels": dict(zip(LABELS, (network, seed, epoch), strict=True)),
            "settings": settings,
        }
        for network, seed, epoch in product(*values)
    ]


def in_float64(kept: KeptClassifier, images: int) -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    """A network and what it was trained on in batches, the first so many images; 0 for all.

    Where a network is sure of its classes, ``p (1 − p)`` is what is left of the rounding of p:
    float32 leaves products with the Hessian two digits.
    """
    count = images or None
    inputs, classes = kept.samples()
    parts = inputs[:count].double().split(BATCH), classes[:count].split(BATCH)
    return kept.load().double(), list(zip(*parts, strict=True))


def gathered(parts: Sequence[Arrays], axes: Sequence[str]) -> Arrays:
    """The arrays of all items, their axes the labels that tell the items apart and then their own.

    Where items have arrays of other lengths, or lack one, the rest is NaN, 0 or "".

    Args:
        parts: of each item its arrays, a single value for each label among them.
        axes: the labels, the first one varying slowest.

    Returns:
        For each label its values, in the order in which they first come; each other array as
        ``(*labels, ...)``.

    Example:
        >>> rows = [{"seed": np.array(s), "value": np.arange(s)} for s in (2, 1)]
        >>> found = gathered(rows, ["seed"])
        >>> found["seed"].tolist(), found["value"].tolist()
        ([2, 1], [[0, 1], [0, 0]])
    """
    labels = {axis: list(dict.fromkeys(part[axis].item() for part in parts)) for axis in axes}
    counts = tuple(map(len, labels.values()))
    found = {axis: np.array(values) for axis, values in labels.items()}
    for name in dict.fromkeys(name for part in parts for name in part if name not in labels):
        arrays = [part[name] for part in parts if name in part]
        lengths = np.max([array.shape for array in arrays], axis=0)
        empty = EMPTY.get(arrays[0].dtype.kind, np.nan)
        found[name] = np.full((*counts, *lengths), empty, dtype=np.result_type(*arrays))
        for part in parts:
            if name in part:
                place = [values.index(part[axis].item()) for axis, values in labels.items()]
                own = tuple(slice(length) for length in part[name].shape)
                whole: Any = found[name]
                whole[(*place, ...)][own] = part[name]
    return found
