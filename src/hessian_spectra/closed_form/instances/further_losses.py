"""Several inputs and outputs, bias, attention and deep networks under losses of other kinds."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form.instances.attention import Attention
from hessian_spectra.closed_form.instances.deep import AnyLayers
from hessian_spectra.closed_form.instances.drawing import Draw
from hessian_spectra.closed_form.instances.instance import Instance
from hessian_spectra.closed_form.instances.several import CorrelatedInput, MultiOutput, Orthogonal
from hessian_spectra.closed_form.instances.two_layer import Linear, Sextic

# Of one output each, and of all outputs of a sample.
OF_ONE_OUTPUT: dict[str, nn.Module] = {
    "logistic": nn.BCEWithLogitsLoss(),
    # Where Huber's loss has kinks, which rounded numbers do not meet.
    "Huber": nn.HuberLoss(delta=0.7),
    # With targets that are no labels it is not convex.
    "weighted": nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0, dtype=torch.float64)),
}
OF_ALL_OUTPUTS: dict[str, nn.Module] = {"softmax": nn.CrossEntropyLoss()}


def small(outputs: Tensor) -> Tensor:
    """The factor by which outputs that are linear in the inputs become no larger than 3."""
    return (3 / outputs.abs().max().clamp(min=1)).clamp(max=1)


@dataclass(eq=False, kw_only=True)
class UnderLoss(Instance):
    """A network under one of the losses of this module, of which the instances have one by one."""

    name: str = "logistic"

    @property
    def objective(self) -> nn.Module:
        """The loss of the name."""
        return (OF_ONE_OUTPUT | OF_ALL_OUTPUTS)[self.name]

    @property
    def options(self) -> dict[str, Any]:
        """The loss, which the closed form takes."""
        return {"loss": self.objective}

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """All instances of the family without a loss, half as many random ones."""
        nets = super().taken(replace(draw, instances=-(-draw.instances // 2)))
        return {name: net.under(number) for number, (name, net) in enumerate(nets.items())}

    def under(self, number: int) -> Self:
        """The network under one loss after the other."""
        return replace(self, name=[*OF_ONE_OUTPUT][number % len(OF_ONE_OUTPUT)])


@dataclass(eq=False, kw_only=True)
class UnderSoftmax(UnderLoss):
    """A network whose outputs are logits, the targets probabilities of classes."""

    def under(self, number: int) -> Self:
        """The network with a softmax of its targets, and inputs at which its own is not sure."""
        x = self.x * small(self.model()(self.x).detach())
        return replace(self, name="softmax", x=x, y=torch.softmax(self.y, dim=1))


@dataclass(eq=False, kw_only=True)
class InputsLoss(UnderLoss, CorrelatedInput):
    """Several inputs (singh2026cracking, Corollary B.1, beyond its loss)."""

    stream = "inputs_loss"


@dataclass(eq=False, kw_only=True)
class OutputsLoss(UnderSoftmax, MultiOutput):
    """Heads that a softmax couples (singh2026cracking, Corollary B.2, beyond its loss)."""

    stream = "outputs_loss"


@dataclass(eq=False, kw_only=True)
class BiasLoss(UnderLoss, Sextic):
    """Networks with bias (singh2026cracking, Theorem B.1, beyond its loss)."""

    stream = "bias_loss"


@dataclass(eq=False, kw_only=True)
class OrthogonalLoss(UnderLoss, Orthogonal):
    """An orthogonal first layer (singh2026cracking, section 4.1, beyond its loss)."""

    stream = "orthogonal_loss"


@dataclass(eq=False, kw_only=True)
class AttentionLoss(UnderLoss, Attention):
    """Self-attention (singh2026cracking, Theorem 3.5, beyond its loss)."""

    stream = "attention_loss"


@dataclass(eq=False, kw_only=True)
class DeepLoss(UnderSoftmax, AnyLayers):
    """Deep linear networks (anon2026data, eq. 5, beyond its loss)."""

    stream = "deep_loss"


@dataclass(eq=False, kw_only=True)
class Margins(UnderLoss, Linear):
    """Two-layer linear networks on labels of 0 and 1 under the logistic loss."""

    stream = "margins"

    def under(self, number: int) -> Self:
        """The network with labels for targets, which the inputs' signs tell but for small targets.

        Every other one has the labels turned. Outputs are so small that no loss is saturated.
        """
        turned = self.y.abs() > self.y.abs().mean() / 2
        x = self.x * small(self.model()(self.x).detach())
        labels = ((self.x > 0) == turned) == (number % 2 == 0)
        return replace(self, x=x, y=labels.double())
