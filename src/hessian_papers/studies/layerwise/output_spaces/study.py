"""Output Hessians of trained networks beside what the weights behind a layer say of them.

wu2022dissecting, appendix G.1 and Table 8, equation (272): with S the product of the weights behind
a layer, the top ``c − 1`` eigenvectors of ``E[M]`` span about the rows of S without their sum, and
at initialisation ``E[M]`` is about ``Sᵀ A S / 4^(L−p)``. Both take each ReLU behind the layer for
active half of the time, whatever its weights are. Beside them stands what needs no such thing: the
mean Jacobian ``E[G]`` of the scores by the layer's outputs in the place of ``S / 2^(L−p)``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.networks.classifiers import KeptClassifier
from hessian_papers.results import stacked
from hessian_papers.studies.layerwise.ensembles import (
    LABELS,
    ClassifierStudyConfig,
    batches_of,
    each_network,
)
from hessian_papers.studies.layerwise.layers import ENSEMBLE
from hessian_papers.studies.layerwise.rows import jacobian_rows, without_the_sum
from hessian_papers.studies.layerwise.standing import STANDING, with_standing
from hessian_papers.work import FanOut, Item
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays

Batches = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Config(ClassifierStudyConfig):
    """The study's configuration.

    Args:
        images: the loss is that on the first so many; 0 for all.
    """

    images: Annotated[int, AtLeast(0)]


def products_behind(model: nn.Module) -> dict[str, Tensor]:
    """``S = W_L ⋯ W_{p+1}`` of each layer p that linear layers and ReLUs alone follow.

    Args:
        model: whose modules follow one another.

    Returns:
        By the name of the layer, the last one first, ``(c, m)``, float64; of the last one I.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
        >>> {name: tuple(rows.shape) for name, rows in products_behind(model).items()}
        {'2': (1, 1), '0': (1, 2)}
    """
    entries: dict[str, Tensor] = {}
    rows: Tensor | None = None
    for name, module in reversed(list(model.named_children())):
        if isinstance(module, nn.Linear):
            weight = module.weight.detach().double()
            rows = torch.eye(len(weight), dtype=weight.dtype) if rows is None else rows
            entries[name] = rows = rows.to(weight.device)
            rows = rows @ weight
        elif not isinstance(module, nn.ReLU):
            break
    return entries


def expectations(
    model: nn.Module, batches: Batches, names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    """``E[A]`` of the softmax, ``A = diag(p) − p pᵀ``, and ``E[G]`` of some layers.

    G is the Jacobian of the c scores by a layer's m outputs.

    Args:
        model: a classifier in ``eval()``.
        batches: images and classes.
        names: layers whose outputs are vectors.

    Returns:
        ``(c, c)`` and, by layer, ``(c, m)``.
    """
    count = sum(len(x) for x, _ in batches)
    softmax: Any = 0.0
    jacobians: dict[str, Any] = dict.fromkeys(names, 0.0)
    for _, p, rows in jacobian_rows(model, batches, names, _units):
        softmax = softmax + (torch.diag(p.sum(dim=0)) - p.T @ p) / count
        for name, own in rows.items():
            jacobians[name] = jacobians[name] + own.sum(dim=0) / count
    return softmax, jacobians


def _units(softmax: Tensor) -> Tensor:
    """The identity of each sample, which leaves the Jacobian itself."""
    return torch.eye(softmax.shape[1]).to(softmax).expand(len(softmax), -1, -1)


# What is measured of the layers; the overlaps are those with the top c − 1 space of E[M].
MEASURED = "network seed epoch layer"
VARIABLES: Variables = {
    **ENSEMBLE,
    **STANDING,
    "rows": Variable(MEASURED, "overlap of the rows of S without their sum, {Sᵀ a: Σ a = 0}"),
    "complement": Variable(MEASURED, "overlap of what of their span is orthogonal to their sum"),
    "jacobian": Variable(MEASURED, "overlap of {E[G]ᵀ a: Σ a = 0}"),
    "printed_error": Variable(MEASURED, "‖F − E[M]‖ / ‖E[M]‖, F = Sᵀ E[A] S / 4^(L−p)"),
    "jacobian_error": Variable(MEASURED, "‖F − E[M]‖ / ‖E[M]‖, F = E[G]ᵀ E[A] E[G]"),
}


def measure(kept: KeptClassifier, labels: Arrays, images: int) -> Arrays:
    """The output Hessians of a network, and how near they are to what is predicted of them.

    Args:
        kept: the network, and what it was trained on.
        labels: what tells it from the others, and where it stands.
        images: the loss is that on the first so many; 0 for all.

    Returns:
        What is in :data:`VARIABLES`, of the layers of :func:`products_behind`, the first one first.
    """
    model, batches = kept.load().double(), batches_of(kept, images)
    behind = dict(reversed(products_behind(model).items()))
    softmax, jacobians = expectations(model, batches, list(behind))
    problem = cv.Problem(model, nn.CrossEntropyLoss(), batches)
    layers = cv.layerwise(problem, list(behind))
    rows = [
        measure_layer(
            layers[name].output_hessian,
            softmax,
            jacobians[name],
            behind[name] / 2 ** (len(behind) - 1 - place),
        )
        for place, name in enumerate(behind)
    ]
    return {
        **stacked(rows),
        "layer_name": np.array(list(behind)),
        **labels,
    }


def measure_layer(
    hessian: Tensor, softmax: Tensor, jacobian: Tensor, halved: Tensor
) -> dict[str, float]:
    """The predictions of one output Hessian ``E[M]``, ``(m, m)``, against it.

    Args:
        hessian: ``E[M]``.
        softmax: ``E[A]``, ``(c, c)``.
        jacobian: ``E[G]``, ``(c, m)``.
        halved: ``S / 2^(L−p)``, ``(c, m)``.

    Returns:
        The overlaps of three spaces with its top ``c − 1`` space and, in the Frobenius norm, two
        errors: see :data:`VARIABLES`. NaN where there are fewer than c − 1 dimensions, or E[M] is
        zero.
    """
    size = hessian.norm()
    forms = {"printed_error": halved, "jacobian_error": jacobian}
    values = {
        name: float((form.T @ softmax @ form - hessian).norm() / size)
        for name, form in forms.items()
    }
    dimensions = len(softmax) - 1
    spaces = {
        "rows": halved - halved.mean(dim=0),
        "complement": without_the_sum(halved),
        "jacobian": jacobian - jacobian.mean(dim=0),
    }
    fits = 1 <= dimensions <= len(hessian) and float(size) > 0
    top = torch.linalg.eigh(hessian).eigenvectors[:, -dimensions:]
    for name, rows in spaces.items():
        basis = _basis(rows, dimensions) if fits else None
        values[name] = math.nan if basis is None else cv.subspace_overlap(top, basis)
    return values


def _basis(rows: Tensor, dimensions: int) -> Tensor | None:
    """An orthonormal basis of the rows' span, ``(m, dimensions)``; ``None`` if it has fewer."""
    _, sizes, vectors = torch.linalg.svd(rows, full_matrices=False)
    if dimensions > len(sizes) or not float(sizes[dimensions - 1]) > 1e-10 * sizes[0]:
        return None
    return vectors[:dimensions].T


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    items = each_network(networks, networks["kept"].values, images=config.images)
    return with_standing(items, networks)


layerwise = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, *LABELS))
