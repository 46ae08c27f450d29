"""What one theorem brings to the study of the identities, and how both sides become arrays."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hessian_spectra import curvature as cv
from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.config import Config
from hessian_spectra.studies.identities.identities.instances import Instance

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


def nothing_more(instance: Instance) -> Quantities:
    """For theorems that need no more than the Hessian."""
    return {}


@dataclass(frozen=True)
class Family:
    """One theorem with its instances.

    Args:
        draw: makes the instances.
        exact: what the library and the papers' formulas say about an instance.
        setting: the same instance for brute force.
        further: what brute force has to measure besides loss, gradient and Hessian.
    """

    draw: Callable[[Config, Arrays], list[Instance]]
    exact: Callable[[Instance], Quantities]
    setting: Callable[[Instance], Setting]
    further: Callable[[Instance], Quantities] = nothing_more


def ragged(name: str, found: Iterable[Quantities]) -> Arrays:
    """The quantities of all instances of a theorem as arrays.

    Instances differ in size, so each quantity becomes two arrays: ``<name>.<quantity>``, all
    numbers one instance after the other, and ``<name>.<quantity>.counts``, how many each instance
    has. ``hessian_spectra.studies.identities.identities.checks.ragged`` reads them.

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
