"""Fully connected networks at initialisation and after training, with their curvature and norms.

The point of the correlation studies of singh2026cracking (section 4.2, appendices D.1.3 and D.1.4):
for each parametrisation, depth, size and teacher many networks that differ in their initial weights
and in the order of their data only.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast, get_args

import numpy as np
import torch
from torch import Tensor

from hessian_papers.constraints import AtLeast, Checked, Count, Different, DifferentNumbers
from hessian_papers.models.parametrisation import PARAMETRISATIONS, draw, parametrise
from hessian_papers.models.teacher import teacher_data
from hessian_papers.networks.base import NetworksConfig, shared
from hessian_papers.training.ensemble import DIVERGED, EnsembleTraining, Order, train_ensemble
from hessian_papers.work import FanOut, Item, TrainingRun
from hessian_spectra.curvature.ensemble import (
    SecondMoments,
    ensemble_block_bounds,
    ensemble_sharpness,
    ensemble_trace,
    ensemble_weight_statistics,
)
from hessian_spectra.files import Arrays
from hessian_spectra.models import Ensemble, PiecewiseLinear, require_piecewise_linear
from hessian_spectra.validation import require

TIMES = ("initialisation", "trained")
NORMS = ("spectral", "frobenius", "nuclear")


@dataclass(frozen=True, kw_only=True)
class MultilayerTraining(Checked):
    """What the networks of all points have in common.

    Args:
        seed: seed of data, initial weights and the orders of the data.
        activation: ``linear`` or ``relu``.
        width: hidden units m of each hidden layer.
        samples: number of training points n.
        noise_variance: variance of the noise on the teacher's outputs.
        batch_size: samples in an update.
        order: ``own`` for another order of the samples in each network, or ``shared``.
        smallest_learning_rate: training ends on its plateau.
        factor: what the learning rate is multiplied with on a plateau.
        patience: epochs without improvement before that.
        threshold: relative decrease of the loss that counts as improvement.
        epochs: the most that a network is trained.
        tolerance: relative residual of the sharpness, ‖H v − λ v‖/|λ|.
    """

    seed: int
    activation: str
    width: Count
    samples: Count
    noise_variance: Annotated[float, AtLeast(0)]
    batch_size: int
    order: str
    smallest_learning_rate: float
    factor: float
    patience: Count
    threshold: float
    epochs: Count
    tolerance: float


@dataclass(frozen=True, kw_only=True)
class Config(MultilayerTraining, NetworksConfig):
    """Settings of an ensemble of fully connected networks.

    Args:
        parametrisations: some of ``sp``, ``mup``, ``ntp``.
        depths: numbers of layers.
        sizes: input and output sizes D = K.
        teachers: teachers T of each point, that is of each parametrisation, depth and size, each
            with data of its own; the same ones under all parametrisations and at all depths.
        networks: networks N of each teacher.
        learning_rates: base learning rate for each parametrisation, for sizes below ``large_size``.
        large_size: the size from which on it is another.
        large_learning_rates: base learning rate for each parametrisation from there on.
        networks_per_item: networks that one item of the fan-out trains together.
    """

    parametrisations: Annotated[list[str], Different(tuple(PARAMETRISATIONS))]
    depths: Annotated[list[int], DifferentNumbers(2)]
    sizes: Annotated[list[int], DifferentNumbers(1)]
    teachers: Count
    networks: int
    learning_rates: dict[str, float]
    large_size: int
    large_learning_rates: dict[str, float]
    networks_per_item: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        require_piecewise_linear(self.activation)
        for name in self.parametrisations:
            for field in ("learning_rates", "large_learning_rates"):
                rate = getattr(self, field).get(name, 0.0)
                expected = f"at least smallest_learning_rate for {name}"
                require(rate >= self.smallest_learning_rate, field, expected, rate)
        require(self.networks >= 3, "networks", "at least 3, to correlate them", self.networks)
        in_range = 1 <= self.batch_size <= self.samples
        require(in_range, "batch_size", "between 1 and samples", self.batch_size)
        require(self.order in get_args(Order), "order", " or ".join(get_args(Order)), self.order)
        rate = self.smallest_learning_rate
        require(rate > 0, "smallest_learning_rate", "a positive number", rate)
        for field in ("factor", "tolerance"):
            value = getattr(self, field)
            require(0 < value < 1, field, "between 0 and 1", value)
        require(0 <= self.threshold < 1, "threshold", "in [0, 1)", self.threshold)


def _points(config: Config) -> Iterator[tuple[str, int, int]]:
    """Parametrisation, depth and size of each point, in the order of the arrays."""
    return itertools.product(config.parametrisations, config.depths, config.sizes)


def _base_rate(config: Config, parametrisation: str, size: int) -> float:
    large = size >= config.large_size
    return (config.large_learning_rates if large else config.learning_rates)[parametrisation]


def items(config: Config, data: Arrays) -> list[Item]:
    """The networks of each point and teacher in chunks."""
    step = config.networks_per_item
    return [
        {
            "parametrisation": parametrisation,
            "depth": depth,
            "size": size,
            "learning_rate": _base_rate(config, parametrisation, size),
            "teacher": teacher,
            "first": teacher * config.networks + first,
            "count": min(step, config.networks - first),
        }
        | shared(MultilayerTraining, config)
        for parametrisation, depth, size in _points(config)
        for teacher in range(config.teachers)
        for first in range(0, config.networks, step)
    ]


def _measure(
    ensemble: Ensemble, x: Tensor, y: Tensor, loss: Tensor, tolerance: float
) -> dict[str, Tensor]:
    """Loss, curvature and norms of the networks at one time; NaN for those that diverged."""
    linear = ensemble.activation == "linear"
    data = SecondMoments.of(x, y) if linear else (x, y)
    sharpness = ensemble_sharpness(ensemble, data, tol=tolerance)
    statistics = ensemble_weight_statistics(ensemble)
    # The argument of D.3.3 is about linear networks.
    blocks = (
        ensemble_block_bounds(ensemble).blocks if linear else torch.full((len(loss), 1), torch.nan)
    )
    return {
        "loss": loss,
        "sharpness": sharpness.values,
        "residual": sharpness.residuals,
        "trace": ensemble_trace(ensemble, data),
        "norms": statistics.norms,
        "products": statistics.products,
        "alignments": statistics.alignments,
        "largest_block": blocks.amax(dim=1),
        "ggn_sum": blocks.sum(dim=1),
    }


def _full_loss(ensemble: Ensemble, x: Tensor, y: Tensor) -> Tensor:
    return (ensemble.outputs(x) - y).square().sum(dim=(1, 2)) / (2 * len(x))


def compute(
    *,
    parametrisation: str,
    depth: int,
    size: int,
    learning_rate: float,
    teacher: int,
    first: int,
    count: int,
    run: TrainingRun,
    **shared: Any,
) -> Arrays:
    """Draw, train and measure ``count`` networks of one teacher, from network ``first`` on.

    Args:
        parametrisation: of the point.
        depth: of the point, number of layers.
        size: of the point, D = K.
        learning_rate: base learning rate at the start.
        teacher: number of the teacher.
        first: number of the first network, of all teachers' together.
        count: how many.
        run: where the training logs.
        shared: the :class:`MultilayerTraining`.

    Returns:
        ``epochs`` and ``status`` (N,); all others with the two times in front: ``loss``,
        ``sharpness``, ``residual``, ``trace``, ``largest_block`` and ``ggn_sum`` (2, N), ``norms``
        and ``products`` (2, N, depth, 3), ``alignments`` (2, N, 3).
    """
    settings = MultilayerTraining(**shared)
    activation = cast(PiecewiseLinear, settings.activation)
    sizes = (size, *[settings.width] * (depth - 1), size)
    numbers = range(first, first + count)
    x, y = teacher_data(
        settings.samples,
        size,
        size,
        activation,
        settings.seed,
        settings.noise_variance,
        number=teacher,
    )
    # Trained in the precision of the paper's networks, measured in double.
    start = draw(parametrisation, sizes, activation, settings.seed, numbers, torch.float32)
    factors = parametrise(parametrisation, sizes).learning_rates
    training = _train(start, x, y, learning_rate, factors, numbers, settings, run)
    measured = []
    for ensemble in (start, training.ensemble):
        exact = ensemble.to(torch.float64)
        measured.append(_measure(exact, x, y, _full_loss(exact, x, y), settings.tolerance))
    arrays = {name: torch.stack([time[name] for time in measured]).numpy() for name in measured[0]}
    # What a network that diverged ends with means nothing.
    gone = training.status.numpy() == DIVERGED
    for values in arrays.values():
        values[1, gone] = np.nan
    return arrays | {"epochs": training.epochs.numpy(), "status": training.status.numpy()}


def _train(
    start: Ensemble,
    x: Tensor,
    y: Tensor,
    learning_rate: float,
    factors: Sequence[float],
    numbers: Sequence[int],
    settings: MultilayerTraining,
    run: TrainingRun,
) -> EnsembleTraining:
    return train_ensemble(
        start,
        x.float(),
        y.float(),
        learning_rate=learning_rate,
        factors=factors,
        batch_size=settings.batch_size,
        order=settings.order,
        smallest_rate=settings.smallest_learning_rate,
        factor=settings.factor,
        patience=settings.patience,
        threshold=settings.threshold,
        epochs=settings.epochs,
        seed=settings.seed,
        networks=numbers,
        log=run.log,
    )


def _padded(values: np.ndarray, depth: int, layers: int) -> np.ndarray:
    """Layers (2, N, depth, 3) filled up with NaN to (2, N, layers, 3)."""
    missing = np.full((*values.shape[:2], layers - depth, values.shape[3]), np.nan)
    return np.concatenate([values, missing], axis=2)


def gather(config: Config, parts: Sequence[Arrays]) -> Arrays:
    """The arrays of all points.

    Returns:
        For P points, the N networks of all teachers, one teacher's after the other's, the times
        (``initialisation``, ``trained``), the largest depth B and the norms (``spectral``,
        ``frobenius``, ``nuclear``): ``parametrisation``, ``depth``, ``size`` (P,); ``teacher``
        (N,), whose data a network has; ``time`` (2,); ``norm`` (3,); ``width``;
        ``activation``; ``epochs``, ``status`` (P, N), 0 for converged, 1 for the limit of epochs, 2
        for diverged; ``loss``, ``sharpness``, ``residual``, ``trace``, ``largest_block``,
        ``ggn_sum`` (P, 2, N); ``norms``, ``products`` (P, 2, N, B, 3): norms of W_b, and of the
        product of all matrices but W_b; ``alignments`` (P, 2, N, 3) of two layers. NaN where there
        is nothing.
    """
    points, layers = list(_points(config)), max(config.depths)
    chunks = config.teachers * -(-config.networks // config.networks_per_item)
    rows: dict[str, list[np.ndarray]] = {}
    for number, (_, depth, _) in enumerate(points):
        own = parts[number * chunks : (number + 1) * chunks]
        for name in own[0]:
            axis = 0 if name in ("epochs", "status") else 1
            values = np.concatenate([part[name] for part in own], axis=axis)
            if name in ("norms", "products"):
                values = _padded(values, depth, layers)
            rows.setdefault(name, []).append(values)
    return {
        "parametrisation": np.array([parametrisation for parametrisation, _, _ in points]),
        "depth": np.array([depth for _, depth, _ in points]),
        "size": np.array([size for _, _, size in points]),
        "teacher": np.repeat(np.arange(config.teachers), config.networks),
        "time": np.array(TIMES),
        "norm": np.array(NORMS),
        "width": np.array(config.width),
        "activation": np.array(config.activation),
        **{name: np.stack(values) for name, values in rows.items()},
    }


def cost(item: Item) -> float:
    """Multiplications of a forward pass: how many are made depends on when training converges."""
    hidden = (item["depth"] - 2) * item["width"]
    layer = item["width"] * (2 * item["size"] + hidden)
    return float(item["count"] * item["samples"] * layer)


def probe(item: Item) -> Item:
    """The first few networks of an item, trained to their end."""
    return {**item, "count": min(4, item["count"])}


train = FanOut(items=items, compute=compute, gather=gather, cost=cost, probe=probe, trains=True)
