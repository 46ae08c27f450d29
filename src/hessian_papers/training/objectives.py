"""Losses over all samples whose gradients are written out by hand, for many thousands of epochs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.training import tensors_digest

# For each layer A_l, B_l with gradient A_l B_l: descent adds the product to the weights at once.
Factors = tuple[tuple[Tensor, Tensor], ...]
# The loss at the present values of the weights; it renews the factors, too.
Evaluation = Callable[[], float]


class Objective(ABC):
    """A loss of the weights W_1, ..., W_L of a network without biases."""

    # The type that the weights must have.
    dtype: torch.dtype

    @abstractmethod
    def digest(self) -> str:
        """Equal for equal losses, and for nothing else."""

    @abstractmethod
    def follow(self, weights: Sequence[Tensor]) -> tuple[Evaluation, Factors]:
        """Prepare for many evaluations at weights that are changed in place.

        All memory is taken here. The factors share it, and some of them the weights' own: who
        updates the weights does so from the first layer to the last.
        """

    def loss_and_slopes(self, weights: Sequence[Tensor]) -> tuple[float, tuple[Tensor, ...]]:
        """The loss, and its gradient with respect to each matrix.

        Args:
            weights: W_l ``(d_l, d_{l−1})`` for each layer.
        """
        evaluate, factors = self.follow(weights)
        return evaluate(), tuple(left @ right for left, right in factors)


class LinearObjective(Objective):
    """1/2 ‖W_L ⋯ W_1 diag(root) − target‖_F² + floor, the least-squares loss of a linear network.

    With P = W_L ⋯ W_1 and its slope G = (P diag(root) − target) diag(root), the gradient for W_l is
    (W_L ⋯ W_{l+1})ᵀ (G W_1ᵀ ⋯ W_{l−1}ᵀ). Both factors are built from the side of the K outputs, so
    that all products have K rows, and none depends on the number of samples.

    Args:
        root: ``(r,)`` the root of the inputs' second moment along its r axes, on which W_1 acts.
        target: ``(K, r)``.
        floor: the loss of the best linear map, which no weights can change.

    Source: the second moments alone decide the training of a linear network; anon2026data trains
    such networks (Figures 1 to 4).

    Example:
        >>> root, target = torch.ones(1).double(), torch.zeros(1, 1).double()
        >>> two = [torch.full((1, 1), value).double() for value in (3.0, 2.0)]
        >>> LinearObjective(root, target, 1.0).loss_and_slopes(two)
        (19.0, (tensor([[12.]], dtype=torch.float64), tensor([[18.]], dtype=torch.float64)))
    """

    def __init__(self, root: Tensor, target: Tensor, floor: float) -> None:
        self.dtype = root.dtype
        self._root, self._target, self._floor = root, target.contiguous(), floor

    def digest(self) -> str:
        """The digest of the root, the target and the floor."""
        return tensors_digest(f"linear {self._floor!r}", self._root, self._target)

    def follow(self, weights: Sequence[Tensor]) -> tuple[Evaluation, Factors]:
        """The evaluation along weights that change, as for every objective."""
        root, target, floor = self._root, self._target, self._floor
        outputs = len(target)
        like = target.new_empty
        # after[l] = W_L ⋯ W_{l+1}, down to after[0], the whole product.
        after = [like(outputs, weight.shape[1]) for weight in weights[:-1]]
        after += [weights[-1], torch.eye(outputs).to(target)]
        # before[l] = G W_1ᵀ ⋯ W_lᵀ.
        before = [like(outputs, weight.shape[1]) for weight in weights]
        slope, flat = before[0], before[0].view(-1)
        down = [
            (after[layer + 1], weights[layer], after[layer])
            for layer in reversed(range(len(weights) - 1))
        ]
        up = [
            (before[layer], weights[layer].T, before[layer + 1])
            for layer in range(len(weights) - 1)
        ]
        product = after[0]

        def evaluate() -> float:
            for left, right, out in down:
                torch.mm(left, right, out=out)
            torch.mul(product, root, out=slope)
            slope.sub_(target)
            loss = 0.5 * torch.dot(flat, flat).item() + floor
            slope.mul_(root)
            for left, right, out in up:
                torch.mm(left, right, out=out)
            return loss

        factors = zip((left.T for left in after[1:]), before, strict=True)
        return evaluate, tuple(factors)


class SampleObjective(Objective):
    """1/(2n) Σ_i ‖f(x_i) − y_i‖² with f(x) = W_L φ(⋯ φ(W_1 x)), by backpropagation.

    Args:
        x: ``(n, d_0)`` inputs.
        y: ``(n, K)`` targets.
        activation: φ: ``linear`` for the identity, ``relu`` or ``tanh``.

    Source: anon2026data, appendix C.

    Example:
        >>> x, y = torch.ones(4, 1).double(), torch.zeros(4, 1).double()
        >>> two = [torch.full((1, 1), value).double() for value in (3.0, 2.0)]
        >>> SampleObjective(x, y, "linear").loss_and_slopes(two)
        (18.0, (tensor([[12.]], dtype=torch.float64), tensor([[18.]], dtype=torch.float64)))
    """

    def __init__(self, x: Tensor, y: Tensor, activation: str) -> None:
        # Columns of a matrix are the samples: products are fastest with their long side last.
        self._x, self._y = x.contiguous(), y.T.contiguous()
        self._activation, self.dtype = activation, x.dtype

    def digest(self) -> str:
        """The digest of the samples and the activation."""
        return tensors_digest(f"samples {self._activation}", self._x, self._y)

    def follow(self, weights: Sequence[Tensor]) -> tuple[Evaluation, Factors]:
        """The evaluation along weights that change, as for every objective."""
        count, activation, y = len(self._x), self._activation, self._y
        values = [self._x.T, *(y.new_empty(len(weight), count) for weight in weights)]
        # What a change of each layer's sums changes the loss by; at the last layer in place.
        slopes = [y.new_empty(len(weight), count) for weight in weights[:-1]] + [values[-1]]
        error, flat = values[-1], values[-1].view(-1)
        last = len(weights) - 1
        forward = list(zip(weights, values, values[1:], strict=False))
        backward = [
            (weights[layer].T, slopes[layer], values[layer], slopes[layer - 1])
            for layer in range(last, 0, -1)
        ]

        def evaluate() -> float:
            for layer, (weight, inputs, out) in enumerate(forward):
                torch.mm(weight, inputs, out=out)
                if layer < last:
                    _activate(out, activation)
            error.sub_(y)
            loss = torch.dot(flat, flat).item() / (2 * count)
            error.div_(count)
            for weight, slope, value, out in backward:
                torch.mm(weight, slope, out=out)
                _differentiate(out, value, activation)
            return loss

        return evaluate, tuple(zip(slopes, (value.T for value in values[:-1]), strict=True))


def _activate(values: Tensor, activation: str) -> None:
    """φ in place."""
    if activation == "relu":
        values.relu_()
    elif activation == "tanh" and values.device.type == "cpu":
        # NumPy's is computed by vector instructions, five times as fast as torch's.
        array = values.numpy()
        np.tanh(array, out=array)
    elif activation == "tanh":
        values.tanh_()


def _differentiate(slopes: Tensor, values: Tensor, activation: str) -> None:
    """Times φ' in place, where ``values`` are those of φ."""
    if activation == "relu":
        torch.ops.aten.threshold_backward.grad_input(slopes, values, 0.0, grad_input=slopes)
    elif activation == "tanh":
        torch.ops.aten.tanh_backward.grad_input(slopes, values, grad_input=slopes)
