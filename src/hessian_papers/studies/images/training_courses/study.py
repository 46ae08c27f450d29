"""Courses of training that anon2026data speaks of and shows no figure of (sections 3 and 4).

Linear networks on subsets of images of one class alone, and of all classes in equal shares, by
full-batch gradient descent of a constant rate. From balanced layers on whitened and on raw inputs:
how fast they learn, and the largest sharpness on the way. From Kaiming's on whitened inputs, at a
small rate, with weight decay, and at the edge of stability: what becomes of the layers' balance.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from hessian_papers.constraints import AtLeast, Constraint, Count, Positive
from hessian_papers.data.base import IMAGES, Form
from hessian_papers.data.images import LABELS as CLASSES
from hessian_papers.data.tools.reduction import ReducedRegression, reduce_regression
from hessian_papers.data.tools.subsets import imbalanced_subset
from hessian_papers.data.tools.whitening import principal_components
from hessian_papers.labelled import Variable, Variables, assembled, left_out
from hessian_papers.models.initialisation import kaiming_uniform
from hessian_papers.networks.tools.images import image_sets
from hessian_papers.studies.base import DataStudyConfig
from hessian_papers.studies.images.base import recorded_epochs
from hessian_spectra import closed_form as cf
from hessian_spectra.curvature.ensemble import SecondMoments, ensemble_sharpness
from hessian_spectra.files import Arrays
from hessian_spectra.models import Ensemble, balanced_weights
from hessian_spectra.seeding import generator
from hessian_spectra.validation import require

LABELS = ("one", "uniform")
# The runs from balanced layers, by their inputs.
BALANCED = ("whitened", "raw")
# What is left of the loss when training is half, nearly and wholly done.
LEFT = {"half": 0.5, "nearly": 0.01, "rest": 1e-3}
LOSS_LIMIT = 1e12
InitialRange = Constraint(
    "two numbers, 0 < smallest <= largest",
    lambda ends: len(ends) == 2 and 0 < ends[0] <= ends[1],
)


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
    initial_range: Annotated[list[float], InitialRange]
    learning_rate: Positive
    epochs: Count
    recorded: Count
    weight_decay: Positive
    beyond: Positive

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
    """One run before it is trained: its labels, the loss, weights at the start, rate and decay."""

    labels: Arrays
    problem: ReducedRegression
    weights: tuple[Tensor, ...]
    rate: float
    decay: float = 0.0

    @property
    def balanced_sharpness(self) -> float:
        """The largest eigenvalue at the balanced least-squares solution, for whitened inputs."""
        largest = torch.linalg.matrix_norm(self.problem.target, 2)
        return float(cf.least_squares_sharpness(largest, len(self.weights), 1.0))


def courses(config: Config, data: xr.Dataset) -> Iterator[Course]:
    """The courses of each replicate, those of one class first.

    Raises:
        ValueError: the data are no images, or an image set has too few of class 0.
    """
    sets = itertools.product(image_sets(data).items(), range(config.replicates))
    for (number, ((source, images), replicate)), labels in itertools.product(
        enumerate(sets), LABELS
    ):
        own = f"{source} {replicate}"
        x, y = _samples(config, images, labels, generator(config.seed, f"subset {own}"))
        parts = principal_components(x)
        white, raw = (reduce_regression(parts, y, scale) for scale in (1.0, None))
        sizes = (len(white.root), *[config.width] * (config.depth - 1), y.shape[1])
        draws = generator(config.seed, f"weights {own}")
        low, high = config.initial_range
        uniform = torch.rand(min(sizes), dtype=torch.float64, generator=draws)
        balanced = balanced_weights(sizes, (low + (high - low) * uniform).tolist(), draws)
        unbalanced = kaiming_uniform(sizes, generator(config.seed, f"Kaiming {own}"))
        names = {"labels": labels, "replicate": number, "source": source}
        facts = {name: np.array(value) for name, value in names.items()}
        plain = Course(facts, white, unbalanced, config.learning_rate)
        edge = config.beyond * 2 / plain.balanced_sharpness
        reduced = in_own_coordinates(plain)
        runs = {
            "whitened": in_own_coordinates(replace(plain, weights=balanced)),
            "raw": replace(plain, weights=balanced, problem=raw),
            "plain": reduced,
            "decay": replace(reduced, decay=config.weight_decay),
            "edge": replace(reduced, rate=edge),
        }
        for treated, run in runs.items():
            yield replace(run, labels=facts | {"treated": np.array(treated)})


def in_own_coordinates(run: Course) -> Course:
    """The same course on whitened inputs, in the directions that its first layer ever has.

    Where inputs have one variance in all directions, each step of the first layer is a combination
    of its own rows and the target's. In an orthonormal basis of these, losses, imbalance, and
    largest eigenvalue are the same, whatever the number of inputs: off the basis the Hessian is
    that of the first layer alone, which all directions share.
    """
    first, *others = run.weights
    basis, _ = torch.linalg.qr(torch.cat([first, run.problem.target]).mT)  # (r, at most m + K)
    size = basis.shape[1]
    problem = replace(run.problem, root=run.problem.root[:size], target=run.problem.target @ basis)
    return replace(run, weights=(first @ basis, *others), problem=problem)


def _samples(
    config: Config, data: xr.Dataset, labels: str, draws: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Inputs ``(n, d)`` and one-hot labels ``(n, K)`` of one class, or of all in equal shares."""
    images, of = data["images"].values, torch.from_numpy(data["labels"].values)
    classes = int(of.max()) + 1
    share = 1.0 if labels == "one" else 1 / classes
    chosen = imbalanced_subset(of, config.samples, share, draws).numpy()
    x = torch.from_numpy(images[chosen]).flatten(1).double() / float(images.max())
    return x, functional.one_hot(of[chosen], classes).double()


def unbalances(weights: Sequence[Tensor]) -> Tensor:
    """The largest ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F of each network, ``(B,)``."""
    pairs = [(a @ a.mT - b.mT @ b).flatten(1).norm(dim=1) for a, b in itertools.pairwise(weights)]
    return torch.stack(pairs).amax(dim=0)


AXES = ("labels", "treated", "replicate")
_RUN, _SHARPNESS = " ".join(AXES), "labels inputs replicate epoch"
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
    "epochs": Variable(f"{_RUN} done", "epochs until so much of the loss is gone, NaN for never"),
    "unbalance": Variable(f"{_RUN} epoch", "largest ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F"),
    "top": Variable(f"{_RUN} epoch layer", "largest singular value of the layer"),
    "diverged": Variable(_RUN, "whether the training diverged"),
    "sharpness": Variable(_SHARPNESS, "largest eigenvalue of the Hessian"),
    "residual": Variable(_SHARPNESS, "of the sharpness"),
}


def closed_form(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The facts of the runs that are known without training, of all replicates of all image sets.

    Under gradient flow W_l W_lᵀ − W_{l+1}ᵀ W_{l+1} is multiplied by e^{−2λt}, whatever the loss.
    """
    parts = []
    for run in courses(config, samples):
        start = unbalances([weight[None] for weight in run.weights]).numpy()
        known = run.labels["treated"] != "raw"
        facts = {
            "rate": np.array(run.rate),
            "law": start * np.exp(-2 * run.decay * run.rate * config.epoch),
            "solution": np.array(run.balanced_sharpness if known else math.nan),
            "weight_decay": np.array(config.weight_decay),
            "epoch": config.epoch,
        }
        parts.append(run.labels | facts)
    return assembled(parts, VARIABLES, AXES)


def descend(
    runs: Sequence[Course], epochs: int, record: Sequence[int]
) -> tuple[Tensor, list[Tensor]]:
    """Gradient descent W_l ← W_l − η (∂loss/∂W_l + λ W_l) of several networks of one shape at once.

    With S_l = W_L ⋯ W_{l+1}, P = S_1 W_1 and G = (P diag(root) − target) diag(root) the slope is
    S_lᵀ (G W_1ᵀ ⋯ W_{l−1}ᵀ). Networks with fewer inputs than others get further ones that are zero.

    Returns:
        Losses above that of least squares ``(epochs + 1, B)``, and the weights of each layer at the
        ``t`` recorded epochs, ``(t, B, d_l, d_{l−1})``.
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
    for epoch in tqdm(range(epochs + 1), desc="descent", unit="epoch", disable=None, leave=False):
        after = [torch.eye(target.shape[1], dtype=torch.float64).expand(len(runs), -1, -1)]
        for weight in reversed(weights[1:]):
            after.insert(0, after[0] @ weight)
        residual = (after[0] @ weights[0]) * root - target
        losses[epoch] = residual.square().sum(dim=(1, 2)) / 2
        if epoch in record:
            recorded.append(list(weights))
        slope, slopes = residual * root, []
        for left, weight in zip(after, weights, strict=True):
            slopes.append(left.mT @ slope)
            slope = slope @ weight.mT
        for number, (weight, by) in enumerate(zip(weights, slopes, strict=True)):
            weights[number] = kept * weight - rate * by
    return losses, [torch.stack(layer) for layer in zip(*recorded, strict=True)]


def numerics(config: Config, samples: xr.Dataset) -> xr.Dataset:
    """The course of each training, and the sharpness in the runs from balanced layers."""
    parts, sharpness = [], []
    for run, losses, recorded in _descended(config, samples):
        # What diverged has no curvature to speak of.
        layers = [torch.nan_to_num(layer, 0.0, 0.0, 0.0) for layer in recorded]
        facts = {
            "epoch": config.epoch,
            "done": np.array([*LEFT]),
            "layer": np.arange(1, config.depth + 1),
            "loss": losses[config.epoch],
            "epochs": np.array([_first(losses <= left * losses[0]) for left in LEFT.values()]),
            "unbalance": unbalances(layers).numpy(),
            "top": torch.stack([torch.linalg.matrix_norm(w, 2) for w in layers], dim=1).numpy(),
            "diverged": ~(losses.max() <= LOSS_LIMIT),
        }
        parts.append(run.labels | facts)
        if run.labels["treated"] in BALANCED:
            labels = {name: run.labels[name] for name in ("labels", "replicate")}
            labels |= {"inputs": run.labels["treated"], "epoch": config.epoch}
            sharpness.append(labels | _sharpness(layers, run.problem))
    data = assembled(parts, VARIABLES, AXES)
    data = data.merge(assembled(sharpness, VARIABLES, ("labels", "inputs", "replicate")))
    return left_out(data, int(data["diverged"].sum()))


def _descended(
    config: Config, samples: xr.Dataset
) -> Iterator[tuple[Course, np.ndarray, list[Tensor]]]:
    """Each course, its losses ``(epochs + 1,)``, and its layers at the recorded epochs.

    Those with about as many inputs descend at once: few on whitened inputs, on raw ones as many as
    an image set has.
    """
    runs = list(courses(config, samples))
    alike: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        alike[run.labels["source"].item(), bool(run.labels["treated"] == "raw")].append(number)
    ends: dict[int, tuple[np.ndarray, list[Tensor]]] = {}
    for numbers in alike.values():
        chosen = [runs[number] for number in numbers]
        losses, weights = descend(chosen, config.epochs, config.epoch.tolist())
        for place, number in enumerate(numbers):
            inputs = len(runs[number].problem.root)
            first, *others = (layer[:, place] for layer in weights)
            ends[number] = losses[:, place].numpy(), [first[..., :inputs], *others]
    for number, run in enumerate(runs):
        yield run, *ends[number]


def _first(done: np.ndarray) -> float:
    """The first epoch of which something is so, NaN if there is none."""
    return float(done.argmax()) if done.any() else math.nan


def _sharpness(layers: Sequence[Tensor], problem: ReducedRegression) -> Arrays:
    """The sharpness of a network at all recorded epochs, on its own inputs."""
    own = Ensemble(
        weights=(layers[0][..., : len(problem.root)], *layers[1:]),
        multipliers=(1.0,) * len(layers),
        activation="linear",
    )
    top = ensemble_sharpness(own, moments(problem))
    return {"sharpness": top.values.numpy(), "residual": top.residuals.numpy()}


def moments(problem: ReducedRegression) -> SecondMoments:
    """The second moments of the samples that a problem is about."""
    root, target = problem.root, problem.target
    spread = target.square().sum() + 2 * problem.floor
    return SecondMoments(torch.diag(root**2), target * root, spread, len(root))
