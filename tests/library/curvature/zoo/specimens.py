"""A network of the suite: the function that makes it, its inputs, and what is said of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..cases import built, normal

VECTORS = normal(7, 3)


def itself(outputs: Any) -> Any:
    return outputs


@dataclass(frozen=True)
class Specimen:
    """A network in float64 and its inputs ``(n, ...)``.

    Args:
        name: of the test.
        make: the network, with random weights.
        inputs: of all samples.
        pick: the tensor ``(n, C)`` or ``(n, C, length)`` of what the network returns.
        mixed: what is said where the data are several batches; empty if these have a common loss.
        refused: what is said whatever the data are; empty if it has a second derivative.
    """

    name: str
    make: Callable[[], nn.Module]
    inputs: Tensor = VECTORS
    pick: Callable[[Any], Tensor] = itself
    mixed: str = ""
    refused: str = ""

    def model(self) -> nn.Module:
        return built(self.make)


class Lambda(nn.Module):
    """A module around others, with a forward pass of one's own."""

    def __init__(self, forward: Callable[..., Any], **modules: Any) -> None:
        super().__init__()
        self.function = forward
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x: Tensor) -> Any:
        return self.function(self, x)


def free(*shape: int) -> nn.Parameter:
    """A parameter of no layer."""
    return nn.Parameter(torch.randn(*shape))


def listed(*specimens: Sequence[Any], inputs: Tensor = VECTORS, **settings: Any) -> list[Specimen]:
    """Specimens of names and makers, with the same inputs and what is said of them."""
    return [Specimen(name, make, inputs, **settings) for name, make in specimens]
