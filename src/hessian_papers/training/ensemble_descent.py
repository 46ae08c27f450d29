"""Passes of mini-batch gradient descent over the data, for all networks of an ensemble at once."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from hessian_papers.training.ensemble_samples import Buffers, Samples, pad, padded, twice_if_alone
from hessian_spectra.models import Ensemble

_threshold_backward = torch.ops.aten.threshold_backward.grad_input


class Descent:
    """Gradient descent on 1/(2n) Σ_i ‖f(x_i) − y_i‖² for ``N`` networks, batch by batch.

    A layer sees the ``s`` signals of a batch as rows, ``(N, s, d_l)``. It holds a_l W_l, for which
    a step of rate η r_l on W_l is one of rate η r_l a_l². W_1 is held transposed, so that the long
    axis of every product is the last, where products are fastest.

    Args:
        ensemble: the networks, of two or more layers.
        samples: the data.
        factors: r_l, the learning rate of each layer relative to the base rate.
        shared: whether all networks see the samples in one order.
    """

    def __init__(
        self, ensemble: Ensemble, samples: Samples, factors: Sequence[float], *, shared: bool
    ) -> None:
        dtype = ensemble.weights[0].dtype
        hidden = [padded(size, dtype) for size in ensemble.sizes[1:-1]]
        columns, rows = [samples.inputs, *hidden], [*hidden, samples.outputs]
        weights = [
            pad(multiplier * weight, row, column)
            for multiplier, weight, row, column in zip(
                ensemble.multipliers, ensemble.weights, rows, columns, strict=True
            )
        ]
        self._original = ensemble
        self._weights = [weights[0].mT.contiguous(), *weights[1:]]
        self._factors = [
            factor * multiplier**2
            for factor, multiplier in zip(factors, ensemble.multipliers, strict=True)
        ]
        self._samples = samples
        self._shared = shared
        self._buffers = Buffers(weights[0])
        self.select(torch.arange(ensemble.count, device=weights[0].device))
        self._prepare()

    def _prepare(self) -> None:
        """Compute what of the samples does not change."""
        raise NotImplementedError

    def select(self, networks: Tensor) -> None:
        """Go on with the networks at these places only."""
        self.count = len(networks)
        self._weights = [twice_if_alone(weight[networks]) for weight in self._weights]

    def ensemble(self) -> Ensemble:
        """The networks as they are now."""
        weights = [self._weights[0].mT, *self._weights[1:]]
        shapes = [weight.shape[1:] for weight in self._original.weights]
        return replace(
            self._original,
            weights=tuple(
                weight[: self.count, :rows, :columns] / multiplier
                for weight, (rows, columns), multiplier in zip(
                    weights, shapes, self._original.multipliers, strict=True
                )
            ),
        )

    def losses(self) -> Tensor:
        """The loss of each network over all samples, ``(N,)`` float64."""
        raise NotImplementedError

    def descend(self, order: Tensor, rate: Tensor) -> None:
        """One pass over all samples.

        Args:
            order: the order of the samples for each network ``(N, n)``; if shared, ``(1, n)``.
            rate: the base learning rate of each network ``(N,)``.
        """
        rows = len(self._weights[0])
        if not self._shared:
            order = order.expand(rows, -1)
        rate = rate.to(self._weights[0]).expand(rows).view(-1, 1, 1)
        by_size = {size: rate / size for size in set(self._samples.sizes)}
        rates = [by_size[size] for size in self._samples.sizes]
        self._descend(self._samples.split(order), rates)

    def _descend(self, batches: Tensor, rates: Sequence[Tensor]) -> None:
        """A step for each batch, of rate η/b ``(N, 1, 1)``."""
        raise NotImplementedError

    def _forward(self, inputs: Tensor | None) -> list[Tensor]:
        """The outputs of each hidden layer, ``(N, s, d_l)``; without inputs: for the identity."""
        first, *others = self._weights
        if inputs is None:
            signals = first
        else:
            signals = self._buffers.get("hidden 1", *inputs.shape[:2], first.shape[2])
            torch.bmm(inputs, first, out=signals)
            self._activate(signals)
        hidden = [signals]
        for layer, weight in enumerate(others[:-1], start=2):
            signals = self._buffers.get(f"hidden {layer}", *signals.shape[:2], weight.shape[1])
            torch.bmm(hidden[-1], weight.mT, out=signals)
            self._activate(signals)
            hidden.append(signals)
        return hidden

    def _outputs(self, hidden: Tensor) -> Tensor:
        """f, transposed: ``(N, d_L, s)``."""
        weight = self._weights[-1]
        outputs = self._buffers.get("outputs", len(weight), weight.shape[1], hidden.shape[1])
        return torch.bmm(weight, hidden.mT, out=outputs)

    def _backward(self, inputs: Tensor | None, hidden: list[Tensor], slope: Tensor) -> None:
        """Update all layers, given η ∂ℓ/∂f transposed, ``(N, d_L, s)``."""
        transposed = slope
        for layer in range(len(self._weights) - 1, 0, -1):
            weight, below = self._weights[layer], hidden[layer - 1]
            passed = self._buffers.get(f"slope {layer % 2}", *below.shape)
            torch.bmm(transposed.mT, weight, out=passed)
            weight.baddbmm_(transposed, below, alpha=-self._factors[layer])
            self._deactivate(passed, below)
            transposed = passed.mT
        if inputs is None:
            self._weights[0].add_(passed, alpha=-self._factors[0])
        else:
            self._weights[0].baddbmm_(inputs.mT, passed, alpha=-self._factors[0])

    def _activate(self, signals: Tensor) -> None:
        if self._original.activation == "relu":
            signals.relu_()

    def _deactivate(self, slope: Tensor, signals: Tensor) -> None:
        if self._original.activation == "relu":
            _threshold_backward(slope, signals, 0, grad_input=slope)


class SampleDescent(Descent):
    """The signals are the samples of a batch."""

    def _prepare(self) -> None:
        samples = self._samples
        natural = torch.arange(samples.count, device=samples.x.device)
        x, y = samples.gather(samples.split(natural[None])[0])
        # Copies, because the next gathering takes the same memory.
        self._inputs = x.clone()
        self._targets = y.clone(memory_format=torch.contiguous_format)

    def losses(self) -> Tensor:
        """The loss of each network over all samples, ``(N,)`` float64."""
        rows = len(self._weights[0])
        squares = torch.zeros(rows, dtype=torch.float64, device=self._weights[0].device)
        for inputs, targets in zip(self._inputs, self._targets, strict=True):
            error = self._outputs(self._forward(inputs.expand(rows, -1, -1))[-1])
            squares += error.sub_(targets).square_().sum((1, 2))
        return squares[: self.count] / (2 * self._samples.count)

    def _descend(self, batches: Tensor, rates: Sequence[Tensor]) -> None:
        rows = len(self._weights[0])
        for indices, rate in zip(batches.unbind(1), rates, strict=True):
            x, y = self._samples.gather(indices)
            inputs = x.expand(rows, -1, -1)
            hidden = self._forward(inputs)
            slope = self._outputs(hidden[-1]).sub_(y).mul_(rate)
            self._backward(inputs, hidden, slope)


class MomentDescent(Descent):
    """The signals are the unit vectors, because a linear network is known by what it does to them.

    With P = a_L W_L ⋯ a_1 W_1, and S = Σ x x' and C = Σ y x' over a batch of b samples, the slope
    of the loss along P is (P S − C)/b, whatever the number of samples.
    """

    def _prepare(self) -> None:
        samples = self._samples
        x, y = (part[:-1].double() / math.sqrt(samples.count) for part in (samples.x, samples.y))
        # 1/(2n) Σ‖P x − y‖² = ‖P R' − y'Q‖²/2 + what no P can fit, with x/√n = Q R: free of the
        # cancellation between the moments.
        q, r = torch.linalg.qr(x)
        target = y[:, : samples.outputs].mT @ q
        self._floor = (y[:, : samples.outputs] - q @ target.mT).square().sum() / 2
        self._root = pad(r.mT, samples.inputs, samples.inputs).to(samples.x)
        self._target = pad(target, samples.outputs, samples.inputs).to(samples.x)

    def losses(self) -> Tensor:
        """The loss of each network over all samples, ``(N,)`` float64."""
        product = self._outputs(self._forward(None)[-1])
        root = self._root.expand(len(product), -1, -1)
        error = torch.bmm(product, root, out=self._buffers.get("slope", *product.shape))
        squares = error.sub_(self._target).square_().sum((1, 2))
        return squares[: self.count].double() / 2 + self._floor

    def _descend(self, batches: Tensor, rates: Sequence[Tensor]) -> None:
        # Moments of a network's own batches cost what the samples cost, unless summed off a table.
        slope: Callable[..., Tensor]
        if self._shared or self._samples.tabulated:
            slope, moments = self._moment_slope, self._samples.moments(batches)
            rows = len(self._weights[0])
            data = zip(*(part.expand(rows, -1, -1, -1).unbind(1) for part in moments), strict=True)
        else:
            slope, data = self._sample_slope, zip(batches.unbind(1))
        for batch, rate in zip(data, rates, strict=True):
            hidden = self._forward(None)
            product = self._outputs(hidden[-1])
            self._backward(None, hidden, slope(product, *batch).mul_(rate))

    def _moment_slope(self, product: Tensor, own: Tensor, cross: Tensor) -> Tensor:
        slope = self._buffers.get("slope", *product.shape)
        return torch.baddbmm(cross, product, own, beta=-1, out=slope)

    def _sample_slope(self, product: Tensor, batch: Tensor) -> Tensor:
        slope = self._buffers.get("slope", *product.shape)
        x, y = self._samples.gather(batch)
        error = self._buffers.get("error", *y.shape)
        torch.bmm(product, x.mT, out=error).sub_(y)
        return torch.bmm(error, x, out=slope)
