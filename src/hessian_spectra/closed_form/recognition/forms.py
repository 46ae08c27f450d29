"""The forms that theorems take of a network: weights, their places among the parameters, data.

The *places* of a weight say where its entries stand in the vector ``(p,)`` of the model's own
parameters. Outputs of the model are ``output_scale`` times those of the form, and the targets of
the form are divided by it, so that the model's loss is ``output_scale²`` times the form's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hessian_spectra.closed_form._losses import KnownDerivatives


@dataclass(frozen=True)
class Layer:
    """One linear layer.

    Args:
        label: what messages call it.
        weight: ``(d_l, d_{l-1})``.
        weight_places: their places, of the same shape.
        bias: ``(d_l,)``, if there is one.
        bias_places: their places.
    """

    label: str
    weight: Float[Tensor, "after before"]
    weight_places: Int[Tensor, "after before"]
    bias: Float[Tensor, " after"] | None = None
    bias_places: Int[Tensor, " after"] | None = None


@dataclass(frozen=True)
class LayeredNetwork:
    """Linear layers, one after the other, with ReLUs between some of them.

    Args:
        layers: the linear layers.
        activations: for each layer what messages call the ReLU behind it, or ``None``.
        x: ``(n, d_0)`` inputs.
        y: ``(n, d_L)`` targets.
        output_scale: see above.
        loss: what stands for half the squared error, if anything.
    """

    layers: Sequence[Layer]
    activations: Sequence[str | None]
    x: Float[Tensor, "n inputs"]
    y: Float[Tensor, "n outputs"]
    output_scale: float = 1.0
    loss: KnownDerivatives | None = None

    @property
    def samples(self) -> int:
        """The divisor ``n`` in the loss ``1/(2n) Σ`` of the closed forms."""
        return len(self.x)

    def with_constant_input(self) -> "LayeredNetwork":
        """The same network with the first layer's bias as the weights of an input that is 1."""
        first = self.layers[0]
        if first.bias is None or first.bias_places is None:
            return self
        layer = Layer(
            first.label,
            torch.cat([first.weight, first.bias[:, None]], dim=1),
            torch.cat([first.weight_places, first.bias_places[:, None]], dim=1),
        )
        x = torch.cat([self.x, torch.ones_like(self.x[:, :1])], dim=1)
        return replace(self, layers=[layer, *self.layers[1:]], x=x)


@dataclass(frozen=True)
class WholeNetwork:
    """A network of this library, all of which a single theorem is about.

    Args:
        kind: what messages call it.
        arguments: the closed form's, by name; weights in its shapes, inputs and targets.
        places: of the closed form's parameters.
        samples: half the divisor of the closed form's loss: samples, or all tokens.
        output_scale: see above.
        loss: what stands for half the squared error, if anything.
    """

    kind: str
    arguments: Mapping[str, Tensor]
    places: Int[Tensor, " p"]
    samples: int
    output_scale: float = 1.0
    loss: KnownDerivatives | None = None


Form = LayeredNetwork | WholeNetwork
