"""Mean gradients of classes and scores, which lie together by score or by class.

wu2022dissecting, appendix G.5: of samples x with the label i let ``Γ_ij`` be the mean of the j-th
row of ``N = Q G``, with G the Jacobian of the scores by the outputs of a layer and
``Qᵀ Q = diag(p) − p pᵀ``. Before training these c² vectors are said to lie together by the score j,
after it by the class i, and that only weakly. A picture by t-SNE cannot tell: it is measured among
the vectors themselves whether the nearest neighbour of each has the same j or the same i.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from hessian_papers.constraints import AtLeast
from hessian_papers.labelled import Variable, Variables, gathering
from hessian_papers.networks.classifiers import KeptClassifier
from hessian_papers.studies.layerwise.ensembles import (
    LABELS,
    ClassifierStudyConfig,
    batches_of,
    each_network,
)
from hessian_papers.studies.layerwise.layers import ENSEMBLE
from hessian_papers.studies.layerwise.rows import jacobian_rows
from hessian_papers.studies.layerwise.standing import STANDING, with_standing
from hessian_papers.work import FanOut, Item
from hessian_spectra.files import Arrays
from hessian_spectra.validation import optional_import

# Of t-SNE, scikit-learn's own; less of few points.
PERPLEXITY = 30.0
# What is measured of the layers.
MEASURED = "network seed epoch layer"


@dataclass(frozen=True, kw_only=True)
class Config(ClassifierStudyConfig):
    """The study's configuration; its seed is that of t-SNE.

    Args:
        images: the means are over the first so many; 0 for all.
    """

    images: Annotated[int, AtLeast(0)]


def gradients(model: nn.Module, batches: list[Any], names: list[str]) -> dict[str, Tensor]:
    """Mean gradients by class and score, of some layers.

    Row j of Q is ``√p_j (e_j − p)ᵀ``.

    Args:
        model: a classifier in ``eval()``.
        batches: images and classes.
        names: layers whose outputs are vectors.

    Returns:
        Γ by layer, by class and score, ``(c, c, m)``.
    """
    sums: dict[str, Any] = dict.fromkeys(names, 0.0)
    counts: Any = 0.0
    for labels, softmax, rows in jacobian_rows(model, batches, names, _root):
        classes = nn.functional.one_hot(labels, softmax.shape[1]).to(softmax)
        counts = counts + classes.sum(dim=0)
        for name, own in rows.items():
            sums[name] = sums[name] + torch.einsum("ni,njm->ijm", classes, own)
    sizes = counts.clamp(min=1)[:, None, None]
    return {name: sums[name] / sizes for name in names}


def _root(softmax: Tensor) -> Tensor:
    """Q of some samples: ``Qᵀ Q = diag(p) − p pᵀ``."""
    units = torch.eye(softmax.shape[1]).to(softmax)
    return softmax.sqrt()[:, :, None] * (units - softmax[:, None, :])


def purities(means: Tensor) -> tuple[float, float]:
    """The shares of vectors with a nearest neighbour of the same score, and of the same class.

    With labels that have nothing to do with the vectors it is ``(c − 1) / (c² − 1)`` of either.

    Args:
        means: by class and score, ``(c, c, m)``.

    Example:
        >>> scores = torch.tensor([[0.0], [5.0]])  # (score, m)
        >>> purities(torch.stack([scores, scores + 1]))  # of two classes
        (1.0, 0.0)
    """
    count = len(means)
    points = means.flatten(0, 1)
    distances = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    nearest = distances.fill_diagonal_(torch.inf).argmin(dim=1)
    own = torch.arange(count**2, device=points.device)
    same = (nearest % count == own % count), (nearest // count == own // count)
    score, label = (float(item.double().mean()) for item in same)
    return score, label


def embedded(means: Tensor, seed: int) -> np.ndarray:
    """The vectors in the plane by t-SNE, ``(c, c, 2)``; of vectors that are all zero one point.

    Source: van der Maaten and Hinton (2008).
    """
    points = means.flatten(0, 1).double().cpu().numpy()
    manifold = optional_import("sklearn.manifold", "pipeline")
    perplexity = min(PERPLEXITY, (len(points) - 1) / 3)
    # The smallest gradients of trained networks are far below 1, where t-SNE sets its steps.
    largest = np.linalg.norm(points, axis=1).max()
    if not largest > 0:
        return np.zeros((*means.shape[:2], 2))
    points = points / largest
    method = manifold.TSNE(perplexity=perplexity, init="pca", random_state=seed)
    return np.asarray(method.fit_transform(points), np.float64).reshape(*means.shape[:2], 2)


VARIABLES: Variables = {
    **ENSEMBLE,
    **STANDING,
    "class": Variable("class", "of the images that a mean is over"),
    "score": Variable("score", "that is differentiated"),
    "axis": Variable("axis", "of the plane"),
    "by_score": Variable(MEASURED, "share of vectors whose nearest neighbour has the same score"),
    "by_class": Variable(MEASURED, "share of vectors whose nearest neighbour has the same class"),
    "embedding": Variable(
        "epoch class score axis", "by t-SNE: those of the first network's first layer"
    ),
}


def measure(kept: KeptClassifier, labels: Arrays, images: int, seed: int, drawn: bool) -> Arrays:
    """The mean gradients of one network, and how they lie together.

    Args:
        kept: the network, and what it was trained on.
        labels: what tells it from the others.
        images: the means are over the first so many; 0 for all.
        seed: of t-SNE.
        drawn: whether those of the first of its layers are shown by t-SNE.

    Returns:
        What is in :data:`VARIABLES`, of its fully connected layers; ``embedding``, if it is drawn.
    """
    model, batches = kept.load().double(), batches_of(kept, images)
    names = [name for name, module in model.named_children() if isinstance(module, nn.Linear)]
    means = gradients(model, batches, names)
    by_score, by_class = np.array([purities(means[name]) for name in names]).T
    first = means[names[0]]
    return {
        "by_score": by_score,
        "by_class": by_class,
        **({"embedding": embedded(first, seed)} if drawn else {}),
        "layer_name": np.array(names),
        "class": np.arange(len(first)),
        "score": np.arange(len(first)),
        "axis": np.array(["x", "y"]),
        **labels,
    }


def _items(config: Config, networks: xr.Dataset) -> list[Item]:
    """Each architecture with each seed, before and after training."""
    ends = np.unique(networks["kept"].values[[0, -1]])
    items = with_standing(
        each_network(networks, ends, images=config.images, seed=config.seed), networks
    )
    return [{**item, "drawn": place < len(ends)} for place, item in enumerate(items)]


layerwise = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, *LABELS))
