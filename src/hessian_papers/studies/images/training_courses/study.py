"""Courses of training that anon2026data speaks of and shows no figure of (sections 3 and 4).

Linear networks on subsets of images of one class alone, and of all classes in equal shares, by
full-batch gradient descent of a constant rate. From balanced layers on whitened and on raw inputs:
how fast they learn, and the largest sharpness on the way. From Kaiming's on whitened inputs, at a
small rate, with weight decay, and at the edge of stability: what becomes of the layers' balance.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.nn import functional

from hessian_papers.constraints import AtLeast, Count, Positive
from hessian_papers.data.base import IMAGES, Form
from hessian_papers.data.images import LABELS as CLASSES
from hessian_papers.data.tools.reduction import ReducedRegression, reduce_regression
from hessian_papers.data.tools.subsets import imbalanced_subset
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.labelled import Variable, Variables, data_set, left_out
from hessian_papers.models import balanced_weights, kaiming_uniform
from hessian_papers.networks.tools.images import sources
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.images.base import recorded_epochs
from hessian_spectra import closed_form as cf
from hessian_spectra.curvature.ensemble import SecondMoments, ensemble_sharpness
from hessian_spectra.files import Arrays
from hessian_spectra.models import Ensemble
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

LABELS = ("one", "uniform")
# From balanced layers, by their inputs, and from Kaiming's, by what is done to them.
BALANCED, KAIMING = ("whitened", "raw"), ("plain", "decay", "edge")
# What is left of the loss when training is half, nearly and wholly done.
LEFT = {"half": 0.5, "nearly": 0.01, "rest": 1e-3}
LOSS_LIMIT = 1e12


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study of courses of training.

    Args:
        samples: images n of a subset.
        replicates: subsets and initial weights of each image set.
        depth: number of layers L.
        width: units of each hidden layer.
        initial_range: smallest and largest singular value of balanced layers.
        learning_rate: η of all but the runs at the edge of stability.
        epochs: of each run.
        recorded: number of epochs, evenly spaced in the logarithm, at which sharpness and balance
            are measured, beside the start.
        weight_decay: λ of λ/2 Σ_l ‖W_l‖².
        beyond: at the edge, how many times the rate 2/λ_max at which the balanced solution of least
            sharpness turns unstable.
    """

    takes = IMAGES

    samples: Count
    replicates: Count
    depth: Annotated[int, AtLeast(2)]
    width: Count
    initial_range: list[float]
    learning_rate: Positive
    epochs: Count
    recorded: Count
    weight_decay: Positive
    beyond: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = list(self.initial_range)
        ordered = len(ends) == 2 and 0 < ends[0] <= ends[-1]
        require(ordered, "initial_range", "two numbers, 0 < smallest <= largest", ends)

    def require_data(self, form: Form) -> None:
        """Refuse data of anything but images, or of fewer of a class than a subset has."""
        super().require_data(form)
        for count in form.shape:
            most = count // CLASSES
            require(self.samples <= most, "samples", f"at most {most}, one class", self.samples)

    @property
    def epoch(self) -> np.ndarray:
        """The recorded epochs ``(t,)``: 0, 1, ..., the last."""
        return np.array(recorded_epochs(self.epochs, self.recorded))


@dataclass(frozen=True)
class Course:
    """One run before it is trained: the loss, the weights at the start, rate and decay."""

    treated: str
    problem: ReducedRegression
    weights: tuple[Tensor, ...]
    rate: float
    decay: float

    @property
    def balanced_sharpness(self) -> float:
        """The largest eigenvalue at the balanced least-squares solution, for whitened inputs."""
        largest = torch.linalg.matrix_norm(self.problem.target, 2)
        return float(cf.least_squares_sharpness(largest, len(self.weights), 1.0))


def courses(config: Config, data: Arrays) -> Iterator[list[Course]]:
    """The courses of each replicate, those of one class first.

    Raises:
        ValueError: the data are no images, or an image set has too few of class 0.
    """
    for source, replicate in itertools.product(sources(data), range(config.replicates)):
        starts = []
        for labels in LABELS:
            own = f"{source} {replicate}"
            x, y = _samples(config, data, source, labels, generator(config.seed, f"subset {own}"))
            parts = principal_components(x)
            white, raw = (reduce_regression(parts, y, scale) for scale in (1.0, None))
            sizes = (len(white.root), *[config.width] * (config.depth - 1), y.shape[1])
            draws = generator(config.seed, f"weights {own}")
            low, high = config.initial_range
            uniform = torch.rand(min(sizes), dtype=torch.float64, generator=draws)
            values = low + (high - low) * uniform
            balanced = balanced_weights(sizes, values.tolist(), draws)
            unbalanced = kaiming_uniform(sizes, generator(config.seed, f"Kaiming {own}"))
            rate = config.learning_rate
            plain = Course("plain", white, unbalanced, rate, 0.0)
            edge = config.beyond * 2 / plain.balanced_sharpness
            starts += [
                Course("whitened", white, balanced, rate, 0.0),
                Course("raw", raw, balanced, rate, 0.0),
                plain,
                Course("decay", white, unbalanced, rate, config.weight_decay),
                Course("edge", white, unbalanced, edge, 0.0),
            ]
        yield starts


def _samples(
    config: Config, data: Arrays, source: str, labels: str, draws: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Inputs ``(n, d)`` and one-hot labels ``(n, K)`` of one class, or of all in equal shares."""
    images, of = data[f"{source}/images"], torch.from_numpy(data[f"{source}/labels"])
    classes = int(of.max()) + 1
    share = 1.0 if labels == "one" else 1 / classes
    chosen = imbalanced_subset(of, config.samples, share, draws).numpy()
    x = torch.from_numpy(images[chosen]).flatten(1).double() / float(images.max())
    return x, functional.one_hot(of[chosen], classes).double()


def unbalances(weights: Sequence[Tensor]) -> Tensor:
    """The largest ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F of each network, ``(B,)``."""
    pairs = [(a @ a.mT - b.mT @ b).flatten(1).norm(dim=1) for a, b in itertools.pairwise(weights)]
    return torch.stack(pairs).amax(dim=0)


_RUN = "labels treated replicate"
VARIABLES: Variables = {
    "labels": Variable("labels", "images of one class, or of all classes in equal shares"),
    "treated": Variable("treated", "inputs from balanced layers, or the training from Kaiming's"),
    "inputs": Variable("inputs", "inputs of the runs whose sharpness is measured"),
    "replicate": Variable("replicate", "number of the replicate"),
    "epoch": Variable("epoch", "recorded epoch of training"),
    "done": Variable("done", "how much of the loss is gone: half, 99 % or 99.9 %"),
    "layer": Variable("layer", "layer, from the inputs on"),
    "source": Variable("replicate", "image set of the replicate"),
    "weight_decay": Variable("", "weight decay λ of the runs that have one"),
    "rate": Variable(_RUN, "learning rate"),
    "law": Variable(f"{_RUN} epoch", "imbalance as gradient flow has it"),
    "solution": Variable(_RUN, "sharpness of the balanced least-squares solution, whitened inputs"),
    "loss": Variable(f"{_RUN} epoch", "loss above that of least squares"),
    "epochs": Variable(f"done {_RUN}", "epochs until so much of the loss is gone, NaN for never"),
    "unbalance": Variable(f"{_RUN} epoch", "largest ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F"),
    "top": Variable(f"{_RUN} epoch layer", "largest singular value of the layer"),
    "diverged": Variable(_RUN, "whether the training diverged"),
    "sharpness": Variable("labels inputs replicate epoch", "largest eigenvalue of the Hessian"),
    "residual": Variable("labels inputs replicate epoch", "of the sharpness"),
}


def closed_form(config: Config, samples: Arrays) -> xr.Dataset:
    """What is known of the runs without training, of all replicates of all image sets.

    Under gradient flow W_l W_lᵀ − W_{l+1}ᵀ W_{l+1} is multiplied by e^{−2λt}, whatever the loss.
    """
    runs = [run for result in courses(config, samples) for run in result]
    start = np.array([float(unbalances([w[None] for w in run.weights])) for run in runs])
    decay = np.array([run.decay * run.rate for run in runs])
    solution = [math.nan if run.treated == "raw" else run.balanced_sharpness for run in runs]
    arrays = {
        "rate": np.array([run.rate for run in runs]),
        "law": start[:, None] * np.exp(-2 * decay[:, None] * config.epoch),
        "solution": np.array(solution),
    }
    labels = _labels(config, samples) | {"weight_decay": np.array(config.weight_decay)}
    return data_set(labels | _by_run(arrays, BALANCED + KAIMING), VARIABLES)


def _labels(config: Config, samples: Arrays) -> Arrays:
    """What tells runs apart, on both sides."""
    source = np.repeat(sources(samples), config.replicates)
    return {
        "labels": np.array(LABELS),
        "treated": np.array(BALANCED + KAIMING),
        "replicate": np.arange(len(source)),
        "epoch": config.epoch,
        "source": source,
    }


def _by_run(arrays: Arrays, treated: Sequence[str]) -> Arrays:
    """From ``(R runs, ...)`` to ``(labels, treated, R, ...)``."""
    shape = (-1, len(LABELS), len(treated))
    return {
        name: np.moveaxis(values.reshape(*shape, *values.shape[1:]), 0, 2)
        for name, values in arrays.items()
    }


@dataclass(frozen=True)
class _Trained:
    """Losses above that of least squares ``(epochs + 1, B)``, and weights at recorded epochs."""

    losses: Tensor
    weights: list[tuple[Tensor, ...]]


def descend(runs: Sequence[Course], epochs: int, record: Sequence[int]) -> _Trained:
    """Gradient descent W_l ← W_l − η (∂loss/∂W_l + λ W_l) of several networks of one shape at once.

    With S_l = W_L ⋯ W_{l+1}, P = S_1 W_1 and G = (P diag(root) − target) diag(root) the slope is
    S_lᵀ (G W_1ᵀ ⋯ W_{l−1}ᵀ). Networks with fewer inputs than others get further ones that are zero.
    """
    features = max(len(run.problem.root) for run in runs)

    def padded(values: Tensor) -> Tensor:
        return functional.pad(values, (0, features - values.shape[-1]))

    root = torch.stack([padded(run.problem.root) for run in runs])[:, None]
    target = torch.stack([padded(run.problem.target) for run in runs])
    layers = zip(*(run.weights for run in runs), strict=True)
    weights = [torch.stack([padded(w) if n == 0 else w for w in ws]) for n, ws in enumerate(layers)]
    settings = torch.tensor([(run.rate, run.decay) for run in runs], dtype=torch.float64)
    rate, decay = settings.T[..., None, None]
    kept = 1 - rate * decay
    losses, recorded = torch.empty(epochs + 1, len(runs), dtype=torch.float64), []
    for epoch in range(epochs + 1):
        after = [torch.eye(target.shape[1], dtype=torch.float64).expand(len(runs), -1, -1)]
        for weight in reversed(weights[1:]):
            after.insert(0, after[0] @ weight)
        residual = (after[0] @ weights[0]) * root - target
        losses[epoch] = residual.square().sum(dim=(1, 2)) / 2
        if epoch in record:
            recorded.append(tuple(weight.clone() for weight in weights))
        slope, slopes = residual * root, []
        for left, weight in zip(after, weights, strict=True):
            slopes.append(left.mT @ slope)
            slope = slope @ weight.mT
        for number, (weight, by) in enumerate(zip(weights, slopes, strict=True)):
            weights[number] = kept * weight - rate * by
    return _Trained(losses, recorded)


def numerics(config: Config, samples: Arrays) -> xr.Dataset:
    """What training does, and the sharpness in the runs from balanced layers."""
    runs = [run for result in courses(config, samples) for run in result]
    trained = descend(runs, config.epochs, config.epoch.tolist())
    losses = trained.losses.numpy()
    # What diverged has no curvature to speak of.
    clean = [tuple(torch.nan_to_num(w, 0.0, 0.0, 0.0) for w in ws) for ws in trained.weights]
    tops = [torch.stack([torch.linalg.matrix_norm(w, 2) for w in ws], dim=1) for ws in clean]
    done = {name: losses <= left * losses[0] for name, left in LEFT.items()}
    epochs = {n: np.where(d.any(axis=0), d.argmax(axis=0), math.nan) for n, d in done.items()}
    arrays = {
        "loss": losses[config.epoch].T,
        "unbalance": torch.stack([unbalances(ws) for ws in clean], dim=1).numpy(),
        "top": torch.stack(tops, dim=1).numpy(),
        "diverged": ~(losses.max(axis=0) <= LOSS_LIMIT),
    }
    labels = {"inputs": np.array(BALANCED), "done": np.array([*LEFT])}
    labels["layer"] = np.arange(1, config.depth + 1)
    by_run = _by_run(arrays, BALANCED + KAIMING)
    by_run["epochs"] = np.stack([*_by_run(epochs, BALANCED + KAIMING).values()])
    by_run |= _by_run(_sharpness(runs, clean), BALANCED)
    data = data_set(_labels(config, samples) | labels | by_run, VARIABLES)
    return left_out(data, int(arrays["diverged"].sum()))


def _sharpness(runs: Sequence[Course], weights: Sequence[tuple[Tensor, ...]]) -> Arrays:
    """The sharpness of each run from balanced layers at the recorded epochs, ``(runs, t)``."""
    sharpness = [
        ensemble_sharpness(_ensemble(weights, number, run), _moments(run.problem))
        for number, run in enumerate(runs)
        if run.treated in BALANCED
    ]
    return {
        "sharpness": np.stack([item.values.numpy() for item in sharpness]),
        "residual": np.stack([item.residuals.numpy() for item in sharpness]),
    }


def _ensemble(weights: Sequence[tuple[Tensor, ...]], number: int, run: Course) -> Ensemble:
    """One network at all recorded epochs, on its own inputs."""
    layers = [torch.stack([at[number] for at in layer]) for layer in zip(*weights, strict=True)]
    layers[0] = layers[0][..., : len(run.problem.root)]
    return Ensemble(weights=tuple(layers), multipliers=(1.0,) * len(layers), activation="linear")


def _moments(problem: ReducedRegression) -> SecondMoments:
    root, target = problem.root, problem.target
    spread = target.square().sum() + 2 * problem.floor
    return SecondMoments(torch.diag(root**2), target * root, spread, len(root))
