"""What studies of trained classifiers share: their networks, each an item."""

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


@dataclass(frozen=True, kw_only=True)
class ClassifierStudyConfig(EnsembleStudyConfig):
    """A study of classifiers at epochs whose weights are kept."""

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no classifiers, or of which no weights are kept."""
        there = hasattr(networks, "networks") and bool(getattr(networks, "kept", ()))
        require(there, "ensemble", "classifiers of which weights are kept", self.ensemble)


def each_network(networks: Arrays, settings: Any, epochs: np.ndarray) -> list[Item]:
    """An item for each architecture with each seed at some of the kept epochs.

    Returns:
        Of each its ``kept`` network, its ``labels``, and the ``settings``.
    """
    assert isinstance(networks, Networks)
    values = networks["network"].tolist(), networks["seed"].tolist(), epochs.tolist()
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
