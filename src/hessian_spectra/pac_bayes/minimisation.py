"""Minimisation of a PAC-Bayes bound over Gaussian posteriors."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.pac_bayes.bases import STANDARD, BasesObserver, layer_bases
from hessian_spectra.pac_bayes.draws import OneNetwork
from hessian_spectra.pac_bayes.posterior import GaussianPosterior
from hessian_spectra.pac_bayes.settings import (
    BoundDescent,
    PriorFamily,
    divergence_of,
    exponential,
)
from hessian_spectra.seeding import generator
from hessian_spectra.training import Batch, Passes, train_by_passes
from hessian_spectra.validation import require

# So many numbers are added up in their own precision.
PART = 4096
# An update takes so many numbers at a time: what it has of them fits into a processor's cache.
FITTING = 131072
# Of how many epochs, about, the terms of the bound are kept.
KEPT = 100


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
        return {"index": self.index(half), **self.terms_of(divergence, half)}


def _regularised(posterior: GaussianPosterior, plan: _Plan, variances: Tensor) -> Tensor:
    """``(B_RE / 2)^½``; its gradients are added where the posterior's optimizer finds them."""
    half = posterior.half_log_variance
    half.data.clamp_(max=plan.largest_half_logarithm)
    number, scale = posterior.mean.numel(), float(half.detach())
    precision = exponential(-2 * scale)
    distance = posterior.mean.data - posterior.prior
    squares = float(torch.dot(distance, distance)) + _total(variances)
    logarithms = 2 * _total(posterior.log_deviation.data)
    divergence = divergence_of(squares, logarithms, number, scale)
    index = plan.grid_precision * (math.log(plan.largest_variance) - 2 * scale)
    value = math.sqrt(plan.complexity(divergence, index) / 2)
    slope = 1 / (4 * value * (plan.samples - 1))
    gradients: list[Any] = [parameter.grad for parameter in posterior.parameters()]
    of_mean, of_deviation, of_half = gradients
    of_mean.add_(distance, alpha=slope * precision)
    of_deviation.add_(variances, alpha=slope * precision).sub_(slope)
    of_half.add_(slope * (number - squares * precision - 4 * plan.grid_precision / index))
    return half.detach().new_tensor(value)


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


class _Bases(BasesObserver):
    """Finds the bases before some epochs, and keeps the terms of the bound."""

    def __init__(
        self,
        posterior: GaussianPosterior,
        plan: _Plan,
        model: nn.Module,
        data: tuple[Tensor, Tensor],
    ) -> None:
        super().__init__(posterior, data[0])
        self._plan, self._model, self._data = plan, model, data
        self._refreshes = {*plan.refreshes()}

    def __call__(self, step: int) -> None:
        """Look at the posterior before an epoch."""
        epoch = step // self._plan.updates
        if epoch in self._refreshes and self._plan.basis != STANDARD:
            self._model.load_state_dict(self._posterior.model_state())
            try:
                self.use(layer_bases(self._model, *self._data, self._plan.basis))
            except (cv.OperatorError, torch.linalg.LinAlgError, ValueError):
                # A mean that diverged on the way has no curvature, and keeps its bases to the end.
                if epoch == 0:
                    raise
        self._terms[step] = self._plan.terms(self._posterior)

    def terms(self, epochs: Iterable[int]) -> Arrays:
        """The terms of some epochs by name, with these; NaN where training has not come to one."""
        epochs = sorted(epochs)
        kept = [self._terms.get(epoch * self._plan.updates, {}) for epoch in epochs]
        values = {name: np.array([terms.get(name, math.nan) for terms in kept]) for name in TERMS}
        return {"epoch": np.array(epochs), **values}

    def state(self) -> Arrays:
        """The bases, and the terms so far."""
        terms = self.terms(step // self._plan.updates for step in self._terms)
        return super().state() | {f"terms/{name}": values for name, values in terms.items()}

    def restore(self, state: Arrays) -> None:
        """Go on from there."""
        for place, epoch in enumerate(state["terms/epoch"].tolist()):
            terms = {name: float(state[f"terms/{name}"][place]) for name in TERMS}
            self._terms[epoch * self._plan.updates] = terms
        super().restore(state)


TERMS = ("divergence", "index", "prior_variance", "complexity")


def minimise_bound(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    settings: BoundDescent,
    *,
    seed: int,
    identity: Any = None,
    **how: Any,
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
        identity: what else tells this training from others, as JSON has it.
        how: ``log``, which is told the terms of the bound at some epochs, and ``checkpoint``, as
            for :func:`~hessian_spectra.training.train_by_minibatches`.

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
    numbers = posterior.mean.numel()

    def batch(step: int, chosen: Tensor) -> Batch:
        noise = torch.empty(numbers).normal_(generator=generator(seed, f"network {step}"))
        return chosen.to(inputs.device), noise

    def loss(posterior: GaussianPosterior, chosen: Tensor, noise: Tensor) -> Tensor:
        deviation = posterior.log_deviation.detach().exp()
        entries = noise.mul_(deviation)
        leading = None if bases.leading is None else bases.leading[chosen]
        scores = posterior(inputs[chosen], OneNetwork(entries, leading))
        surrogate = functional.cross_entropy(scores, labels[chosen]) / math.log(2)
        return surrogate + _regularised(posterior, plan, deviation.square_())

    regular = range(0, plan.epochs + 1, max(plan.epochs // KEPT, 1))
    shown = {*plan.refreshes(), *regular, plan.epochs}
    losses = train_by_passes(
        posterior,
        loss,
        plan,
        batch,
        seed=seed,
        unit="images",
        observer=bases,
        observed=shown,
        identity=[identity, vars(settings)],
        **how,
    )
    return {"surrogate": losses.mean(axis=1), **bases.terms(shown)}
