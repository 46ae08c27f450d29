"""Two consecutive linear layers inside a network, under the squared error and cross-entropy."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form.bulk import bulk
from hessian_spectra.closed_form.instances.drawing import Draw, numbers, orthonormal, whitened
from hessian_spectra.closed_form.instances.instance import Instance
from hessian_spectra.models import HalfSquaredError


class Between(nn.Module):
    """``W_2 W_1`` behind a layer with tanh and before another one, each of which may be absent."""

    def __init__(
        self, before: Tensor | None, first: Tensor, last: Tensor, after: Tensor | None
    ) -> None:
        super().__init__()
        self.before = None if before is None else nn.Parameter(before.clone())
        self.first, self.last = nn.Parameter(first.clone()), nn.Parameter(last.clone())
        self.after = None if after is None else nn.Parameter(after.clone())

    def forward(self, x: Tensor, product: Tensor | None = None) -> Tensor:
        """Outputs ``(n, c)``, also with another matrix in the place of the product."""
        if self.before is not None:
            x = torch.tanh(x @ self.before.mT)
        x = x @ (self.last @ self.first if product is None else product).mT
        return x if self.after is None else torch.tanh(x) @ self.after.mT


@dataclass(eq=False, kw_only=True)
class Consecutive(Instance):
    """Layers ``first (m, D)`` and ``last (K, m)``, with what stands before and behind them.

    Every third instance has a cross-entropy, to whose logits there is a further layer or none.
    Without other layers, and with whitened inputs, any gradient in the product can be had by the
    targets.
    """

    stream = "consecutive"
    closed_form = staticmethod(bulk)

    first: Tensor
    last: Tensor
    before: Tensor | None = None
    after: Tensor | None = None
    criterion: nn.Module = field(default_factory=HalfSquaredError)

    @classmethod
    def bare(cls, draw: Draw, gradient: Tensor, width: int) -> Self:
        """No other layers, and targets with which the gradient in the product is this one."""
        outputs, inputs = gradient.shape
        x = whitened(draw.normal(inputs + 2, inputs))
        first, last = draw.normal(width, inputs), draw.normal(outputs, width)
        return cls(x=x, y=x @ (last @ first - gradient).mT, first=first, last=last)

    @classmethod
    def of_sizes(cls, draw: Draw, inputs: int, width: int, outputs: int, number: int = 0) -> Self:
        """A network of some kind by its number."""
        first, last = draw.normal(width, inputs), draw.normal(outputs, width)
        before = draw.normal(inputs, 2) if number % 4 else None
        after = draw.normal(3, outputs) if number % 2 else None
        points = 2 * max(inputs, 3)
        x, y = draw.normal(points, 2 if number % 4 else inputs), draw.normal(points, 3)
        y = y if number % 2 else y[:, :1] * draw.normal(outputs)
        net = cls(x=x, y=y, first=first, last=last, before=before, after=after)
        if number % 3 or net.y.shape[1] == 1:
            return net
        return replace(net, y=net.y.argmax(dim=1), criterion=nn.CrossEntropyLoss())

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Narrow and wide layers, of lower ranks and 0; equal and vanishing singular values."""
        sized = partial(cls.of_sizes, draw)
        low, zero, late, both = sized(3, 5, 2, 5), sized(3, 5, 2, 5), sized(2, 5, 3), sized(2, 3, 2)
        left, right = orthonormal(draw.normal(3, 3)), orthonormal(draw.normal(3, 3))
        chosen = {
            "equal singular values": (1.0, 1.0, 0.5),
            "all singular values equal": (2.0, 2.0, 2.0),
            "a singular value of 0": (1.0, 0.5, 0.0),
            "zero residual": (0.0, 0.0, 0.0),
        }
        return {
            "all sizes 1": sized(1, 1, 1),
            "one input and output": sized(1, 4, 1),
            "m = D + K - 1": sized(2, 3, 2, 1),
            "m = D + K": sized(2, 4, 2, 1),
            "K > D": sized(2, 6, 3, 7),
            "a bottleneck": sized(3, 2, 3, 1),
            "logits": sized(2, 6, 3, 6),
            "a first layer of rank 1": replace(low, first=low.first[:, :1] @ low.first[:1]),
            "W_2 = 0": replace(zero, last=0 * zero.last),
            "W_1 = 0": replace(late, first=0 * late.first),
            "both are 0": replace(both, first=0 * both.first, last=0 * both.last),
            **{
                name: cls.bare(draw, left * numbers(*values) @ right.mT, 7)
                for name, values in chosen.items()
            },
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to three inputs and outputs, at any width."""
        inputs, outputs = draw.integer(1, 3), draw.integer(1, 3)
        return cls.of_sizes(draw, inputs, draw.integer(1, draw.width + 4), outputs, number)

    def model(self) -> nn.Module:
        """The network."""
        return Between(self.before, self.first, self.last, self.after)

    @cached_property
    def gradient_in_product(self) -> Tensor:
        """``G`` ``(K, D)``, by automatic differentiation."""
        product = (self.last @ self.first).requires_grad_()
        loss = self.criterion(self.model()(self.x, product), self.y)
        return torch.autograd.grad(loss, product)[0]

    @property
    def arguments(self) -> dict[str, Any]:
        """The closed form's arguments by name."""
        layers = self.first, self.last
        return {
            "gradient": self.gradient_in_product,
            "width": len(self.first),
            "layers": layers,
        }

    @property
    def places(self) -> slice:
        """Where the parameters of both layers stand among all."""
        start = 0 if self.before is None else self.before.numel()
        return slice(start, start + self.first.numel() + self.last.numel())
