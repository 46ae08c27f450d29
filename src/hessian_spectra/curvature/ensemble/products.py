"""Hessian-vector products of all networks of an ensemble at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hessian_spectra.curvature.ensemble.chains import effective_weights
from hessian_spectra.curvature.ensemble.moments import Data, SecondMoments, fitted
from hessian_spectra.models.ensemble import Ensemble

# What a processor keeps close: networks are multiplied in blocks of about this much.
_CACHE_BYTES = 3 * 2**19


@dataclass(frozen=True, kw_only=True)
class Hessians:
    """The Hessians of ``1/(2n) Σ_i ‖f(x_i) − y_i‖²`` of ``N`` networks, as maps on vectors.

    The R-operator by hand. With A_l = a_l W_l, h_0 = x, h_l = φ(A_l h_{l−1}) and the errors b_L = f
    − y, b_{l−1} = φ' ∘ A_lᵀ b_l, the gradient for W_l is the mean of a_l b_l h_{l−1}ᵀ, and its
    derivative along directions V_l follows from those of h_l and b_l. Samples stand in rows.

    For a linear network the rows are no samples: h_0 is the identity, and the mean over samples is
    a product with S_xx = E[xxᵀ] at the output (``metric``). That costs D rows whatever n is. If the
    outputs are fewer than the inputs, the transposed network f(x)ᵀ = xᵀ A_1ᵀ ⋯ A_Lᵀ takes its
    place, which has K rows and S_xx on the other side.

    Args:
        weights: A_l ``(N, d_l, d_{l−1})``, in the order in which they are applied.
        multipliers: a_l.
        inputs: h_0 ``(rows, d_0)``, of which φ is the ReLU, with derivative 1 where h_l > 0; or
            None for the identity, and linear networks.
        hidden: h_1 to h_{L−1}, ``(N, rows, d_l)``.
        errors: b_1 to b_L, ``(N, rows, d_l)``.
        metric: what the mean over samples does at the output: 1/n, or S_xx.
        transposed: the network is the transposed one, and its layers count backwards.
    """

    weights: tuple[Tensor, ...]
    multipliers: tuple[float, ...]
    inputs: Tensor | None
    hidden: tuple[Tensor, ...]
    errors: tuple[Tensor, ...]
    metric: float | Tensor
    transposed: bool = False

    @property
    def count(self) -> int:
        """The number of networks N."""
        return len(self.weights[0])

    @property
    def size(self) -> int:
        """The number of parameters p of a network."""
        return sum(weight[0].numel() for weight in self.weights)

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the products."""
        return self.weights[0].dtype

    @property
    def device(self) -> torch.device:
        """Where the products are taken."""
        return self.weights[0].device

    def select(self, networks: Tensor | slice) -> "Hessians":
        """The Hessians of some of the networks."""
        return self._each(lambda values: values[networks])

    def _each(self, function: Callable[[Tensor], Tensor]) -> "Hessians":
        """With a function of what each network has by itself."""
        weights, hidden, errors = (
            tuple(map(function, values)) for values in (self.weights, self.hidden, self.errors)
        )
        return replace(self, weights=weights, hidden=hidden, errors=errors)

    def to(self, dtype: torch.dtype) -> "Hessians":
        """The same Hessians in another precision; which units are active stays as it was."""
        inputs = None if self.inputs is None else self.inputs.to(dtype)
        metric = self.metric.to(dtype) if isinstance(self.metric, Tensor) else self.metric
        return replace(self._each(lambda values: values.to(dtype)), inputs=inputs, metric=metric)

    def split(self, vectors: Tensor) -> list[Tensor]:
        """Views ``(N, d_l, d_{l−1})`` of vectors ``(N, p)``, in the order of ``weights``."""
        shapes = [weight.shape[1:] for weight in self.weights]
        if not self.transposed:
            sizes = [shape.numel() for shape in shapes]
            pieces = vectors.split(sizes, dim=1)
            return [part.unflatten(1, shape) for part, shape in zip(pieces, shapes, strict=True)]
        # The parameters' own order is that of the network before it was transposed.
        sizes = [shape.numel() for shape in reversed(shapes)]
        pieces = vectors.split(sizes, dim=1)[::-1]
        return [
            part.unflatten(1, (shape[1], shape[0])).mT
            for part, shape in zip(pieces, shapes, strict=True)
        ]

    @property
    def footprint(self) -> int:
        """Numbers that a product works with for one network, about."""
        rows = self.errors[0].shape[1]
        return max(self.size, rows * max(max(weight.shape[1:]) for weight in self.weights))

    def __matmul__(self, vectors: Tensor) -> Tensor:
        """``H_k v_k`` for every network, ``(N, p)`` to ``(N, p)``."""
        result = torch.empty_like(vectors)
        block = self.count
        if self.device.type == "cpu":
            block = max(1, _CACHE_BYTES // (self.footprint * vectors.element_size()))
        for first in range(0, self.count, block):
            part = self if block >= self.count else self.select(slice(first, first + block))
            part._multiply(vectors[first : first + block], result[first : first + block])
        return result

    def _multiply(self, vectors: Tensor, result: Tensor) -> None:
        """Products of some networks, written into ``result``."""
        directions = [
            multiplier * part
            for multiplier, part in zip(self.multipliers, self.split(vectors), strict=True)
        ]
        self._backward(directions, self._forward(directions), self.split(result))

    def _forward(self, directions: Sequence[Tensor]) -> list[Tensor]:
        """Derivatives of h_1 to h_{L−1} and of the error b_L along the directions."""
        first = directions[0].mT if self.inputs is None else self.inputs @ directions[0].mT
        if not self.hidden:
            return [self._mean(first)]
        moved = [self._pass(first, 0)]
        for layer in range(1, len(self.hidden)):
            step = self.hidden[layer - 1] @ directions[layer].mT
            step.baddbmm_(moved[-1], self.weights[layer].mT)
            moved.append(self._pass(step, layer))
        # Outputs may be few: their rows are kept long.
        step = directions[-1] @ self.hidden[-1].mT
        step.baddbmm_(self.weights[-1], moved[-1].mT)
        return [*moved, self._mean(step.mT)]

    def _mean(self, outputs: Tensor) -> Tensor:
        """Changes of the outputs, times the second derivative of the mean over samples."""
        if not isinstance(self.metric, Tensor):
            return outputs.mul_(self.metric)
        return outputs @ self.metric if self.transposed else self.metric @ outputs

    def _pass(self, values: Tensor, layer: int) -> Tensor:
        """Values that go through the activation function after a layer, or back."""
        if self.inputs is None or layer == len(self.hidden):
            return values
        return _masked(values, self.hidden[layer])

    def _backward(
        self, directions: Sequence[Tensor], moved: Sequence[Tensor], out: Sequence[Tensor]
    ) -> None:
        """Derivatives of the gradients, layer by layer from the last."""
        change = moved[-1]
        for layer in range(len(self.hidden), 0, -1):
            gradient = change.mT @ self.hidden[layer - 1]
            gradient.baddbmm_(self.errors[layer].mT, moved[layer - 1])
            torch.mul(gradient, self.multipliers[layer], out=out[layer])
            back = self.errors[layer] @ directions[layer]
            back.baddbmm_(change, self.weights[layer])
            change = self._pass(back, layer - 1)
        gradient = change if self.inputs is None else self.inputs.mT @ change
        torch.mul(gradient.mT, self.multipliers[0], out=out[0])


def _masked(values: Tensor, hidden: Tensor) -> Tensor:
    """Values where units are active, else zero, in place."""
    return torch.ops.aten.threshold_backward.grad_input(values, hidden, 0.0, grad_input=values)


def hessians(ensemble: Ensemble, data: Data) -> Hessians:
    """The Hessians of all networks with respect to the raw parameters ``W_1, ..., W_L``.

    Args:
        ensemble: the networks, float32 or float64.
        data: second moments for linear networks, else inputs ``(n, D)`` and targets ``(n, K)``, of
            the networks' type and on their device.

    Returns:
        An operator whose ``@`` takes vectors ``(N, p)`` in the order of
        ``Ensemble.network(k).parameters()``, one for each network.

    Raises:
        ValueError: moments alone for a ReLU network, no samples, or sizes, types or devices that
            differ from the ensemble's.

    Example:
        >>> item = Ensemble(weights=(torch.ones(1, 1, 1), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> matrices = hessians(item, (torch.ones(1, 1), torch.ones(1, 1)))
        >>> matrices @ torch.tensor([[1.0, 0.0]])
        tensor([[1., 1.]])
    """
    data = fitted(ensemble, data)
    weights = effective_weights(ensemble)
    if isinstance(data, SecondMoments):
        return _linear(weights, ensemble.multipliers, data)
    x, y = data
    return _passed(weights, ensemble.multipliers, x, lambda out: (out - y) / len(x), 1 / len(x))


def _linear(weights: list[Tensor], multipliers: tuple[float, ...], data: SecondMoments) -> Hessians:
    """Hessians of linear networks, with as many rows as the smaller of inputs and outputs."""
    sxx, syx = data.sxx, data.syx
    if syx.shape[0] >= syx.shape[1]:
        return _passed(weights, multipliers, None, lambda whole: sxx @ whole - syx.mT, sxx)
    weights, multipliers = [weight.mT for weight in reversed(weights)], multipliers[::-1]
    whole = _passed(weights, multipliers, None, lambda whole: whole @ sxx - syx, sxx)
    return replace(whole, transposed=True)


def _passed(
    weights: Sequence[Tensor],
    multipliers: tuple[float, ...],
    inputs: Tensor | None,
    error: Callable[[Tensor], Tensor],
    metric: float | Tensor,
) -> Hessians:
    """The Hessians after a pass through the networks and back, of the error of their outputs."""
    values, hidden = inputs, []
    for weight in weights[:-1]:
        values = weight.mT if values is None else values @ weight.mT
        values = values if inputs is None else torch.relu(values)
        hidden.append(values)
    errors = [error(weights[-1].mT if values is None else values @ weights[-1].mT)]
    for weight, active in zip(weights[:0:-1], hidden[::-1], strict=True):
        back = errors[-1] @ weight
        errors.append(back if inputs is None else _masked(back, active))
    return Hessians(
        weights=tuple(weights),
        multipliers=multipliers,
        inputs=inputs,
        hidden=tuple(hidden),
        errors=tuple(errors[::-1]),
        metric=metric,
    )
