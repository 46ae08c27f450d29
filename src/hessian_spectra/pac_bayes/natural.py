"""Descent along natural gradients of a posterior in its layers' bases, with local draws."""

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.pac_bayes.bases import STANDARD, turned_precision
from hessian_spectra.pac_bayes.draws import DRAWN
from hessian_spectra.pac_bayes.layers import Layer
from hessian_spectra.pac_bayes.objectives import OBJECTIVES
from hessian_spectra.pac_bayes.posterior import Basis, GaussianPosterior
from hessian_spectra.pac_bayes.settings import LocalDescent, PriorFamily, divergence_of
from hessian_spectra.training import Passes

# The bases are found anew in this part of the training; in the rest the numbers settle in the last.
RENEWED = 0.7
# How long steps are remembered, and the largest step of a logarithm of a deviation.
MOMENTUM, LONGEST = 0.9, 2.0
# How much of the mean error of the updates so far is kept.
FORGOTTEN = 0.98
# A spread of zero has no derivative.
LEAST = 1e-20


@dataclass(frozen=True, kw_only=True)
class LocalPlan(LocalDescent, Passes, PriorFamily):
    """The steps and rates with which a posterior is found from so many samples."""

    def rate(self, step: int) -> float:
        """The learning rate of an update, by the epochs that have passed."""
        return self.after(step / self.steps)

    def after(self, part: float) -> float:
        """The learning rate after a part of the training."""
        return self.learning_rate * (1 + math.cos(math.pi * min(part, 1.0))) / 2

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """The descent along natural gradients."""
        assert isinstance(model, Turned)
        return Natural(model, self)

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


class Turned(nn.Module):
    """A posterior's numbers in the bases of its layers."""

    def __init__(self, posterior: GaussianPosterior) -> None:
        super().__init__()
        self._posterior = [posterior]
        self.prior = _turned(posterior, posterior.prior)
        self.mean = nn.ParameterList(_turned(posterior, posterior.mean.detach()))
        deviation = posterior.log_deviation.detach()
        self.log_deviation = nn.ParameterList(part.clone() for part in posterior.parts(deviation))
        # How often the bases were found anew, and whether no update was made since.
        self.renewals, self.is_renewed = 0, False
        self.half_log_variance = nn.Parameter(posterior.half_log_variance.detach().clone())
        self.course: Tensor
        self.register_buffer("course", torch.zeros(3, dtype=torch.float64))
        # How much the error counts beside the divergence, as the objective has it; and when the
        # seconds are over, which no other process that goes on knows.
        self.weight, self.ends = 0.0, math.inf
        # The places of a layer's weight and bias in these lists.
        ends = [*itertools.accumulate(1 + layer.has_bias for layer in posterior.layers)]
        places = zip(posterior.names, [0, *ends], ends, strict=False)
        self._places = {name: slice(first, last) for name, first, last in places}

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
    def divergence(self, variances: Sequence[Tensor]) -> float:
        """``KL(Q ‖ P)`` (closed_form.gaussian_kl)."""
        number, half = self._posterior[0].mean.numel(), float(self.half_log_variance.detach())
        parts = zip(variances, self.mean, self.prior, strict=True)
        squares = sum(_total(s) + _total((m - p).square_()) for s, m, p in parts)
        logarithms = 2 * sum(_total(part) for part in self.log_deviation)
        return divergence_of(squares, logarithms, number, half)

    def of(self, layer: Layer, values: Sequence[Tensor]) -> Sequence[Tensor]:
        """A layer's weight, and its bias if there is one, among the parts of all."""
        return values[self._places[layer.name]]

    def forward(
        self, inputs: Tensor, leading: Tensor | None, variances: Sequence[Tensor]
    ) -> Tensor:
        """The scores ``(n, c)``, of each sample by a network of its own."""
        (posterior,) = self._posterior
        return posterior(inputs, _Local(self, leading, variances))

    @torch.no_grad()
    def renew(self, bases: Mapping[str, Basis], renewals: int) -> None:
        """Turn what the posterior was given back into other bases.

        A variance becomes the inverse of the precision.
        """
        (posterior,) = self._posterior
        before, precision = posterior.bases, (-2 * posterior.log_deviation.detach()).exp()
        for layer in posterior.layers:
            for part in layer.parts(precision):
                part.copy_(turned_precision(before[layer.name], bases[layer.name], part))
        self.use(bases, renewals)
        self.is_renewed = True
        deviation, mean = posterior.parts(-precision.log() / 2), posterior.mean.detach()
        parts = [*_turned(posterior, mean), *deviation]
        for parameter, part in zip([*self.mean, *self.log_deviation], parts, strict=True):
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


class Natural(torch.optim.Optimizer):
    """Natural gradients of a Gaussian, with momentum, and those of the prior's λ.

    Those of the mean are multiplied by its variance, ``−s (C ∇e + (w − w₀)/λ)``, and those of
    ``½ ln s`` halved, ``−(C ∂e + s/λ − 1)/2``: in a parabola all directions come as near in as many
    steps, stiff ones and flat ones. ``C`` is how much the error counts beside the divergence.
    """

    def __init__(self, turned: Turned, plan: LocalPlan) -> None:
        super().__init__(turned.parameters(), {"lr": plan.learning_rate})
        self._turned, self._plan = turned, plan

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Follow the gradients."""
        if self._turned.is_renewed:
            # Steps in the bases before say nothing of these.
            self.state.clear()
            self._turned.is_renewed = False
        by_seconds = self._plan.after(self._turned.spent(self._plan.seconds))
        turned, rate = self._turned, min(self.param_groups[0]["lr"], by_seconds)
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

    def _remembered(self, parameter: Tensor, pull: Tensor) -> Tensor:
        state = self.state[parameter]
        if "pull" not in state:
            state["pull"] = torch.zeros_like(parameter)
        momentum: Tensor = state["pull"].mul_(MOMENTUM).add_(pull, alpha=1 - MOMENTUM)
        return momentum


class _Local:
    """A perturbation of its own for each sample, whose gradients autograd follows."""

    def __init__(self, turned: Turned, leading: Tensor | None, variances: Sequence[Tensor]) -> None:
        self._turned, self._leading, self._variances = turned, leading, variances

    def __call__(self, posterior: GaussianPosterior, layer: Layer, x: Tensor) -> Tensor:
        """The outputs of a layer."""
        basis = posterior.bases[layer.name]
        if self._leading is not None and layer is posterior.layers[0]:
            x = self._leading[:, None]
        elif basis.inputs is not None:
            x = x @ basis.inputs
        weight, *bias = self._turned.of(layer, [*self._turned.mean])
        variance, *of_bias = self._turned.of(layer, self._variances)
        out = x @ weight.T
        for part in bias:
            out = out + part
        if x.shape[1] == 1:
            spread = x.square() @ variance.T + (of_bias[0] if of_bias else LEAST)
            out = out + spread.sqrt() * torch.randn_like(spread)
        else:
            out = out + _of_weights(x, variance, of_bias)
        return out if basis.outputs is None else out @ basis.outputs.T


def _of_weights(x: Tensor, variance: Tensor, of_bias: Sequence[Tensor]) -> Tensor:
    """The share of sampled weights in the outputs, one network a sample as far as memory allows."""
    deviation = variance.sqrt()
    networks = min(len(x), max(DRAWN // variance.numel(), 1))
    parts = []
    for part in x.tensor_split(networks) if networks < len(x) else [x]:
        shape = (len(part) if networks == len(x) else 1, *variance.shape)
        entries = deviation * torch.randn(shape, device=x.device, dtype=x.dtype)
        noise = part @ entries.transpose(1, 2)
        for bias in of_bias:
            noise = noise + bias.sqrt() * torch.randn_like(noise[: len(entries), :1])
        parts.append(noise)
    return torch.cat(parts)


def _turned(posterior: GaussianPosterior, numbers: Tensor) -> list[Tensor]:
    """The weights and biases of the layers, one after the other, in the layers' bases."""
    return [part.clone() for part in posterior.parts(posterior.returned(numbers))]


def _total(values: Tensor) -> float:
    """The sum in float64: of many numbers a divergence near 0 would come out below it."""
    return float(values.sum(dtype=torch.float64))
