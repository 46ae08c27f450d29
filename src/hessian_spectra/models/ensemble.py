"""Many fully connected networks of one shape, their weights stacked."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from hessian_spectra.validation import one_of, require

Activation = Literal["linear", "relu", "tanh"]
# The activations for which ensembles are trained in mini-batches, and their curvature is computed.
PiecewiseLinear = Literal["linear", "relu"]

_FUNCTIONS = {"relu": torch.relu, "tanh": torch.tanh}


def require_piecewise_linear(activation: str) -> None:
    """Refuse an activation whose second derivative is not zero.

    Raises:
        ValueError: it is neither ``linear`` nor ``relu``.

    Example:
        >>> require_piecewise_linear("tanh")
        Traceback (most recent call last):
        ValueError: activation: expected linear or relu, got 'tanh'
    """
    known = get_args(PiecewiseLinear)
    require(activation in known, "activation", " or ".join(known), activation)


class Perceptron(nn.Module):
    """f(x) = a_L W_L φ(a_{L−1} W_{L−1} ⋯ φ(a_1 W_1 x)), one network of an :class:`Ensemble`.

    Args:
        weights: W_l ``(d_l, d_{l−1})`` for each layer; they become the parameters, in this order.
        multipliers: a_l for each layer, fixed.
        activation: φ: ``linear`` for the identity, ``relu`` or ``tanh``.
    """

    def __init__(
        self, weights: Sequence[Tensor], multipliers: Sequence[float], activation: Activation
    ) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(weight.clone()) for weight in weights])
        self.multipliers = tuple(multipliers)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(n, d_L)`` for inputs ``(n, d_0)``."""
        if self.activation == "linear":
            # In the order that takes the fewest products of numbers: with few outputs, or more
            # samples than units, the matrices are multiplied before the samples are.
            product = torch.linalg.multi_dot([*reversed(list(self.weights)), x.T])
            return math.prod(self.multipliers) * product.T
        last = len(self.multipliers) - 1
        for layer, multiplier in enumerate(self.multipliers):
            x = multiplier * (x @ self.weights[layer].T)
            if layer < last:
                x = _FUNCTIONS[self.activation](x)
        return x


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """``N`` networks f(x) = a_L W_L φ(a_{L−1} W_{L−1} ⋯ φ(a_1 W_1 x)) of one shape, without biases.

    The parameters of a network are its matrices ``W_l``; the multipliers ``a_l`` are constants of
    the parametrisation and the same for all.

    Args:
        weights: for each layer ``(N, d_l, d_{l−1})``.
        multipliers: for each layer ``a_l``.
        activation: φ: ``linear`` for the identity, ``relu`` or ``tanh``.

    Raises:
        ValueError: no layer, shapes that do not fit together, or an unknown activation.

    Example:
        >>> twice = Ensemble(weights=(torch.ones(1, 2, 1), torch.ones(1, 1, 2)),
        ...                  multipliers=(1.0, 1.0), activation="linear")
        >>> twice.sizes, twice.outputs(torch.tensor([[3.0]])).tolist()
        ((1, 2, 1), [[[6.0]]])
    """

    weights: tuple[Tensor, ...]
    multipliers: tuple[float, ...]
    activation: Activation

    def __post_init__(self) -> None:
        shapes = [tuple(weight.shape) for weight in self.weights]
        fits = all(len(shape) == 3 and shape[0] == shapes[0][0] for shape in shapes) and all(
            left[1] == right[2] for left, right in itertools.pairwise(shapes)
        )
        expected = "(N, d_l, d_(l-1)) for one or more layers"
        require(bool(shapes) and fits, "weights", expected, shapes)
        number = len(self.multipliers)
        require(number == len(shapes), "multipliers", f"one per layer, {len(shapes)}", number)
        known = get_args(Activation)
        expected = one_of(known, self.activation)
        require(self.activation in known, "activation", expected, self.activation)

    @property
    def count(self) -> int:
        """The number of networks N."""
        return len(self.weights[0])

    @property
    def depth(self) -> int:
        """The number of layers L."""
        return len(self.weights)

    @property
    def sizes(self) -> tuple[int, ...]:
        """d_0, ..., d_L."""
        return (self.weights[0].shape[2], *(weight.shape[1] for weight in self.weights))

    def outputs(self, x: Tensor) -> Tensor:
        """Outputs ``(N, n, d_L)`` for inputs ``(n, d_0)``."""
        for layer, (multiplier, weight) in enumerate(
            zip(self.multipliers, self.weights, strict=True)
        ):
            x = multiplier * (x @ weight.mT)
            if self.activation != "linear" and layer < self.depth - 1:
                x = _FUNCTIONS[self.activation](x)
        return x

    def select(self, networks: Tensor | Sequence[int]) -> "Ensemble":
        """The networks with the given indices."""
        index = torch.as_tensor(networks, device=self.weights[0].device)
        return replace(self, weights=tuple(weight[index] for weight in self.weights))

    def to(self, target: torch.dtype | torch.device) -> "Ensemble":
        """The same networks in another precision or on another device."""
        return replace(self, weights=tuple(weight.to(target) for weight in self.weights))

    def network(self, index: int) -> Perceptron:
        """One of the networks as a module of its own."""
        return Perceptron(
            [weight[index] for weight in self.weights], self.multipliers, self.activation
        )
