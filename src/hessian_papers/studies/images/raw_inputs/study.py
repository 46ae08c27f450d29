"""The sharpness of linear networks on raw images through training (anon2026data, figure 2, left).

The paper's formulas are about white inputs. Of balanced layers on any inputs the product B and the
second moments S are enough: through training the largest eigenvalue of the Hessian is measured
beside that formula, and beside the same formula at least squares, which the data alone give. Each
eigendirection of S is told by its eigenvalue μ times the time t, the sum of the learning rates. The
least squares of those with μ t of at least 1 have a sharpness of their own, known without training.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.nn import functional

from hessian_papers.constraints import Count, Each, Once
from hessian_papers.data.tools.reduction import ReducedRegression, reduce_regression
from hessian_papers.data.tools.subsets import imbalanced_subset
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.labelled import Variable, Variables, assembled, gathering
from hessian_papers.networks.tools.images import (
    HALVINGS,
    ImageTraining,
    image_sets,
    network_item,
)
from hessian_papers.studies.images.base import ImageStudyConfig, recorded_epochs
from hessian_papers.training.full_batch import FullBatchTraining, full_batch_descent
from hessian_papers.training.objectives import LinearObjective
from hessian_papers.work import FanOut, Item
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import balanced_weights
from hessian_spectra.seeding import generator

# Residual of an eigenvalue, relative; its own error is about the square of it.
TOLERANCE = 1e-6
# Directions are taken together by the power of ten of μ t.
DECADES = range(-4, 5)
AXES = ("source", "share", "replicate")


@dataclass(frozen=True, kw_only=True)
class Config(ImageStudyConfig):
    """Settings of linear networks on raw images.

    Args:
        shares: shares of class 0.
        other_depths: further numbers of layers; each has the same subsets.
        recorded: number of epochs, evenly spaced in the logarithm, at which the sharpness is
            measured, beside the start.
    """

    shares: Annotated[list[float], Once(), Each("shares in (0, 1]", lambda share: 0 < share <= 1)]
    other_depths: Annotated[
        list[int], Once(), Each("numbers of at least 2", lambda depth: depth >= 2, least=0)
    ]
    recorded: Count

    @property
    def depths(self) -> list[int]:
        """All numbers of layers, each once."""
        return [*dict.fromkeys((self.depth, *self.other_depths))]


_SUBSET = " ".join(AXES)
_NETWORK, _EACH = f"{_SUBSET} depth", f"{_SUBSET} depth epoch"
VARIABLES: Variables = {
    "source": Variable("source", "image set that the networks are trained on"),
    "share": Variable("share", "share of class 0"),
    "replicate": Variable("replicate", "which of the networks, each on a subset of its own"),
    "depth": Variable("depth", "number of layers L"),
    "epoch": Variable("epoch", "recorded epoch of training"),
    "decade": Variable("decade", "power of ten of μ t, rounded down"),
    "samples": Variable("", "images of a subset"),
    "labels": Variable(_NETWORK, "sharpness from the labels alone, eq. (14)"),
    "limit": Variable(_NETWORK, "sharpness of balanced layers at least squares, by their product"),
    "at_limit": Variable(_NETWORK, "the same, the largest eigenvalue of the Hessian there"),
    "diverged": Variable(_NETWORK, "whether the training diverged"),
    "time": Variable(_EACH, "time t, the sum of the learning rates"),
    "loss": Variable(_EACH, "loss above that of least squares"),
    "defect": Variable(_EACH, "defect of balancedness"),
    "product": Variable(_EACH, "sharpness of balanced layers with the network's product"),
    "cut": Variable(_EACH, "sharpness at the least squares of the directions with μ t ≥ 1"),
    "learnt": Variable(f"{_EACH} decade", "part of the loss removed in these directions"),
    "sharpness": Variable(_EACH, "largest eigenvalue of the Hessian"),
    "residual": Variable(_EACH, "of the Hessian's, relative"),
}


def _subsets(config: Config, data: xr.Dataset) -> Iterator[tuple[str, xr.Dataset, Arrays, Tensor]]:
    """The name and images of a set, what tells a subset from others, and its indices.

    Raises:
        ValueError: the data set has no images, or an image set has too few for a share.
    """
    sets = image_sets(data).items()
    for (source, images), share, replicate in itertools.product(
        sets, config.shares, range(config.replicates)
    ):
        # The same order of the images for all shares, as in the paper's figure.
        draws = generator(config.seed, f"subset {source} {replicate}")
        of = torch.from_numpy(images["labels"].values)
        labels = {"source": source, "share": share, "replicate": replicate}
        chosen = imbalanced_subset(of, config.samples, share, draws)
        yield source, images, {name: np.array(value) for name, value in labels.items()}, chosen


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """Equation (14): the sharpness from the labels alone."""
    parts = []
    for _, images, labels, chosen in _subsets(config, samples):
        counts = np.bincount(images["labels"].values[chosen.numpy()])
        largest = float(counts.max() / counts.sum())
        of_each = [cf.sharpness_from_labels(largest, L, config.input_scale) for L in config.depths]
        known = {"depth": np.array(config.depths), "samples": np.array(config.samples)}
        parts.append(labels | known | {"labels": np.array([float(value) for value in of_each])})
    return assembled(parts, VARIABLES, AXES)


def _items(config: Config, samples: xr.Dataset) -> list[Item]:
    record = recorded_epochs(config.epochs, config.recorded)
    return [
        network_item(
            config,
            images,
            source,
            chosen,
            subset=subset,
            depths=config.depths,
            width=config.width,
            record=record,
        )
        for source, images, subset, chosen in _subsets(config, samples)
    ]


def measure(
    *,
    source: str,
    images: np.ndarray,
    labels: np.ndarray,
    indices: np.ndarray,
    subset: Arrays,
    depths: Sequence[int],
    width: int,
    record: Sequence[int],
    **shared: Any,
) -> Arrays:
    """Train networks of each depth on one subset of images, and measure them on the way.

    Args:
        source: name of the image set, which the random draws depend on.
        images: ``(N, height, width, channels)``, uint8.
        labels: ``(N,)``, 0 to K − 1.
        indices: ``(n,)``, the subset.
        subset: what tells the subset from the others.
        depths: numbers of layers.
        width: units of each hidden layer.
        record: epochs at which the sharpness is measured.
        shared: the :class:`ImageTraining`.

    Returns:
        The variables of numerics, of one subset.
    """
    settings = ImageTraining(**shared)
    x = torch.from_numpy(images[indices]).flatten(1).double() / float(images.max())
    y = functional.one_hot(torch.from_numpy(labels[indices]), int(labels.max()) + 1).double()
    problem = reduce_regression(principal_components(x), y, None)
    of_depths = []
    for depth in depths:
        sizes = (len(problem.root), *[width] * (depth - 1), y.shape[1])
        draws = generator(settings.seed, f"weights {source} {subset['replicate']}")
        low, high = settings.initial_range
        uniform = torch.rand(min(sizes), dtype=torch.float64, generator=draws)
        start = balanced_weights(sizes, (low + (high - low) * uniform).tolist(), draws)
        ended = full_batch_descent(
            LinearObjective(problem.root, problem.target, problem.floor),
            start,
            learning_rate=settings.learning_rate,
            epochs=settings.epochs,
            record=[*record],
            smallest_rate=settings.learning_rate * 0.5**HALVINGS,
        )
        of_depths.append(_at_least_squares(problem, depth) | _course(problem, ended, record))
    names = of_depths[0]
    stacked = {name: np.stack([each[name] for each in of_depths]) for name in names}
    labelled = {"depth": np.array(depths), "epoch": np.array(record), "decade": np.array(DECADES)}
    return subset | labelled | stacked


def _at_least_squares(problem: ReducedRegression, depth: int) -> Arrays:
    """The sharpness of balanced layers at least squares, by their product and by the Hessian."""
    product = problem.target / problem.root
    left, values, right = torch.linalg.svd(product, full_matrices=False)
    root = values ** (1 / depth)
    layers = [root[:, None] * right, *[torch.diag(root)] * (depth - 2), left * root]
    at_limit, _ = hessian_sharpness(problem, layers)
    limit = product_sharpness(product, problem.root, depth)
    return {"limit": np.array(limit), "at_limit": np.array(at_limit)}


def _course(problem: ReducedRegression, ended: FullBatchTraining, record: Sequence[int]) -> Arrays:
    """The measures of a training at its recorded epochs, NaN if it diverged."""
    diverged = ended.diverged_at is not None
    names = ("time", "loss", "defect", "product", "cut", "sharpness", "residual")
    arrays = {name: np.full(len(record), np.nan) for name in names}
    arrays |= {
        "diverged": np.array(diverged),
        "learnt": np.full((len(record), len(DECADES)), np.nan),
    }
    if diverged:
        return arrays
    depth, moments = len(ended.weights[0]), problem.root**2
    left_at_start = None
    for at, (epoch, weights) in enumerate(zip(record, ended.weights, strict=True)):
        product = _product(weights)
        left = (product * problem.root - problem.target).square().sum(dim=0)
        left_at_start = left if left_at_start is None else left_at_start
        time = float(ended.rates[: min(epoch, ended.finished)].sum())
        learnable = (moments * time >= 1) * problem.target / problem.root
        arrays["time"][at], arrays["loss"][at] = time, float(left.sum()) / 2
        arrays["defect"][at] = cf.balancedness_defect(list(weights))
        arrays["learnt"][at] = by_decade(moments * time, left, left_at_start)
        arrays["product"][at] = product_sharpness(product, problem.root, depth)
        arrays["cut"][at] = product_sharpness(learnable, problem.root, depth)
        arrays["sharpness"][at], arrays["residual"][at] = hessian_sharpness(problem, weights)
    return arrays


def by_decade(times: Tensor, left: Tensor, at_start: Tensor) -> np.ndarray:
    """The part of the loss that is removed in the directions of each decade, NaN of none."""
    powers = torch.floor(torch.log10(times))
    sums = [(left[powers == k].sum(), at_start[powers == k].sum()) for k in DECADES]
    return np.array([float(1 - a / b) if b > 0 else np.nan for a, b in sums])


def _product(weights: Sequence[Tensor]) -> Tensor:
    """B = W_L ... W_1."""
    return torch.linalg.multi_dot([*reversed(weights)])


def product_sharpness(product: Tensor, root: Tensor, depth: int) -> float:
    """The value of ``cf.balanced_sharpness``, without a matrix of the inputs' size.

    In the principal directions S is diagonal, and ``S^{1/2} [Σ_l s^{2(L-l)/L} (BᵀB)^{(l-1)/L}]
    S^{1/2}`` is a multiple of it and a matrix of rank K.

    Args:
        product: ``(K, r)`` in these directions.
        root: ``(r,)``, roots of the eigenvalues of S.
        depth: L.

    Example:
        >>> product, root = torch.tensor([[4.0, 0.0]]).double(), torch.tensor([1.0, 2.0]).double()
        >>> round(product_sharpness(product, root, depth=2), 9)
        16.0
    """
    _, values, right = torch.linalg.svd(product, full_matrices=False)
    first, *others = (values[0] ** (2 * before / depth) for before in reversed(range(depth)))
    further = [power * values ** (2 * after / depth) for after, power in enumerate(others, start=1)]
    along = torch.stack(further).sum(dim=0)

    def multiplied(vector: Tensor) -> Tensor:
        inner = root * vector
        return root * (first * inner + right.mT @ (along * (right @ inner)))

    return _largest(cv.operator_from(multiplied, len(root), check=False))[0]


def hessian_sharpness(problem: ReducedRegression, weights: Sequence[Tensor]) -> tuple[float, float]:
    """The largest eigenvalue of the Hessian by automatic differentiation, and its residual.

    Products take the reduced problem, whose second derivatives are those on all samples.
    """
    sizes = [weight.numel() for weight in weights]
    flat = torch.cat([weight.flatten() for weight in weights]).requires_grad_()
    parts = zip(flat.split(sizes), weights, strict=True)
    loss = problem.loss(_product([part.view_as(weight) for part, weight in parts]))
    (slope,) = torch.autograd.grad(loss, flat, create_graph=True)

    def multiplied(vector: Tensor) -> Tensor:
        return torch.autograd.grad(slope, flat, vector, retain_graph=True)[0]

    return _largest(cv.operator_from(multiplied, len(flat), check=False))


def _largest(operator: cv.SymmetricOperator) -> tuple[float, float]:
    """The largest eigenvalue and its residual."""
    pairs = cv.top_eigenpairs(operator, k=1, tol=TOLERANCE)
    assert pairs.residuals is not None
    return float(pairs.eigenvalues[-1]), float(pairs.residuals[-1])


def _cost(item: Item) -> float:
    """Roughly the operations of the decomposition and of the trainings."""
    count, features = len(item["indices"]), int(np.prod(item["images"].shape[1:]))
    steps = item["epochs"] * len(item["depths"])
    return 10.0 * count * min(count, features) ** 2 + steps * (
        2e6 + 60.0 * item["width"] * features
    )


numerics = FanOut(items=_items, compute=measure, gather=gathering(VARIABLES, *AXES), cost=_cost)
