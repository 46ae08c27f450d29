"""The memory that products take, and the number of samples of a batch that fit into it."""

import weakref
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from hessian_spectra.curvature.batches import Batch, part, rows
from hessian_spectra.curvature.network import FixedNetwork, first_derivatives
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives
from hessian_spectra.curvature.undisturbed import Watching, interrupt_behind
from hessian_spectra.validation import require

# What a product takes at its peak is at most so many times what its graph keeps (measured in
# processes on the CPU, 2 for GPT-2, 2.3 for shallow perceptrons and convolutions, 3.1 for a deep
# and narrow perceptron, whose small tensors lie scattered), and so many vectors as long as θ: a
# copy of it, the gradient, the product, and its pieces.
_GRAPHS = 3
_VECTORS = 4


class PeakMemory:
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
        self.held = self.peak = 0
        self._alive: dict[int, Any] = {}
        self._mode = _Telling(self)

    def __enter__(self) -> Self:
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)

    def note(self, made: Any, given: Any) -> None:
        """Count what an operation has made, but for views of what it was given."""
        storages = [tensor.untyped_storage() for tensor in _dense(made)]
        new = [storage for storage in storages if storage._cdata not in self._alive]
        known = {tensor.untyped_storage()._cdata for tensor in _dense(given)} if new else set()
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


class _Telling(Watching):
    """Tell a memory of each operation."""

    def __init__(self, memory: PeakMemory) -> None:
        super().__init__()
        self._memory = memory

    def called(self, operation: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Tell what it makes."""
        made = operation(*args, **kwargs)
        self._memory.note(made, (args, kwargs))
        return made


def product_bytes(network: FixedNetwork, batch: Batch) -> tuple[int, int]:
    """The bytes that the differentiated graph of a batch keeps, and a product takes at its peak."""
    try:
        return _product_bytes(network, batch, FastSecondDerivatives())
    except (RuntimeError, TypeError) as error:
        if interrupt_behind(error) is not None:
            raise
    return _product_bytes(network, batch, FastSecondDerivatives(plain=True))


def _product_bytes(
    network: FixedNetwork, batch: Batch, layers: FastSecondDerivatives
) -> tuple[int, int]:
    parameters = network.parameters
    with PeakMemory() as memory, torch.enable_grad():
        with layers:
            loss, _ = network.forward(batch)
            gradient = first_derivatives(loss, parameters, keep_graph=True)
        kept = memory.held
        if varying := [entry for entry in gradient if entry.requires_grad]:
            ones = [torch.ones_like(entry) for entry in varying]
            torch.autograd.grad(varying, parameters, ones, materialize_grads=True)
    return kept, memory.peak


def rows_within(memory: int, network: FixedNetwork, batch: Batch, level: int | None = None) -> int:
    """The number of samples of a batch that may be differentiated together.

    A product is measured on a single sample, and on three only where these fit and not all do: so
    that what does not grow with the samples is told from what does.

    Args:
        memory: bytes that a product may take at its peak, with the graph.
        network: the network that is differentiated.
        batch: a batch, whose samples are taken to need as much as any.
        level: of the lists that hold its samples, as for :func:`part`.

    Raises:
        ValueError: a single sample takes more.
    """
    length = rows(batch, level) or 1
    vectors = _VECTORS * sum(weights.nbytes for weights in network.parameters)
    sample, peak = product_bytes(network, part(batch, 0, 1, level))
    expected = f"at least {vectors + peak} bytes, which one sample takes"
    require(vectors + peak <= memory, "memory", expected, memory)
    left = (memory - vectors) / min(_GRAPHS, peak / sample)
    each, few = float(sample), min(length, 3)
    if few * sample <= left < length * sample:
        each = max(
            1.0, (product_bytes(network, part(batch, 0, few, level))[0] - sample) / (few - 1)
        )
    return max(1, min(length, int((left - (sample - each)) / each)))
