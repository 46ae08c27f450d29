"""Fully connected networks at initialisation and after training, with their curvature and norms.

The point of the correlation studies of singh2026cracking (section 4.2, appendices D.1.3 and D.1.4):
for each parametrisation, depth, size and teacher many networks that differ in their initial weights
and in the order of their data only.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.constraints import (
    AtLeast,
    Checked,
    Count,
    Different,
    DifferentNumbers,
    Fraction,
    OneOf,
    Positive,
    ProperFraction,
)
from hessian_papers.data.base import ONE_FEATURE, SEVERAL_FEATURES, Form
from hessian_papers.labelled import Variable, Variables, assembled
from hessian_papers.models.parametrisation import PARAMETRISATIONS, draw, parametrise
from hessian_papers.models.teacher import teacher_data
from hessian_papers.networks.base import NetworksConfig, shared
from hessian_papers.training.ensemble import (
    DIVERGED,
    NOT_TRAINED,
    Order,
    train_ensemble,
)
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
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

TIMES = ("initialisation", "trained")
NORMS = ("spectral", "frobenius", "nuclear")
# The targets of a data set.
OWN = "own"
# The settings that have the same names where an ensemble is trained.
SCHEDULE = ("seed", "order", "epochs", "factor", "patience", "threshold")


@dataclass(frozen=True, kw_only=True)
class MultilayerTraining(Checked):
    """The settings that the networks of all points have in common.

    Args:
        seed: seed of data, initial weights and the orders of the data.
        activation: ``linear`` or ``relu``.
        width: hidden units m of each hidden layer.
        noise_variance: variance of the noise on the teacher's outputs.
        order: ``own`` for another order of the samples in each network, or ``shared``.
        smallest_learning_rate: training ends on its plateau.
        factor: what the learning rate is multiplied with on a plateau.
        patience: epochs without improvement before that.
        threshold: relative decrease of the loss that counts as improvement.
        epochs: the most that a network is trained; with 0 it is measured as it is drawn.
        tolerance: relative residual of the sharpness, ‖H v − λ v‖/|λ|.
    """

    seed: int
    activation: str
    width: Count
    noise_variance: Annotated[float, AtLeast(0)]
    order: Order
    smallest_learning_rate: Positive
    factor: ProperFraction
    patience: Count
    threshold: Fraction
    epochs: Annotated[int, AtLeast(0)]
    tolerance: ProperFraction


@dataclass(frozen=True, kw_only=True)
class Points(MultilayerTraining, NetworksConfig):
    """Settings of an ensemble of fully connected networks, but for its data.

    Args:
        parametrisations: some of ``sp``, ``mup``, ``ntp``.
        depths: numbers of layers.
        sizes: input and output sizes D = K.
        teachers: teachers T of each point, that is of each parametrisation, depth and size, each
            with data of its own; the same ones under all parametrisations and at all depths.
        drawn_teachers: further ones, whose networks are measured as they are drawn and not trained.
        networks: networks N of each teacher, enough to correlate them.
        learning_rates: base learning rate for each parametrisation, for sizes below ``large_size``.
        large_size: the size from which on it is another.
        large_learning_rates: base learning rate for each parametrisation from there on.
        networks_per_item: networks that one item of the fan-out trains together.
    """

    parametrisations: Annotated[list[str], Different(tuple(PARAMETRISATIONS))]
    depths: Annotated[list[int], DifferentNumbers(2)]
    sizes: Annotated[list[int], DifferentNumbers(1)]
    teachers: Count
    drawn_teachers: Annotated[int, AtLeast(0)]
    networks: Annotated[int, AtLeast(3)]
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


@dataclass(frozen=True, kw_only=True)
class Config(Points):
    """Settings of an ensemble whose networks all have as many samples.

    Args:
        samples: number of training points n.
        batch_size: samples in an update.
        data: the data set that the inputs are from, ``None`` if they are drawn: for each teacher D
            of its columns and n of its rows.
        targets: of such a data set its ``own``, however many they are, or those of a ``teacher``,
            as many as inputs.
    """

    samples: Count
    batch_size: int
    data: str | None = None
    targets: Annotated[str, OneOf(("own", "teacher"))] = OWN

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range = 1 <= self.batch_size <= self.samples
        require(in_range, "batch_size", "between 1 and samples", self.batch_size)
        require(self.epochs >= 1, "epochs", "at least 1", self.epochs)

    def require_data(self, form: Form) -> None:
        """Refuse other data than features, or fewer of them, or of their rows, than are taken.

        Raises:
            ValueError: it is so; the message begins with the field.
        """
        known = (ONE_FEATURE, SEVERAL_FEATURES)
        require(form.samples in known, "data", f"a data set with {' or '.join(known)}", self.data)
        for rows, *features in [form.shape] if form.shape else []:
            columns, taken = sum(features or [1]), max(self.sizes)
            expected = f"at most {columns}, the input columns of {self.data}"
            require(taken <= columns, "sizes", expected, taken)
            expected = f"at most {rows}, the rows of {self.data}"
            require(self.samples <= rows, "samples", expected, self.samples)


AXES = ("parametrisation", "depth", "size")
_EACH = "parametrisation depth size time network"
VARIABLES: Variables = {
    "parametrisation": Variable("parametrisation", "how weights and rates scale with the width"),
    "depth": Variable("depth", "layers of a network"),
    "size": Variable("size", "D, inputs and outputs of a network"),
    "time": Variable("time", "at initialisation or trained"),
    "norm": Variable("norm", "of a matrix"),
    "layer": Variable("layer", "layer, from the inputs on"),
    "teacher": Variable("network", "whose data a network has, one teacher's after the other's"),
    "width": Variable("", "hidden units of a layer"),
    "activation": Variable("", "of the hidden layers"),
    "data": Variable("", "data set that the inputs are from, if they are not drawn"),
    "targets": Variable("", "whose targets these have: the data set's own, or a teacher's"),
    "epochs": Variable("parametrisation depth size network", "epochs of the training"),
    "status": Variable(
        "parametrisation depth size network",
        "0 converged, 1 limit of epochs, 2 diverged, 3 not trained",
    ),
    "loss": Variable(_EACH, "half the mean squared error"),
    "sharpness": Variable(_EACH, "largest eigenvalue of the Hessian"),
    "residual": Variable(_EACH, "relative residual of the sharpness"),
    "trace": Variable(_EACH, "trace of the Hessian"),
    "largest_block": Variable(_EACH, "largest of the layers' terms of the sharpness' formulas"),
    "ggn_sum": Variable(_EACH, "sum of these terms"),
    "sampled_terms": Variable(f"{_EACH} layer", "these terms with the inputs' second moments"),
    "gauss_newton": Variable(_EACH, "largest eigenvalue of the Gauss-Newton matrix, of two layers"),
    "norms": Variable(f"{_EACH} layer norm", "of the layer's matrix"),
    "products": Variable(f"{_EACH} layer norm", "of the product of all matrices but the layer's"),
    "alignments": Variable(f"{_EACH} norm", "of the two matrices of two layers"),
}


def times(config: MultilayerTraining) -> tuple[str, ...]:
    """The times at which networks are measured: without epochs there is one."""
    return TIMES if config.epochs else TIMES[:1]


def _points(config: Points) -> Iterator[tuple[str, int, int]]:
    """Parametrisation, depth and size of each point, in the order of the items."""
    return itertools.product(config.parametrisations, config.depths, config.sizes)


def items(config: Config, data: xr.Dataset) -> list[Item]:
    """The networks of each point and teacher in chunks, with their data."""
    of_all: dict[str, Any] = {"samples": config.samples, "batch_size": config.batch_size}
    if config.data is not None:
        x, y = (values.values.reshape(len(values), -1) for values in (data["x"], data["y"]))
        of_all |= {"inputs": x} | ({"targets": y} if config.targets == OWN else {})
    return [{**item, **of_all} for item in chunks(config)]


def chunks(config: Points) -> list[Item]:
    """The networks of each point and teacher in chunks, without ``samples`` and ``batch_size``."""
    step = config.networks_per_item
    small, large = config.learning_rates, config.large_learning_rates
    return [
        {
            "parametrisation": parametrisation,
            "depth": depth,
            "size": size,
            "learning_rate": (small if size < config.large_size else large)[parametrisation],
            "teacher": teacher,
            "first": teacher * config.networks + first,
            "count": min(step, config.networks - first),
        }
        | shared(MultilayerTraining, config)
        | ({} if teacher < config.teachers else {"epochs": 0})
        for parametrisation, depth, size in _points(config)
        for teacher in range(config.teachers + config.drawn_teachers)
        for first in range(0, config.networks, step)
    ]


def _measure(ensemble: Ensemble, x: Tensor, y: Tensor, tolerance: float) -> dict[str, Tensor]:
    """Loss, curvature and norms of the networks at one time; NaN for those that diverged."""
    loss = (ensemble.outputs(x) - y).square().sum(dim=(1, 2)) / (2 * len(x))
    linear = ensemble.activation == "linear"
    data = SecondMoments.of(x, y) if linear else (x, y)
    sharpness = ensemble_sharpness(ensemble, data, tol=tolerance)
    statistics = ensemble_weight_statistics(ensemble)
    # The argument of D.3.3 is about linear networks.
    blocks = sampled = torch.full((len(loss), len(ensemble.weights)), torch.nan)
    largest = torch.full_like(loss, torch.nan)
    if isinstance(data, SecondMoments):
        blocks = ensemble_block_bounds(ensemble).blocks
        sampled = ensemble_block_bounds(ensemble, data.sxx).blocks
        if len(ensemble.weights) == 2:
            largest = gauss_newton(ensemble, data.sxx)
    return {
        "loss": loss,
        "sharpness": sharpness.values,
        "residual": sharpness.residuals,
        "trace": ensemble_trace(ensemble, data),
        **statistics._asdict(),
        "largest_block": blocks.amax(dim=1),
        "ggn_sum": blocks.sum(dim=1),
        "sampled_terms": sampled,
        "gauss_newton": largest,
    }


def gauss_newton(ensemble: Ensemble, sxx: Tensor) -> Tensor:
    """The largest eigenvalue of the Gauss-Newton matrix of two linear layers ``(N,)``.

    With J the derivative of the outputs it is that of ``J Jᵀ = a_2² I ⊗ S^{1/2} A_1ᵀ A_1 S^{1/2} +
    a_1² A_2 A_2ᵀ ⊗ S``, with ``A_l = a_l W_l``: its largest where ``A_2 A_2ᵀ`` has its own.
    """
    # Networks that diverged are blanked where all is measured.
    first, second = (
        multiplier * weights.nan_to_num(0.0, 0.0, 0.0)
        for multiplier, weights in zip(ensemble.multipliers, ensemble.weights, strict=True)
    )
    a_1, a_2 = ensemble.multipliers
    squares = torch.linalg.matrix_norm(second, 2).square()
    values, vectors = torch.linalg.eigh(sxx)
    root = vectors * values.clamp(min=0).sqrt()
    inner = (a_2 * first @ root).mT @ (a_2 * first @ root)
    inner = inner + (a_1**2 * squares)[:, None, None] * torch.diag(values.clamp(min=0))
    return torch.linalg.eigvalsh(inner)[:, -1]


def compute(
    *,
    parametrisation: str,
    depth: int,
    size: int,
    learning_rate: float,
    teacher: int,
    first: int,
    count: int,
    samples: int,
    batch_size: int,
    scale: float = 1.0,
    white: bool = False,
    inputs: np.ndarray | None = None,
    targets: np.ndarray | None = None,
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
        samples: number of training points n.
        batch_size: samples in an update.
        scale: standard deviation of the teacher's outputs.
        white: whether the inputs' second moments are the identity.
        inputs: of the data set ``(rows, columns)``, if they are not drawn.
        targets: of the data set ``(rows, K)``, if they are not the teacher's.
        run: where the training logs.
        shared: the :class:`MultilayerTraining`.

    Returns:
        ``epochs`` and ``status`` (N,); all others with the times in front: ``loss``,
        ``sharpness``, ``residual``, ``trace``, ``largest_block``, ``ggn_sum`` and ``gauss_newton``
        (2, N), ``sampled_terms`` (2, N, depth), ``norms`` and ``products`` (2, N, depth, 3),
        ``alignments`` (2, N, 3).
    """
    settings = MultilayerTraining(**shared)
    activation = cast(PiecewiseLinear, settings.activation)
    numbers = range(first, first + count)
    drawn = samples, size, size, activation, settings.seed, settings.noise_variance
    given = None
    if inputs is not None:
        rows, columns = _taken(inputs.shape, settings.seed, teacher)
        rows = rows[:samples]
        given = torch.from_numpy(inputs[rows][:, columns[:size]])
    x, y = teacher_data(*drawn, number=teacher, scale=scale, white=white, given=given)
    if targets is not None:
        y = torch.from_numpy(targets[rows])
    sizes = (size, *[settings.width] * (depth - 1), y.shape[1])
    # Trained in the precision of the paper's networks, measured in double.
    start = draw(parametrisation, sizes, activation, settings.seed, numbers, torch.float32)
    ensembles, epochs = [start], torch.zeros(count, dtype=torch.int64)
    status = torch.full((count,), NOT_TRAINED, dtype=torch.int8)
    if settings.epochs:
        factors = parametrise(parametrisation, sizes).learning_rates
        training = train_ensemble(
            start,
            x.float(),
            y.float(),
            networks=numbers,
            log=run.log,
            learning_rate=learning_rate,
            factors=factors,
            batch_size=batch_size,
            smallest_rate=settings.smallest_learning_rate,
            **{name: shared[name] for name in SCHEDULE},
        )
        ensembles.append(training.ensemble)
        epochs, status = training.epochs, training.status
    exact = [ensemble.to(torch.float64) for ensemble in ensembles]
    measured = [_measure(ensemble, x, y, settings.tolerance) for ensemble in exact]
    arrays = {name: torch.stack([time[name] for time in measured]).numpy() for name in measured[0]}
    # What a network that diverged ends with means nothing.
    gone = status.numpy() == DIVERGED
    for values in arrays.values():
        values[1:, gone] = np.nan
    return arrays | {"epochs": epochs.numpy(), "status": status.numpy()}


def _taken(shape: Sequence[int], seed: int, teacher: int) -> list[np.ndarray]:
    """A teacher's order of the rows and of the columns of a data set."""
    return [
        torch.randperm(count, generator=generator(seed, f"teacher {teacher} {of}")).numpy()
        for of, count in zip(("rows", "columns"), shape, strict=True)
    ]


def gather(config: Points, parts: Sequence[Arrays]) -> xr.Dataset:
    """The data set of all points: what :data:`VARIABLES` declares, NaN where there is nothing."""
    return gathered(config, parts, VARIABLES, {})


def gathered(
    config: Points,
    parts: Sequence[Arrays],
    variables: Variables,
    outer: Mapping[str, Sequence[Any]],
) -> xr.Dataset:
    """The data set of all points under each of some settings of their data.

    Args:
        config: of the points.
        parts: of the :func:`chunks` under the first setting, under the second, and so on.
        variables: what is declared.
        outer: the labels of each dimension of the settings, which run as in a product.
    """
    teachers = config.teachers + config.drawn_teachers
    count = teachers * -(-config.networks // config.networks_per_item)
    facts = {
        "time": np.array(times(config)),
        "norm": np.array(NORMS),
        "layer": np.arange(1, max(config.depths) + 1),
        "teacher": np.repeat(np.arange(teachers), config.networks),
        "width": np.array(config.width),
        "activation": np.array(config.activation),
    }
    if of_table := getattr(config, "data", None):
        facts |= {"data": np.array(of_table), "targets": np.array(config.targets)}  # type: ignore[attr-defined]
    axes = (*outer, *AXES)
    rows = []
    everything = itertools.product(itertools.product(*outer.values()), _points(config))
    for number, (setting, point) in enumerate(everything):
        own = parts[number * count : (number + 1) * count]
        labels = {
            axis: np.array(label) for axis, label in zip(axes, (*setting, *point), strict=True)
        }
        arrays = {name: _of_point(name, own, len(times(config))) for name in own[0]}
        rows.append(facts | labels | arrays)
    return assembled(rows, variables, axes)


def _of_point(name: str, chunks: Sequence[Arrays], count: int) -> np.ndarray:
    """The arrays of one point's networks, one behind another.

    Of those that were not trained the later ones of ``count`` times are NaN.
    """
    dims = VARIABLES[name].dims.split()[len(AXES) :]
    arrays = [chunk[name] for chunk in chunks]
    if "time" in dims:
        rest = [(0, 0)] * (len(dims) - 1)
        arrays = [
            np.pad(values, [(0, count - len(values)), *rest], constant_values=np.nan)
            for values in arrays
        ]
    return np.concatenate(arrays, axis=dims.index("network"))


def cost(item: Item) -> float:
    """Multiplications of a forward pass: how many are made depends on when training converges."""
    hidden = (item["depth"] - 2) * item["width"]
    layer = item["width"] * (2 * item["size"] + hidden)
    # Networks that are not trained are only measured.
    return float(item["count"] * item["samples"] * layer) * (1.0 if item["epochs"] else 0.02)


def probe(item: Item) -> Item:
    """The first few networks of an item, trained to their end."""
    return {**item, "count": min(4, item["count"])}


def words(given: xr.Dataset, item: Item) -> tuple[str, ...]:
    """Networks of one teacher in words: what they are, their point and their teacher."""
    return (
        f"{item['depth']}-layer {item['activation']}",
        item["parametrisation"],
        f"D = {item['size']}",
        f"teacher {item['teacher']}",
    )


train = FanOut(
    items=items,
    compute=compute,
    gather=gather,
    cost=cost,
    probe=probe,
    trains=True,
    words=words,
)
