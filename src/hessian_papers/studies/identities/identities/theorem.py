"""What one theorem brings to the study of the identities, and how both sides become arrays."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hessian_papers.studies.identities.identities.instances import Draw, Instance
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import HalfSquaredError

Quantities = dict[str, Tensor]


@dataclass(frozen=True)
class Setting:
    """A network with its loss and its data, as brute force sees an instance.

    Args:
        model: the network.
        loss: the loss.
        inputs: one batch of inputs.
        targets: its targets.
        smooth: whether the loss has a Hessian there. Where it has none, at a kink, automatic
            differentiation takes one side, and finite differences would not agree with it.
    """

    model: nn.Module
    loss: nn.Module
    inputs: Tensor
    targets: Tensor
    smooth: bool = True

    def problem(self) -> cv.Problem:
        """The same as a curvature problem."""
        return cv.Problem(self.model, self.loss, [(self.inputs, self.targets)])

    def value_and_gradients(self) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The loss, and its derivatives with respect to each parameter."""
        loss = self.loss(self.model(self.inputs), self.targets)
        return loss, torch.autograd.grad(loss, list(self.model.parameters()))


def nothing_more(instance: Instance, of: Setting) -> Quantities:
    """For theorems that need no more than the Hessian."""
    return {}


def outputs(instance: Instance, of: Setting) -> Quantities:
    """What the network computes."""
    return {"outputs": of.model(of.inputs)}


@dataclass(frozen=True)
class Theorem:
    """One theorem with its instances.

    Args:
        draw: makes the instances.
        stated: what the library and the papers' formulas say about an instance.
        model: the network of an instance, for brute force.
        measured: what brute force has to measure besides loss, gradient and Hessian.
        per: what the squared errors are averaged over, see :class:`HalfSquaredError`.
        smooth: whether the loss of an instance has a Hessian.
    """

    draw: Callable[[Draw], list[Instance]]
    stated: Callable[[Instance], Quantities]
    model: Callable[[Instance], nn.Module]
    measured: Callable[[Instance, Setting], Quantities] = nothing_more
    per: str = "sample"
    smooth: Callable[[Instance], bool] = lambda instance: True

    def setting(self, instance: Instance) -> Setting:
        """An instance for brute force."""
        x, y, loss = instance["x"], instance["y"], HalfSquaredError(self.per)
        return Setting(self.model(instance), loss, x, y, self.smooth(instance))


def ragged(name: str, found: Iterable[Quantities]) -> Arrays:
    """The quantities of all instances of a theorem as arrays.

    Instances differ in size, so each quantity becomes two arrays: ``<name>.<quantity>``, all
    numbers one instance after the other, and ``<name>.<quantity>.counts``, how many each instance
    has.

    Example:
        >>> one, two = {"trace": torch.ones(1)}, {"trace": torch.zeros(2, 1)}
        >>> arrays = ragged("linear", [one, two])
        >>> arrays["linear.trace"].tolist(), arrays["linear.trace.counts"].tolist()
        ([1.0, 0.0, 0.0], [1, 2])
    """
    found = list(found)
    arrays = {}
    for quantity in found[0]:
        flat = [entry[quantity].detach().reshape(-1) for entry in found]
        arrays[f"{name}.{quantity}"] = torch.cat(flat).numpy()
        arrays[f"{name}.{quantity}.counts"] = torch.tensor([len(part) for part in flat]).numpy()
    return arrays
