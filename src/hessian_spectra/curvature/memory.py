"""The memory that products take, and the number of samples of a batch that fit into it."""

import weakref
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from hessian_spectra.curvature.batches import Batch, part, rows
from hessian_spectra.curvature.function_modes import Arguments, DispatchMode, Function, Named
from hessian_spectra.curvature.network import (
    FixedNetwork,
    first_derivatives,
    weighted_derivatives,
)
from hessian_spectra.curvature.plain_derivatives import is_plain, or_plainly
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives
from hessian_spectra.validation import require

# What a product takes at its peak is at most so many times what its graph keeps (measured in
# processes on the CPU, 2 for GPT-2, 2.3 for shallow perceptrons and convolutions, 3.1 for a deep
# and narrow perceptron, whose small tensors lie scattered), and so many vectors as long as θ: a
# copy of it, the gradient, the product, and its pieces.
_GRAPHS = 3
_VECTORS = 4


class PeakMemory(DispatchMode):
    """The bytes of the tensors that are made in a block: now, and at their peak.

    On any device, and also of what the differentiation makes and lets go. What kernels take inside
    them is not seen. Each operation takes some microseconds longer.

    Example:
        >>> with PeakMemory() as memory:
        ...     total = (torch.ones(1000) + 1).sum()
        >>> memory.peak, memory.held
        (8000, 4)
    """

    def __init__(self) -> None:
        super().__init__()
        self.held = self.peak = 0
        self._alive: dict[int, Any] = {}

    def note(self, func: Function, args: Arguments, kwargs: Named, result: Any) -> None:
        """Count what an operation has made, but for views of what it was given."""
        new = [
            storage
            for storage in map(Tensor.untyped_storage, _dense(result))
            if storage._cdata not in self._alive
        ]
        given = _dense((args, kwargs)) if new else []
        known = {tensor.untyped_storage()._cdata for tensor in given}
        for storage in new:
            place, size = storage._cdata, storage.nbytes()
            if place in known or place in self._alive:
                continue

            def forget(_: Any, place: int = place, size: int = size) -> None:
                self.held -= size
                del self._alive[place]

            self._alive[place] = weakref.ref(storage, forget)
            self.held += size
            self.peak = max(self.peak, self.held)


def _dense(values: Any) -> list[Tensor]:
    """The tensors among some values that lie in one piece of memory."""
    leaves = tree_leaves(values)
    return [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.layout == torch.strided]


def product_bytes(network: FixedNetwork, batch: Batch, checked: set[str]) -> tuple[int, int]:
    """The bytes that the differentiated graph of a batch keeps, and a product takes at its peak."""
    return or_plainly(checked, partial(_product_bytes, network, batch, checked))


def _product_bytes(network: FixedNetwork, batch: Batch, checked: set[str]) -> tuple[int, int]:
    parameters = network.parameters
    with PeakMemory() as memory, torch.enable_grad():
        with FastSecondDerivatives(plain=is_plain(checked)):
            loss, _ = network.forward(batch)
            gradient = first_derivatives(loss, parameters, keep_graph=True)
        kept = memory.held
        weighted_derivatives(gradient, parameters, list(map(torch.ones_like, gradient)), keep=False)
    return kept, memory.peak


def rows_within(
    memory: int,
    network: FixedNetwork,
    batch: Batch,
    checked: set[str],
    level: int | None = None,
) -> int:
    """The number of samples of a batch that may be differentiated together.

    A product is measured on a single sample, and on three only where these fit and not all do: so
    that what does not grow with the samples is told from what does.

    Args:
        memory: bytes that a product may take at its peak, with the graph.
        network: the network that is differentiated.
        batch: a batch, whose samples are taken to need as much as any.
        checked: what a problem remembers, see :func:`or_plainly`.
        level: of the lists that hold its samples, as for :func:`part`.

    Raises:
        ValueError: a single sample takes more.
    """
    length = rows(batch, level) or 1
    vectors = _VECTORS * sum(weights.nbytes for weights in network.parameters)
    sample, peak = product_bytes(network, part(batch, 0, 1, level), checked)
    expected = f"at least {vectors + peak} bytes, which one sample takes"
    require(vectors + peak <= memory, "memory", expected, memory)
    left = (memory - vectors) / min(_GRAPHS, peak / sample)
    each, few = float(sample), min(length, 3)
    if few * sample <= left < length * sample:
        some, _ = product_bytes(network, part(batch, 0, few, level), checked)
        each = max(1.0, (some - sample) / (few - 1))
    return max(1, min(length, int((left - (sample - each)) / each)))
