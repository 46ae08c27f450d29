"""Networks of trained classifiers, each an item of a study, and top eigenpairs."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import AtLeast, Between
from hessian_papers.networks.classifiers import KeptClassifier, kept_classifier
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.work import Item
from hessian_spectra import curvature as cv
from hessian_spectra.validation import require

# Batches are of so many images.
BATCH = 500
# What tells the networks of an ensemble apart.
LABELS = ("network", "seed", "epoch")


# No search in float32 reaches a smaller one, and a larger one tells nothing.
Residual = Annotated[float, Between(1e-7, 0.1, "a relative residual from 1e-7 to 0.1")]


@dataclass(frozen=True, kw_only=True)
class EigenpairMeasurement:
    """The settings that every measurement of top eigenpairs depends on.

    Args:
        seed: of the random vectors, such as those that eigenpairs are searched from.
        tolerance: the eigenpairs' relative residual.
        images: the Hessian is that of the loss on the first so many; 0 for all.
    """

    seed: int
    tolerance: Residual
    images: Annotated[int, AtLeast(0)]


@dataclass(frozen=True, kw_only=True)
class ClassifierStudyConfig(EnsembleStudyConfig):
    """A study of classifiers at epochs whose weights are kept."""

    def require_networks(self, networks: Any) -> None:
        """Refuse networks that are no classifiers, or of which no weights are kept."""
        suited = hasattr(networks, "networks") and bool(getattr(networks, "kept", ()))
        require(suited, "ensemble", "classifiers of which weights are kept", self.ensemble)


def chosen_networks(config: Any, networks: Any) -> list[str]:
    """The architectures of a study: its own ``networks``, or all of the ensemble where it is empty.

    Raises:
        ValueError: one is not among the ensemble's; the message begins with the field.
    """
    names = list(networks.networks)
    expected = f"some of {config.ensemble}'s, {', '.join(names)}"
    require({*config.networks} <= {*names}, "networks", expected, list(config.networks))
    return list(config.networks) or names


def network_of(layer: str) -> str:
    """The architecture of a layer that is called as in ``fc1:LeNet5``."""
    return layer.partition(":")[2]


def layers_of(layers: Sequence[str], networks: Collection[str]) -> list[str]:
    """The layers whose networks are there: networks that diverged are not."""
    return [name for name in layers if network_of(name) in networks]


def each_network(
    networks: xr.Dataset, epochs: np.ndarray, names: Sequence[str] = (), **common: Any
) -> list[Item]:
    """An item for each architecture, or some, with each seed at some of the kept epochs.

    Networks that diverged are left out, see :func:`surviving`.

    Returns:
        Of each its ``kept`` network, its ``labels`` as arrays, and what is ``common`` to all.
    """
    values = *surviving(networks, "network", names), epochs.tolist()
    return [
        {
            "kept": kept_classifier(networks, network, seed, epoch),
            "labels": dict(zip(LABELS, map(np.array, (network, seed, epoch)), strict=True)),
            **common,
        }
        for network, seed, epoch in product(*values)
    ]


def batches_of(
    kept: KeptClassifier, images: int, dtype: torch.dtype = torch.float64
) -> list[tuple[Tensor, Tensor]]:
    """The images that a network was trained on in batches, the first so many; 0 for all.

    Where a network is sure of its classes, ``p (1 − p)`` is what is left of the rounding of p:
    float32 leaves products with the Hessian two digits.
    """
    count = images or None
    inputs, classes = kept.samples.trained()
    parts = inputs[:count].to(dtype).split(BATCH), classes[:count].split(BATCH)
    return list(zip(*parts, strict=True))


class Top(NamedTuple):
    """The top eigenpairs of a matrix, by descending eigenvalue.

    Attributes:
        values: ``(k,)``.
        residuals: their relative residuals, ``(k,)``.
        vectors: as columns, ``(p, k)``.
    """

    values: Tensor
    residuals: Tensor
    vectors: Tensor


def top_of(matrix: cv.SymmetricOperator, k: int, **how: Any) -> Top:
    """Search for the top eigenpairs, as :func:`~hessian_spectra.curvature.top_eigenpairs` does."""
    with warnings.catch_warnings():
        # Its residual stands beside each eigenvalue.
        warnings.simplefilter("ignore", cv.ConvergenceWarning)
        pairs = cv.top_eigenpairs(matrix, k, **how)
    assert pairs.residuals is not None
    return Top(
        values=pairs.eigenvalues.flip(0),
        residuals=pairs.residuals[pairs.values.argsort(descending=True)],
        vectors=pairs.eigenvectors().flip(1),
    )
