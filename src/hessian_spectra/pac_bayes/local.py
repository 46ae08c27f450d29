"""Minimisation of a PAC-Bayes bound by local reparametrisation, from where the curvature says.

Algorithm 1 of wu2022dissecting draws one network for all samples of an update, starts the variances
at the squared weights, which mean nothing in an eigenbasis, and follows RMSprop. Posteriors,
objective and certificate are the same here.
"""

import copy
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.pac_bayes.bases import (
    STANDARD,
    arrays_of,
    bases_from,
    basis_of,
    curvature_in,
    layer_factors,
    turned_precision,
)
from hessian_spectra.pac_bayes.layers import Layer
from hessian_spectra.pac_bayes.minimisation import DivergedError, PriorFamily, divergence_of
from hessian_spectra.pac_bayes.posterior import (
    DRAWN,
    Basis,
    GaussianPosterior,
    OwnNetworks,
)
from hessian_spectra.progress import Log, silent
from hessian_spectra.seeding import generator
from hessian_spectra.training.minibatches import Batch, Observer, Task, train_by_minibatches
from hessian_spectra.training.passes import Order, Passes
from hessian_spectra.validation import require, require_each

# Samples that curvature is computed from, that starts are tried on, and the best of them again.
CURVED, TRIED, AGAIN = 4000, 500, 2000
# Where a start is looked for: multiples of the curvature, which sampled networks see larger than
# the trained one does; and prior variances as parts of the largest one, from which the best are
# followed to their neighbours.
MULTIPLES = (0.0, 1.0, 5.0)
VARIANCES, NEXT, BEST = tuple(10.0**-power for power in range(7)), 10**0.5, 4
# Bases are found anew in this part of the training; in the rest the numbers settle in the last.
# They are those of the mean over so many networks drawn from the posterior.
RENEWED, DRAWN_NETWORKS = 0.7, 4
# Rounds in which curvature and divergence agree on the variances.
ROUNDS = 6
# How long steps are remembered, and the largest step of a logarithm of a deviation.
MOMENTUM, LONGEST = 0.9, 2.0
# How much of the mean error of the updates so far is kept.
FORGOTTEN = 0.98
# A spread of zero has no derivative.
LEAST = 1e-20


@dataclass(frozen=True, kw_only=True)
class LocalDescent:
    """The settings with which a posterior is found by local reparametrisation.

    Args:
        epochs: passes over the samples, each in a new order.
        batch_size: samples of an update.
        learning_rate: the part of a natural gradient that an update follows, at the start; it falls
            to 0 along a cosine.
        objective: what is minimised: ``inverse``, ``quadratic``, ``lambda`` or ``paper``.
        basis: in which the covariance is diagonal, ``standard``, ``kronecker`` or ``nearest``.
        renewals: how often the bases are found anew, at equal distances in the first 0.7 of the
            training, before an epoch.
        delta: the bound may fail with this probability, over samples.
        grid_precision: b of the prior's variances ``λ = c exp(−j/b)``.
        largest_variance: c.
        seconds: after so many the training ends, whatever the epochs; the rate falls with them.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    objective: str
    basis: str
    renewals: int
    delta: float
    grid_precision: float
    largest_variance: float
    seconds: float = math.inf

    def __post_init__(self) -> None:
        require_each(self, ("epochs", "batch_size"), lambda count: count >= 1, "at least 1")
        require(self.renewals >= 0, "renewals", "at least 0", self.renewals)
        sizes = ("learning_rate", "grid_precision", "largest_variance")
        require_each(self, sizes, lambda size: 0 < size < math.inf, "a positive number")
        require(self.seconds > 0, "seconds", "a positive number", self.seconds)
        require(0 < self.delta < 1, "delta", "a probability in (0, 1)", self.delta)
        names = ", ".join(OBJECTIVES)
        require(self.objective in OBJECTIVES, "objective", f"one of {names}", self.objective)
        fits = self.basis in BASES
        require(fits, "basis", f"one of {', '.join(BASES)} for this method", self.basis)


BASES = (STANDARD, "kronecker", "nearest")


class Objective(NamedTuple):
    """The quantity to minimise, with its derivatives by the error e and by ``B_RE``."""

    value: float
    by_error: float
    by_complexity: float


def _paper(error: float, complexity: float) -> Objective:
    """``e + (B/2)^½``, after Pinsker."""
    root = math.sqrt(complexity / 2)
    return Objective(error + root, 1.0, 1 / (4 * root))


def _quadratic(error: float, complexity: float) -> Objective:
    """``((e + B/2)^½ + (B/2)^½)²``."""
    first, second = math.sqrt(error + complexity / 2), math.sqrt(complexity / 2)
    both = first + second
    return Objective(both**2, both / first, both * (1 / first + 1 / second) / 2)


def _lambda(error: float, complexity: float) -> Objective:
    """``e / (1 − l/2) + B / (l (1 − l/2))`` at its smallest, over l in (0, 2)."""
    weight = 2 / (math.sqrt(2 * error / complexity + 1) + 1)
    by_error, by_complexity = 1 / (1 - weight / 2), 1 / (weight * (1 - weight / 2))
    return Objective(error * by_error + complexity * by_complexity, by_error, by_complexity)


def _inverse(error: float, complexity: float) -> Objective:
    """The bound itself, ``kl⁻¹(e, B)``, with the derivatives that ``kl(e, p) = B`` implies.

    Here e is the rate of errors of the networks that are drawn, and the cross-entropy stands for it
    in proportion. Where it is 0 or 1, or the bound 1, the quadratic objective takes its place.
    """
    bound = float(cf.kl_inverse(error, complexity)) if 1e-6 < error < 1 else 1.0
    if bound > 1 - 1e-9:
        return _quadratic(error, complexity)
    inner = bound * (1 - bound) / (bound - error)
    slope = math.log(bound * (1 - error) / (error * (1 - bound)))
    return Objective(bound, slope * inner, inner)


OBJECTIVES: dict[str, Callable[[float, float], Objective]] = {
    "inverse": _inverse,
    "quadratic": _quadratic,
    "lambda": _lambda,
    "paper": _paper,
}


@dataclass(frozen=True, kw_only=True)
class _Plan(LocalDescent, Passes, PriorFamily):
    """The steps and rates with which a posterior is found from so many samples."""

    def rate(self, step: int) -> float:
        """The learning rate of an update, by the epochs that have passed."""
        return self.after(step / self.steps)

    def after(self, part: float) -> float:
        """The learning rate after a part of the training."""
        return self.learning_rate * (1 + math.cos(math.pi * min(part, 1.0))) / 2

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """The descent along natural gradients."""
        assert isinstance(model, _Turned)
        return _Natural(model, self)

    def due(self, part: float) -> int:
        """The number of renewals up to a part of the training."""
        count = min(int(part / RENEWED * self.renewals), self.renewals)
        return 0 if self.basis == STANDARD else count

    def measured(self, error: float, complexity: float) -> tuple[float, float]:
        """The objective, and how much the error counts in it beside the divergence.

        That is the ratio of its derivatives by the error and by the divergence.
        """
        value, by_error, by_complexity = OBJECTIVES[self.objective](error, complexity)
        return value, by_error / by_complexity * (self.samples - 1)


class _Turned(nn.Module):
    """A posterior's numbers in the bases of its layers."""

    def __init__(self, posterior: GaussianPosterior) -> None:
        super().__init__()
        self._posterior = [posterior]
        self.prior = _turned(posterior, posterior.prior)
        self.mean = nn.ParameterList(_turned(posterior, posterior.mean.detach()))
        deviation = posterior.log_deviation.detach()
        self.log_deviation = nn.ParameterList(part.clone() for part in _parts(posterior, deviation))
        # How often the bases were found anew, and whether no update was made since.
        self.renewals, self.is_renewed = 0, False
        self.half_log_variance = nn.Parameter(posterior.half_log_variance.detach().clone())
        self.course: Tensor
        self.register_buffer("course", torch.zeros(3, dtype=torch.float64))
        # How much the error counts beside the divergence, as the objective has it; and when the
        # seconds are over, which no other process that goes on knows.
        self.weight, self.ends = 0.0, math.inf
        # The places of a layer's weight and bias in these lists.
        self._places: dict[str, list[int]] = {}
        count = 0
        for layer in posterior.layers:
            self._places[layer.name] = [*range(count, count + 1 + layer.has_bias)]
            count += 1 + layer.has_bias

    def spent(self, seconds: float) -> float:
        """The part of so many seconds that has passed."""
        left = self.ends - time.monotonic()
        return 1 - left / seconds if left < math.inf else 0.0

    def variances(self) -> list[Tensor]:
        """``s`` of each weight and bias."""
        return [(2 * part).exp() for part in self.log_deviation]

    def followed(self, entropy: float, rate: float) -> tuple[float, float]:
        """Cross-entropy and rate of errors, means over the last updates."""
        with torch.no_grad():
            last = self.course.new_tensor([entropy, rate, 1.0])
            self.course.mul_(FORGOTTEN).add_(last, alpha=1 - FORGOTTEN)
        total, errors, count = self.course.tolist()
        return total / count, errors / count

    @torch.no_grad()
    def squares(self, variances: Sequence[Tensor]) -> float:
        """``Σ s + ‖w − w₀‖²``, which λ divides in the divergence."""
        parts = zip(variances, self.mean, self.prior, strict=True)
        return sum(_total(s) + _total((m - p).square_()) for s, m, p in parts)

    @torch.no_grad()
    def divergence(self, variances: Sequence[Tensor]) -> float:
        """``KL(Q ‖ P)`` (closed_form.gaussian_kl)."""
        number, half = self._posterior[0].mean.numel(), float(self.half_log_variance.detach())
        logarithms = 2 * sum(_total(part) for part in self.log_deviation)
        return divergence_of(self.squares(variances), logarithms, number, half)

    def of(self, layer: Layer, values: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """A layer's weight and bias among the parts of all."""
        places = self._places[layer.name]
        return values[places[0]], values[places[1]] if layer.has_bias else None

    def forward(
        self, inputs: Tensor, leading: Tensor | None, variances: Sequence[Tensor]
    ) -> Tensor:
        """The scores ``(n, c)``, of each sample by a network of its own."""
        (posterior,) = self._posterior
        return posterior(inputs, _Local(self, leading, variances))

    @torch.no_grad()
    def renew(self, bases: Mapping[str, Basis], renewals: int) -> None:
        """Turn all numbers into other bases; a variance becomes the inverse of the precision."""
        (posterior,) = self._posterior
        self.hand_back()
        before, precision = posterior.bases, (-2 * posterior.log_deviation.detach()).exp()
        for layer in posterior.layers:
            old, new = before[layer.name], bases[layer.name]
            for part in (layer.weight(precision), layer.bias(precision)):
                if part is not None:
                    part.copy_(turned_precision(old, new, part))
        self.use(bases, renewals)
        self.is_renewed = True
        deviation, mean = -precision.log() / 2, _turned(posterior, posterior.mean.detach())
        for parameters, parts in ((self.mean, mean),
                                  (self.log_deviation, _parts(posterior, deviation))):  # fmt: skip
            for parameter, part in zip(parameters, parts, strict=True):
                parameter.copy_(part)

    def use(self, bases: Mapping[str, Basis], renewals: int) -> None:
        """Take the numbers as those in other bases."""
        (posterior,) = self._posterior
        posterior.bases = dict(bases)
        self.prior, self.renewals = _turned(posterior, posterior.prior), renewals

    @torch.no_grad()
    def hand_back(self) -> None:
        """Give the posterior what was found."""
        (posterior,) = self._posterior
        flat = torch.cat([part.flatten() for part in self.mean])
        posterior.mean.copy_(posterior.turned(flat))
        posterior.log_deviation.copy_(torch.cat([p.flatten() for p in self.log_deviation]))
        posterior.half_log_variance.copy_(self.half_log_variance)


class _Natural(torch.optim.Optimizer):
    """Natural gradients of a Gaussian, with momentum, and those of the prior's λ.

    Those of the mean are multiplied by its variance, ``−s (C ∇e + (w − w₀)/λ)``, and those of
    ``½ ln s`` halved, ``−(C ∂e + s/λ − 1)/2``: in a parabola all directions come as near in as many
    steps, stiff ones and flat ones. ``C`` is how much the error counts beside the divergence.
    """

    def __init__(self, turned: _Turned, plan: _Plan) -> None:
        super().__init__(turned.parameters(), {"lr": plan.learning_rate})
        self._turned, self._plan = turned, plan

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Follow the gradients."""
        if self._turned.is_renewed:
            # Steps in the bases before say nothing of these.
            self.state.clear()
            self._turned.is_renewed = False
        turned, rate = self._turned, min(self.param_groups[0]["lr"], self._by_seconds())
        half = turned.half_log_variance
        weight, precision = turned.weight, math.exp(-2 * float(half))
        distance, slope = 0.0, 0.0
        parts = zip(turned.mean, turned.log_deviation, turned.prior, strict=True)
        for mean, deviation, prior in parts:
            variance = (2 * deviation).exp_()
            pull = (mean - prior).mul_(precision)
            distance += float(pull.square().sum()) / precision
            slope += float(deviation.grad.sum()) * weight
            pull.add_(mean.grad, alpha=weight).mul_(variance)
            mean.sub_(self._remembered(mean, pull), alpha=rate)
            pull = variance.mul_(precision).sub_(1).add_(deviation.grad, alpha=weight).div_(2)
            pull.clamp_(-LONGEST, LONGEST)
            deviation.sub_(self._remembered(deviation, pull), alpha=rate)
        # All variances move along with λ: alone it would follow them, and most of them it.
        pull = half.new_tensor((slope / distance - 1) / 2 if distance else 0.0)
        pull = self._remembered(half, pull.clamp_(-LONGEST, LONGEST))
        move = min(-rate * float(pull), self._plan.largest_half_logarithm - float(half))
        half.add_(move)
        for deviation in turned.log_deviation:
            deviation.add_(move)

    def _by_seconds(self) -> float:
        """The learning rate by the seconds that have passed."""
        return self._plan.after(self._turned.spent(self._plan.seconds))

    def _remembered(self, parameter: Tensor, pull: Tensor) -> Tensor:
        state = self.state[parameter]
        if "pull" not in state:
            state["pull"] = torch.zeros_like(parameter)
        momentum: Tensor = state["pull"].mul_(MOMENTUM).add_(pull, alpha=1 - MOMENTUM)
        return momentum


class _Local:
    """A perturbation of its own for each sample, whose gradients autograd follows."""

    def __init__(
        self, turned: _Turned, leading: Tensor | None, variances: Sequence[Tensor]
    ) -> None:
        self._turned, self._leading, self._variances = turned, leading, variances

    def __call__(self, posterior: GaussianPosterior, layer: Layer, x: Tensor) -> Tensor:
        """The outputs of a layer."""
        basis = posterior.bases[layer.name]
        if self._leading is not None and layer is posterior.layers[0]:
            x = self._leading[:, None]
        elif basis.inputs is not None:
            x = x @ basis.inputs
        weight, bias = self._turned.of(layer, [*self._turned.mean])
        variance, of_bias = self._turned.of(layer, self._variances)
        out = x @ weight.T
        if bias is not None:
            out = out + bias
        if x.shape[1] == 1:
            spread = x.square() @ variance.T + (LEAST if of_bias is None else of_bias)
            out = out + spread.sqrt() * torch.randn_like(spread)
        else:
            out = out + _of_weights(x, variance, of_bias)
        return out if basis.outputs is None else out @ basis.outputs.T


def _of_weights(x: Tensor, variance: Tensor, of_bias: Tensor | None) -> Tensor:
    """The share of sampled weights in the outputs, one network a sample as far as memory allows."""
    deviation = variance.sqrt()
    networks = min(len(x), max(DRAWN // variance.numel(), 1))
    parts = []
    for part in x.tensor_split(networks) if networks < len(x) else [x]:
        shape = (len(part) if networks == len(x) else 1, *variance.shape)
        entries = deviation * torch.randn(shape, device=x.device, dtype=x.dtype)
        noise = part @ entries.transpose(1, 2)
        if of_bias is not None:
            noise = noise + of_bias.sqrt() * torch.randn_like(noise[: len(entries), :1])
        parts.append(noise)
    return torch.cat(parts)


def _parts(posterior: GaussianPosterior, numbers: Tensor) -> list[Tensor]:
    """The weights and biases of the layers, one after the other."""
    parts = []
    for layer in posterior.layers:
        parts.append(layer.weight(numbers))
        bias = layer.bias(numbers)
        if bias is not None:
            parts.append(bias)
    return parts


def _turned(posterior: GaussianPosterior, numbers: Tensor) -> list[Tensor]:
    """The same, in the layers' bases."""
    return [part.clone() for part in _parts(posterior, posterior.returned(numbers))]


class _Spent(Exception):  # noqa: N818
    """The seconds are over."""


class _Watch(Observer):
    """Finds bases anew, and the bound so far: the error over an epoch of the drawn networks."""

    def __init__(
        self,
        turned: _Turned,
        plan: _Plan,
        posterior: GaussianPosterior,
        model: nn.Module,
        data: tuple[Tensor, Tensor],
        seed: int,
    ) -> None:
        self._turned, self._plan, self._posterior = turned, plan, posterior
        self._model, (self._inputs, self._labels), self._seed = model, data, seed
        self.leading = posterior.leading(self._inputs)
        self._wrong, self._seen = 0.0, 0
        self._metrics: dict[int, dict[str, float]] = {}

    def count(self, scores: Tensor, labels: Tensor) -> None:
        """Count the errors of a batch."""
        self._wrong += _rate_of_errors(scores, labels) * len(labels)
        self._seen += len(labels)

    def __call__(self, step: int) -> None:
        """Look at the posterior before an epoch."""
        self._metrics = {step: self._terms()}
        part = max(step / self._plan.steps, self._turned.spent(self._plan.seconds))
        due = self._plan.due(part)
        # At the end no update follows that would fit the variances to other bases.
        if due > self._turned.renewals and part < 1:
            self._renew(due)

    def _terms(self) -> dict[str, float]:
        divergence = self._turned.divergence(self._turned.variances())
        half = float(self._turned.half_log_variance.detach())
        complexity = self._plan.complexity(divergence, self._plan.index(half))
        terms = {
            "divergence": divergence,
            "prior_variance": math.exp(2 * half),
            "complexity": complexity,
        }
        if self._seen and math.isfinite(complexity):
            terms["bound"] = float(cf.kl_inverse(self._wrong / self._seen, complexity))
        self._wrong, self._seen = 0.0, 0
        return terms

    def _renew(self, renewals: int) -> None:
        """Turn the posterior into the bases of networks drawn from it."""
        self._turned.hand_back()
        draws = generator(self._seed, f"renewal {renewals}")
        factors = _drawn_factors(self._posterior, self._model, self._inputs, self._labels, draws)
        kind = self._plan.basis
        bases = {name: basis_of([part[name] for part in factors], kind) for name in factors[0]}
        self._turned.renew(bases, renewals)
        self.leading = self._posterior.leading(self._inputs)

    def metrics(self, step: int) -> dict[str, float]:
        """The terms of the bound."""
        return self._metrics.get(step, {})

    def state(self) -> Arrays:
        """The bases."""
        bases = arrays_of(self._posterior.bases)
        return bases | {"renewals": np.array(self._turned.renewals)}

    def restore(self, state: Arrays) -> None:
        """Go on from there."""
        posterior = self._posterior
        bases = bases_from(state, posterior.names, posterior.mean.device)
        self._turned.use(bases, int(state["renewals"]))
        self.leading = posterior.leading(self._inputs)


def _drawn_factors(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    draws: torch.Generator,
) -> list[Mapping[str, cv.Layerwise]]:
    """The curvature of networks drawn from the posterior, each on samples of its own."""
    chosen = torch.randperm(len(labels), generator=draws)[: DRAWN_NETWORKS * CURVED]
    factors = []
    for part in chosen.to(labels.device).tensor_split(DRAWN_NETWORKS):
        noise = torch.randn(posterior.mean.numel(), generator=draws).to(posterior.mean)
        network = copy.deepcopy(model)
        network.load_state_dict(posterior.model_state(noise), strict=False)
        factors.append(layer_factors(network, inputs[part], labels[part]))
    return factors


def minimise_locally(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    settings: LocalDescent,
    *,
    seed: int,
    log: Log = silent,
    checkpoint: Path | None = None,
) -> bool:
    """Minimise a bound over a posterior's mean and deviations and the prior's λ.

    Each sample of an update meets a network of its own: what comes out of a layer is drawn where
    that is exact, at a single position, else the weights. Updates follow natural gradients.

    Args:
        posterior: changed in place, with its bases; see :func:`start_locally`.
        model: a network of its kind, to find the bases with.
        inputs: ``(n, ...)``.
        labels: ``(n,)``.
        settings: how.
        seed: of the samples' orders and the networks.
        log: as for all training, with the terms of the bound and the bound so far.
        checkpoint: as for all training.

    Returns:
        Whether the training came to its end; else the seconds were over, or it was interrupted
        (Ctrl-C), and the posterior is the one so far.

    Raises:
        DivergedError: the training diverges.
        ValueError: as :func:`~hessian_spectra.training.train_by_minibatches`.

    Source: Kingma, Salimans and Welling (2015) for local reparametrisation; Pérez-Ortiz et al.
    (2021) for the quadratic objective; Thiemann et al. (2017) for that with ``l``.
    """
    plan = _Plan(samples=len(labels), **vars(settings))
    turned = _Turned(posterior)
    turned.ends = time.monotonic() + plan.seconds
    order = Order(len(labels), plan.batch_size, seed)
    watch = _Watch(turned, plan, posterior, model, (inputs, labels), seed)

    def batches(step: int) -> Sequence[Batch]:
        return [(order.samples(step).to(labels.device),)]

    def loss(network: _Turned, chosen: Tensor) -> Tensor:
        if time.monotonic() > network.ends:
            raise _Spent
        variances, leading, y = network.variances(), watch.leading, labels[chosen]
        scores = network(inputs[chosen], None if leading is None else leading[chosen], variances)
        watch.count(scores, y)
        error = functional.cross_entropy(scores, y) / math.log(2)
        half = float(network.half_log_variance.detach())
        complexity = plan.complexity(network.divergence(variances), plan.index(half))
        entropy, rate = network.followed(float(error.detach()), _rate_of_errors(scores, y))
        if plan.objective == "inverse":
            value, weight = plan.measured(rate, complexity)
            network.weight = weight * rate / entropy
        else:
            value, network.weight = plan.measured(float(error.detach()), complexity)
        # Its value, with the gradients of the error alone: the optimizer knows those of the rest.
        return error + (value - error.detach())

    task = Task(
        model=turned, loss=loss, batches=batches, seed=seed, unit="samples",
        units=plan.batch_size, identity=vars(settings),
    )  # fmt: skip
    observed = range(0, plan.steps + 1, plan.updates)
    try:
        losses = train_by_minibatches(
            task, plan, observer=watch, observed=observed, log=log, checkpoint=checkpoint
        )
    except (_Spent, KeyboardInterrupt):
        turned.hand_back()
        return False
    if not math.isfinite(losses[-1]):
        raise DivergedError(settings.learning_rate)
    turned.hand_back()
    return True


def start_locally(
    posterior: GaussianPosterior,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    settings: LocalDescent,
    *,
    seed: int,
    at_prior: bool = False,
) -> None:
    """Set a posterior's bases, deviations and λ where the curvature says.

    Variances start where the objective's derivative by them vanishes, ``s = 1 / (1/λ + 2 R n h /
    ln 2)`` with the curvature ``h`` in their direction and ``R = (2 B_RE)^½``. λ and how much the
    curvature counts are those of which a few samples show the smallest objective.

    Args:
        posterior: changed in place.
        model: the trained network.
        inputs: ``(n, ...)``.
        labels: ``(n,)``.
        settings: of the training that follows.
        seed: of the samples and networks.
        at_prior: whether the mean is the prior's, from which training goes nowhere where the
            variances are small, but which may be good already; else it is the trained weights'.
    """
    plan = _Plan(samples=len(labels), **vars(settings))
    draws = generator(seed, "samples of the curvature")
    chosen = torch.randperm(len(labels), generator=draws)[:CURVED].to(labels.device)
    inputs, labels = inputs[chosen], labels[chosen]
    factors = layer_factors(model, inputs, labels)
    posterior.bases = {name: basis_of([factors[name]], plan.basis) for name in posterior.names}
    curvature = _curvatures(posterior, factors)
    if at_prior:
        posterior.mean.data.copy_(posterior.prior)

    def value_of(multiple: float, part: float, samples: int) -> float:
        # No larger prior is among those that the bound holds for.
        variance = plan.largest_variance * min(part, 1.0) * math.exp(-1 / plan.grid_precision)
        _fit(posterior, multiple * curvature, variance, plan)
        return _tried(posterior, inputs[:samples], labels[:samples], plan, seed)

    first = [(value_of(*start, TRIED), *start) for start in itertools.product(MULTIPLES, VARIANCES)]
    near = [
        (multiple, part * factor)
        for _, multiple, part in sorted(first)[:BEST]
        for factor in (1 / NEXT, 1.0, NEXT)
    ]
    *_, multiple, part = min((value_of(*start, AGAIN), *start) for start in near)
    value_of(multiple, part, 1)


def _curvatures(posterior: GaussianPosterior, factors: Mapping[str, cv.Layerwise]) -> Tensor:
    """The curvature ``h (P,)`` of the loss in the direction of each number, none negative."""
    result = torch.empty_like(posterior.mean.detach())
    for layer in posterior.layers:
        weight, bias = curvature_in(posterior.bases[layer.name], factors[layer.name])
        layer.weight(result).copy_(weight.clamp_min(0.0))
        own = layer.bias(result)
        if own is not None:
            own.copy_(bias.clamp_min(0.0))
    return result


def _fit(posterior: GaussianPosterior, curvature: Tensor, variance: float, plan: _Plan) -> None:
    """Set the deviations where the objective's derivative by them vanishes, for a prior's λ."""
    half, root = math.log(variance) / 2, 1.0
    posterior.half_log_variance.data.fill_(half)
    for _ in range(ROUNDS):
        inverse = 1 / variance + 2 * root * plan.samples * curvature / math.log(2)
        posterior.log_deviation.data = -inverse.log() / 2
        root = math.sqrt(2 * plan.complexity(_divergence(posterior, variance), plan.index(half)))


def _divergence(posterior: GaussianPosterior, variance: float) -> float:
    moments = posterior.moments()
    sums = moments.squared_distance, moments.variance_sum, moments.log_variance_sum
    return float(cf.gaussian_kl(*sums, moments.parameters, variance))


def _total(values: Tensor) -> float:
    """The sum in float64: of many numbers a divergence near 0 would come out below it."""
    return float(values.sum(dtype=torch.float64))


def _rate_of_errors(scores: Tensor, labels: Tensor) -> float:
    return float((scores.detach().argmax(dim=1) != labels).double().mean())


@torch.no_grad()
def _tried(
    posterior: GaussianPosterior, inputs: Tensor, labels: Tensor, plan: _Plan, seed: int
) -> float:
    """The objective on a few samples, the same for all starts."""
    draws = OwnNetworks(posterior, generator(seed, "networks of a start"))
    scores = posterior(inputs, draws)
    if plan.objective == "inverse":
        # Of few samples, none of them wrong, one error more is no surprise.
        error = _rate_of_errors(scores, labels) + 1 / len(labels)
    else:
        error = float(functional.cross_entropy(scores, labels)) / math.log(2)
    half = float(posterior.half_log_variance.detach())
    complexity = plan.complexity(_divergence(posterior, math.exp(2 * half)), plan.index(half))
    if not math.isfinite(error + complexity):
        return math.inf
    value, _ = plan.measured(error, complexity)
    return value if math.isfinite(value) else math.inf
