"""Each network with losses and sources of data, and its derivatives by torch alone."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian_spectra import curvature as cv

from ..oracles import flat, trainable
from . import programs, sequences, vectors, vision
from .losses import LOSSES, PROGRAMS, WEIGHTED, Loss
from .sources import SOURCES, Source, sources
from .specimens import Specimen, itself

ZOO = [*vectors.NETWORKS, *vision.NETWORKS, *sequences.NETWORKS, *programs.NETWORKS]
# Where the loss needs a third derivative that torch does not have, or has wrong.
WRONG = "differs from differences of the gradient .* second derivative that is wrong or missing"
THIRD = {
    "weight norm": WRONG,
    "weight norm of old": WRONG,
    "weight norm of a convolution": WRONG,
    "instance norm": "an operation that cannot be differentiated twice",
}
specimens = {specimen.name: specimen for specimen in ZOO}


@dataclass(frozen=True)
class Trial:
    """A network, a loss and a source of data."""

    specimen: Specimen
    loss: Loss
    source: Source = SOURCES[0]

    def __str__(self) -> str:
        return f"{self.specimen.name}-{self.loss.name}-{self.source.name}"

    @property
    def refused(self) -> str:
        """The message of a refusal, empty where the Hessian is right."""
        own = self.specimen.refused or ("" if self.source.single else self.specimen.mixed)
        return own or (THIRD.get(self.specimen.name, "") if self.loss.program else "")

    def targets(self) -> Tensor:
        # Some networks take derivatives themselves.
        outputs = self.specimen.pick(self.specimen.model()(self.specimen.inputs))
        return self.loss.targets(outputs.detach())

    def data(self) -> Any:
        return self.source.data(self.specimen.inputs, self.targets())

    def problem(self, model: nn.Module, data: Any) -> cv.Problem:
        """The problem as a user writes it."""
        pick, loss = self.specimen.pick, self.loss.value
        if self.loss.program:
            return cv.Problem(model, loss_fn=loss, data=data, weights=lambda batch: len(batch[0]))
        if pick is itself and not self.source.named:
            return cv.Problem(model, loss, data)

        def with_outputs(at: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
            inputs, targets = (batch["x"], batch["labels"]) if self.source.named else batch
            outputs = pick(at(inputs))
            return loss(outputs, targets), outputs

        return cv.Problem(model, loss_fn=with_outputs, data=data)

    def value(self, model: nn.Module) -> Tensor:
        """The loss over all data."""
        with sdpa_kernel(SDPBackend.MATH):
            if not self.loss.program:
                outputs = self.specimen.pick(model(self.specimen.inputs))
                return self.loss.value(outputs, self.targets())
            batches = list(self.data())
            losses = [len(batch[0]) * self.loss.value(model, batch) for batch in batches]
            return torch.stack(losses).sum() / len(self.specimen.inputs)


# Cut off from the inputs, whose own derivatives they take; or of a form that functional_call does
# not give back; or without a third derivative.
CUT_OFF = {
    *("derivatives of tanh", "derivatives of sigmoid units", "module used twice", "compiled layer"),
    *THIRD,
}


def takes_programs(specimen: Specimen) -> bool:
    """Whether a loss may differentiate the network itself, in inputs and parameters."""
    return (
        specimen.inputs.is_floating_point() and specimen.pick is itself and not specimen.refused
        and not specimen.mixed and specimen.name not in CUT_OFF
    )  # fmt: skip


def chosen(number: int, specimen: Specimen) -> list[Trial]:
    """Three losses and sources for each network, so that all of them occur, and a program."""
    taken = [
        Trial(specimen, LOSSES[(4 * number + 2 * shift + shift // 2) % len(LOSSES)],
              SOURCES[(number + shift) % len(SOURCES)])
        for shift in range(3)
    ]  # fmt: skip
    if specimen.mixed:
        taken.append(Trial(specimen, LOSSES[number % len(LOSSES)]))
    if takes_programs(specimen):
        source = sources[("one batch", "two")[number // 4 % 2]]
        taken.append(Trial(specimen, PROGRAMS[number % len(PROGRAMS)], source))
    return list({str(trial): trial for trial in taken}.values())


TRIALS = [trial for number, specimen in enumerate(ZOO) for trial in chosen(number, specimen)]
TRIALS += [Trial(specimens[name], PROGRAMS[1]) for name in THIRD]
# How classes with weights add up is told by the loss alone.
TRIALS += [Trial(specimens["tanh"], WEIGHTED, source) for source in SOURCES if not source.named]


class ElementaryNorm(nn.LayerNorm):
    """Without torch's layer norm, whose third derivative is wrong."""

    def forward(self, x: Tensor) -> Tensor:
        if not len(x):
            return super().forward(x)
        deviation = x - x.mean(-1, keepdim=True)
        scale = (x.var(-1, correction=0, keepdim=True) + self.eps).rsqrt()
        normal = deviation * scale
        return normal if self.weight is None else normal * self.weight + self.bias


class ElementaryWeight(nn.Module):
    """Without torch's weight norm, whose second derivative is another."""

    def forward(self, length: Tensor, direction: Tensor) -> Tensor:
        axes = tuple(range(1, direction.ndim))
        return direction * length / direction.square().sum(axes, keepdim=True).sqrt()


def _set_weight(form: nn.Module, module: nn.Module, inputs: Any) -> None:
    module.weight = form(module.weight_g, module.weight_v)


def written_out(model: nn.Module) -> nn.Module:
    """The same network in operations whose derivatives torch has right and whole.

    Torch's weight norm, and the third derivative of its layer norm, are others; a checkpoint is
    computed anew with other parameters, where a loss moves them.
    """
    for module in model.modules():
        if type(module) is nn.LayerNorm:
            module.__class__ = ElementaryNorm
        if isinstance(module, programs.Checkpointed):
            module.kept = True
        for parametrization in getattr(module, "parametrizations", {}).values():
            if type(parametrization[0]).__name__ == "_WeightNorm":
                parametrization[0] = ElementaryWeight()
        for key, hook in module._forward_pre_hooks.items():
            if type(hook).__name__ == "WeightNorm":
                module._forward_pre_hooks[key] = partial(_set_weight, ElementaryWeight())
    return getattr(model, "_orig_mod", model)


def slopes(value: Tensor, parts: list[Tensor], *, graph: bool = False) -> Tensor:
    """The gradient as one vector, whose graph stays."""
    if not value.requires_grad:
        return torch.zeros(sum(part.numel() for part in parts), dtype=value.dtype)
    return flat(
        torch.autograd.grad(
            value, parts, create_graph=graph, retain_graph=True, materialize_grads=True
        )
    )


def hessian(trial: Trial, vectors: Tensor) -> Tensor:
    """``H v`` of columns ``(p, k)`` in reverse over reverse, by torch alone."""
    model = written_out(trial.specimen.model())
    gradient = slopes(trial.value(model), trainable(model), graph=True)
    products = [slopes(gradient @ vector, trainable(model)) for vector in vectors.T]
    return torch.stack(products, dim=1)


def gauss_newton(trial: Trial, vectors: Tensor) -> Tensor:
    """``Jᵀ (∇²ℓ) J v`` of the loss over all data, ``J`` row by row; ``vectors`` are ``(p, k)``."""
    model = written_out(trial.specimen.model())
    with sdpa_kernel(SDPBackend.MATH):
        outputs = trial.specimen.pick(model(trial.specimen.inputs))
    jacobian = torch.stack([slopes(entry, trainable(model)) for entry in outputs.flatten()])
    at = outputs.detach().requires_grad_()
    gradient = slopes(trial.loss.value(at, trial.targets()), [at], graph=True)
    curvature = torch.stack([slopes(entry, [at]) for entry in gradient])
    return jacobian.T @ (curvature @ (jacobian @ vectors))
