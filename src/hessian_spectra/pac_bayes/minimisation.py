"""Minimisation of a PAC-Bayes bound over Gaussian posteriors."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.pac_bayes.bases import (
    KINDS,
    STANDARD,
    arrays_of,
    bases_from,
    layer_bases,
)
from hessian_spectra.pac_bayes.posterior import GaussianPosterior, OneNetwork
from hessian_spectra.progress import Log, silent
from hessian_spectra.seeding import generator
from hessian_spectra.training.minibatches import Batch, Observer, Task, train_by_minibatches
from hessian_spectra.training.passes import Order, Passes
from hessian_spectra.validation import require, require_each

# So many numbers are added up in their own precision.
PART = 4096
# An update takes so many numbers at a time: what it has of them fits into a processor's cache.
FITTING = 131072
# The logarithm of the largest number.
LARGEST = math.log(sys.float_info.max)
# Of how many epochs, about, the terms of the bound are kept.
KEPT = 100


class DivergedError(ValueError):
    """The training of a posterior diverges at its learning rate."""

    def __init__(self, learning_rate: float) -> None:
        super().__init__(
            "learning_rate: expected a rate at which the posterior's training does not diverge, "
            f"got {learning_rate!r}"
        )


@dataclass(frozen=True, kw_only=True)
class BoundSettings:
    """The settings with which a posterior is found, whatever its basis.

    Args:
        epochs: passes over the samples, each in a new order; paper: 2000.
        batch_size: samples of an update; open in the paper.
        learning_rate: of RMSprop at the start; paper: 0.001.
        decay_every: epochs after which it falls to a tenth, again and again; paper: 400.
        smoothing: of RMSprop's mean squares; open in the paper.
        refresh: epochs after which the basis is found anew, 0 for never; paper: 10 or never.
        delta: the bound may fail with this probability, over samples; paper: 0.025.
        grid_precision: b of the prior's variances ``λ = c exp(−j/b)``; paper: 100.
        largest_variance: c; paper: 0.1.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    decay_every: int
    smoothing: float
    refresh: int
    delta: float
    grid_precision: float
    largest_variance: float

    def __post_init__(self) -> None:
        counts = ("epochs", "batch_size", "decay_every")
        require_each(self, counts, lambda count: count >= 1, "at least 1")
        require(self.refresh >= 0, "refresh", "at least 0", self.refresh)
        sizes = ("learning_rate", "grid_precision", "largest_variance")
        require_each(self, sizes, lambda size: 0 < size < math.inf, "a positive number")
        require(0 <= self.smoothing < 1, "smoothing", "a number in [0, 1)", self.smoothing)
        require(0 < self.delta < 1, "delta", "a probability in (0, 1)", self.delta)


@dataclass(frozen=True, kw_only=True)
class BoundDescent(BoundSettings):
    """The settings with which a posterior is found, whatever the number of samples.

    Args:
        basis: in which the covariance is diagonal, ``standard``, ``kronecker``,
            ``nearest``, ``printed output`` or ``exact``.
        refresh_grows: whether ``refresh`` takes ten times as many epochs whenever the rate falls.
    """

    basis: str
    refresh_grows: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.basis in KINDS, "basis", f"one of {', '.join(KINDS)}", self.basis)


class PriorFamily:
    """The priors ``λ = c exp(−j/b)`` of a bound from so many samples, for a real ``j``."""

    samples: int
    delta: float
    grid_precision: float
    largest_variance: float

    @property
    def largest_half_logarithm(self) -> float:
        """``½ ln λ`` for ``j = 1``: no larger prior is among those that the bound holds for."""
        return 0.5 * (math.log(self.largest_variance) - 1 / self.grid_precision)

    def index(self, half: float) -> float:
        """``j`` of a prior's ``½ ln λ``, at least 1."""
        return max(self.grid_precision * (math.log(self.largest_variance) - 2 * half), 1.0)

    def complexity(self, divergence: float, index: float) -> float:
        """``B_RE`` (closed_form.complexity), here for a real ``j`` as well."""
        union = 2 * math.log(index) + math.log(math.pi**2 * self.samples / (6 * self.delta))
        return (divergence + union) / (self.samples - 1)


@dataclass(frozen=True, kw_only=True)
class _Plan(BoundDescent, Passes, PriorFamily):
    """The steps and rates with which a posterior is found from so many samples."""

    def falls(self, epoch: int) -> int:
        """The number of times that the rate has fallen."""
        return epoch // self.decay_every

    def rate(self, step: int) -> float:
        """The learning rate of an update."""
        return self.learning_rate * 0.1 ** self.falls(step // self.updates)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """RMSprop, which moves each number by about the learning rate, in parts of the vectors."""
        return torch.optim.RMSprop(_parts(model), lr=self.learning_rate, alpha=self.smoothing)

    def refreshes(self) -> list[int]:
        """The epochs before which the basis is found."""
        entries = [0]
        while self.refresh:
            interval = self.refresh * (10 ** self.falls(entries[-1]) if self.refresh_grows else 1)
            if entries[-1] + interval >= self.epochs:
                break
            entries.append(entries[-1] + interval)
        return entries

    def terms(self, posterior: GaussianPosterior) -> dict[str, float]:
        """KL divergence, ``j``, λ and the bound's right side ``B_RE``, for a real ``j``."""
        half = float(posterior.half_log_variance.detach())
        moments = posterior.moments()
        squares = moments.variance_sum + moments.squared_distance
        divergence = divergence_of(squares, moments.log_variance_sum, moments.parameters, half)
        index = self.index(half)
        return {
            "divergence": divergence,
            "index": index,
            "prior_variance": _exponential(2 * half),
            "complexity": self.complexity(divergence, index),
        }


class _Regulariser(torch.autograd.Function):
    """``(B_RE / 2)^½``, whose gradients go where the posterior's optimizer finds them."""

    @staticmethod
    def forward(
        ctx: Any, half: Tensor, posterior: GaussianPosterior, plan: _Plan, variances: Tensor
    ) -> Tensor:
        half.data.clamp_(max=plan.largest_half_logarithm)
        number, scale = posterior.mean.numel(), float(half)
        precision = _exponential(-2 * scale)
        distance = posterior.mean.data - posterior.prior
        squares = float(torch.dot(distance, distance)) + _total(variances)
        logarithms = 2 * _total(posterior.log_deviation.data)
        divergence = divergence_of(squares, logarithms, number, scale)
        index = plan.grid_precision * (math.log(plan.largest_variance) - 2 * scale)
        value = math.sqrt(plan.complexity(divergence, index) / 2)
        slope = 1 / (4 * value * (plan.samples - 1))
        ctx.about = posterior, distance, variances, precision, slope
        ctx.of_half = slope * (number - squares * precision - 4 * plan.grid_precision / index)
        return half.new_tensor(value)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        posterior, distance, variances, precision, slope = ctx.about
        share = float(gradients[0])
        factor = share * slope * precision
        posterior.mean.grad.add_(distance, alpha=factor)
        posterior.log_deviation.grad.add_(variances, alpha=factor).sub_(share * slope)
        return gradients[0] * ctx.of_half, None, None, None


def divergence_of(squares: float, logarithms: float, number: int, half: float) -> float:
    """``KL(Q ‖ P)`` (closed_form.gaussian_kl) with ``squares`` the sum that λ divides."""
    return 0.5 * (squares * _exponential(-2 * half) - number + 2 * half * number - logarithms)


def _exponential(exponent: float) -> float:
    """``exp``, infinite where no number is as large: there a training diverges."""
    return math.inf if exponent > LARGEST else math.exp(exponent)


def _parts(model: nn.Module) -> Iterator[nn.Parameter]:
    """Views of the parameters, whose gradients are views of those of the parameters.

    An update reads and writes each number several times: of a part, once from memory.
    """
    for parameter in model.parameters():
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        parameter.grad = gradient
        vectors = (tensor.view(-1).split(FITTING) for tensor in (parameter.detach(), gradient))
        for values, slopes in zip(*vectors, strict=True):
            part = nn.Parameter(values)
            part.grad = slopes
            yield part


def _total(values: Tensor) -> float:
    """The sum, of parts that lose no digits in float32, in float64."""
    whole = len(values) - len(values) % PART
    parts = values[:whole].view(-1, PART).sum(dim=1)
    return float(parts.sum(dtype=torch.float64) + values[whole:].sum(dtype=torch.float64))


class _Bases(Observer):
    """Finds the bases before some epochs, and keeps the terms of the bound."""

    def __init__(
        self, posterior: GaussianPosterior, plan: _Plan, model: nn.Module, data: Sequence[Tensor]
    ) -> None:
        self._posterior, self._plan = posterior, plan
        self._model, (self._inputs, self._labels) = model, data
        self._refreshes = {*plan.refreshes()}
        self._terms: dict[int, dict[str, float]] = {}
        self.leading: Tensor | None = None

    def __call__(self, step: int) -> None:
        """Look at the posterior before an epoch."""
        epoch = step // self._plan.updates
        if epoch in self._refreshes and self._plan.basis != STANDARD:
            self._model.load_state_dict(self._posterior.model_state())
            try:
                bases = layer_bases(self._model, self._inputs, self._labels, self._plan.basis)
                self._use(bases)
            except (cv.OperatorError, torch.linalg.LinAlgError, ValueError):
                # A mean that diverged on the way has no curvature, and keeps its bases to the end.
                if epoch == 0:
                    raise
        self._terms[epoch] = self._plan.terms(self._posterior)

    def _use(self, bases: Any) -> None:
        self._posterior.bases = dict(bases)
        self.leading = self._posterior.leading(self._inputs)

    def metrics(self, step: int) -> dict[str, float]:
        """The terms of the bound."""
        return self._terms.get(step // self._plan.updates, {})

    def terms(self, epochs: Iterable[int]) -> Arrays:
        """The terms of some epochs by name, with these; NaN where training has not come to one."""
        epochs = sorted(epochs)
        kept = [self._terms.get(epoch, {}) for epoch in epochs]
        values = {name: [terms.get(name, math.nan) for terms in kept] for name in TERMS}
        return {"epoch": np.array(epochs), **{name: np.array(v) for name, v in values.items()}}

    def state(self) -> Arrays:
        """The bases, and the terms so far."""
        state = arrays_of(self._posterior.bases)
        return state | {f"terms/{name}": values for name, values in self.terms(self._terms).items()}

    def restore(self, state: Arrays) -> None:
        """Go on from there."""
        for place, epoch in enumerate(state["terms/epoch"].tolist()):
            self._terms[epoch] = {name: float(state[f"terms/{name}"][place]) for name in TERMS}
        posterior = self._posterior
        self._use(bases_from(state, posterior.names, posterior.mean.device))


TERMS = ("divergence", "index", "prior_variance", "complexity")


def minimise_bound(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    settings: BoundDescent,
    *,
    seed: int,
    log: Log = silent,
    checkpoint: Path | None = None,
    identity: Any = None,
) -> Arrays:
    """Minimise ``ě(Q) + (B_RE/2)^½`` over a posterior's mean and deviations and the prior's λ.

    ``ě`` is the mean cross-entropy in bits of a network drawn from the posterior, one for each
    update: at least 1 for a sample that it classifies wrongly. Gradients of all are followed by
    RMSprop, each number in the basis that it is kept in: the mean's in the standard one.

    Args:
        posterior: changed in place, with its bases.
        model: a network of its kind, to find the bases with; changed.
        inputs: ``(n, ...)``.
        labels: ``(n,)``.
        settings: how.
        seed: of the samples' orders and the networks.
        log: as for all training, with the terms of the bound at some epochs.
        checkpoint: as for all training.
        identity: as for all training.

    Returns:
        ``surrogate (epochs,)``, the mean of the minimised quantity over an epoch's updates; and
        at about a hundred epochs, ``epoch (k,)``, the ``divergence`` KL(Q ‖ P), the real
        ``index`` j, ``prior_variance`` λ and ``complexity`` B_RE, ``(k,)``. NaN from where the
        training diverges.

    Raises:
        ValueError: as :func:`~hessian_spectra.training.train_by_minibatches`; other numbers of
            samples.

    Source: wu2022dissecting, Algorithm 1 and eq. (278); Dziugaite and Roy (2017).
    """
    counts = {len(inputs), len(labels)}
    require(len(counts) == 1, "labels", "as many as inputs", sorted(counts))
    require(len(inputs) >= 2, "inputs", "at least 2 samples", len(inputs))
    plan = _Plan(samples=len(inputs), **vars(settings))
    inputs = inputs.flatten(1)
    bases = _Bases(posterior, plan, model, (inputs, labels))
    order = Order(len(inputs), plan.batch_size, seed)
    numbers = posterior.mean.numel()

    def batches(step: int) -> Sequence[Batch]:
        noise = torch.empty(numbers).normal_(generator=generator(seed, f"network {step}"))
        return [(order.samples(step).to(inputs.device), noise)]

    def loss(posterior: GaussianPosterior, chosen: Tensor, noise: Tensor) -> Tensor:
        deviation = posterior.log_deviation.detach().exp()
        entries = noise.mul_(deviation)
        leading = None if bases.leading is None else bases.leading[chosen]
        scores = posterior(inputs[chosen], OneNetwork(entries, leading))
        surrogate = functional.cross_entropy(scores, labels[chosen]) / math.log(2)
        half = posterior.half_log_variance
        regulariser: Tensor = _Regulariser.apply(half, posterior, plan, deviation.square_())
        return surrogate + regulariser

    task = Task(
        model=posterior,
        loss=loss,
        batches=batches,
        seed=seed,
        unit="images",
        units=plan.batch_size,
        identity=[identity, vars(settings)],
    )
    regular = range(0, plan.epochs + 1, max(plan.epochs // KEPT, 1))
    shown = {*plan.refreshes(), *regular, plan.epochs}
    losses = train_by_minibatches(
        task,
        plan,
        observer=bases,
        observed={epoch * plan.updates for epoch in shown},
        log=log,
        checkpoint=checkpoint,
    )
    return {"surrogate": losses.reshape(plan.epochs, -1).mean(axis=1), **bases.terms(shown)}
