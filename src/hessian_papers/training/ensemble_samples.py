"""The samples of an ensemble's training: padded, gathered into batches, summed into moments."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# Products of stacks of matrices have the same bits wherever a matrix lies in the stack only if all
# of its matrices are aligned alike. They are once rows are whole cache lines of 64 bytes, which is
# done for float64; float32 promises no bits.
LINE = 8
# Moments are read off a table of outer products while that is small enough for the caches: above
# this the products of the samples are as fast.
TABLE_BYTES = 3 * 2**20


def padded(size: int, dtype: torch.dtype) -> int:
    """The length of an axis after filling it up with zeros."""
    return LINE * math.ceil(size / LINE) if dtype == torch.float64 else size


def pad(tensor: Tensor, rows: int, columns: int) -> Tensor:
    """Matrices ``(..., r, c)`` filled up with zeros to ``(..., rows, columns)``."""
    return functional.pad(tensor, (0, columns - tensor.shape[-1], 0, rows - tensor.shape[-2]))


def twice_if_alone(stack: Tensor) -> Tensor:
    """A stack of one matrix as a stack of two.

    A product of one pair of matrices goes to another kernel than a stack of products, and gets
    other bits.
    """
    return stack if len(stack) > 1 else stack.expand(2, -1, -1).contiguous()


class Buffers:
    """Memory by name, used again in every step: new memory costs more than the products in it."""

    def __init__(self, like: Tensor) -> None:
        self._options: Any = {"dtype": like.dtype, "device": like.device}
        self._tensors: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    def get(self, name: str, count: int, *shape: int) -> Tensor:
        """Memory ``(count, *shape)``, with zeros at the first use of that name and shape."""
        held = self._tensors.get((name, shape))
        if held is None or len(held) < count:
            held = torch.zeros(count, *shape, **self._options)
            self._tensors[name, shape] = held
        return held[:count]


class Samples:
    """The inputs x_i and targets y_i as rows of two matrices, and batches of them.

    One more row of zeros fills up the last batch: networks without biases map zero to zero, so that
    it adds nothing to any gradient.

    Args:
        x: inputs ``(n, d_0)``.
        y: targets ``(n, d_L)``.
        batch_size: samples in a batch; the last batch of a pass has what is left.
    """

    def __init__(self, x: Tensor, y: Tensor, batch_size: int) -> None:
        self.count, self.outputs = y.shape
        self.inputs = padded(x.shape[1], x.dtype)
        self.sizes = [
            min(batch_size, self.count - start) for start in range(0, self.count, batch_size)
        ]
        self.x = pad(x, self.count + 1, self.inputs)
        self.y = pad(y, self.count + 1, padded(self.outputs, x.dtype))
        self._batch_size = batch_size
        self._rows = padded(batch_size, x.dtype)
        self._buffers = Buffers(x)
        self._outer: Tensor | None = None

    @property
    def tabulated(self) -> bool:
        """Whether sums of outer products are read off a table."""
        # PyTorch sums rows of a table by compiled vector instructions in float32 only.
        entries = len(self.x) * (self.inputs + self.outputs) * self.inputs
        return (
            self.x.dtype == torch.float32
            and self.x.device.type == "cpu"
            and entries * self.x.element_size() <= TABLE_BYTES
        )

    def split(self, order: Tensor) -> Tensor:
        """Orders ``(N, n)`` as indices of batches ``(N, batches, rows of a batch)``."""
        missing = len(self.sizes) * self._batch_size - self.count
        if missing:
            order = functional.pad(order, (0, missing), value=self.count)
        batches = order.view(len(order), len(self.sizes), self._batch_size)
        if self._rows == self._batch_size:
            return batches
        return functional.pad(batches, (0, self._rows - self._batch_size), value=self.count)

    def gather(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """The samples that belong to indices ``(N, rows)``.

        Returns:
            x ``(N, rows, columns of x)`` and y transposed, ``(N, d_L, rows)``.
        """
        x, y = (
            torch.index_select(
                samples,
                0,
                batch.reshape(-1),
                out=self._buffers.get(name, batch.numel(), samples.shape[1]),
            ).view(*batch.shape, -1)
            for name, samples in (("x", self.x), ("y", self.y))
        )
        return x, y[..., : self.outputs].mT

    def moments(self, batches: Tensor) -> tuple[Tensor, Tensor]:
        """Sums over each batch: Σ_i x_i x_i' and Σ_i y_i x_i'.

        Args:
            batches: indices ``(N, batches, rows of a batch)``.

        Returns:
            ``(N, batches, columns of x, columns of x)`` and ``(N, batches, d_L, columns of x)``.
        """
        count, number, length = batches.shape
        flat = batches.reshape(count * number, length)
        if self.tabulated:
            sums = functional.embedding_bag(flat, self._table(), mode="sum")
            sums = sums.view(count, number, self.inputs + self.outputs, self.inputs)
            own, cross = sums.split([self.inputs, self.outputs], dim=2)
            return own, cross
        own = self._buffers.get("own", count, number, self.inputs, self.inputs)
        cross = self._buffers.get("cross", count, number, self.outputs, self.inputs)
        for network in range(count):
            x, y = self.gather(batches[network])
            torch.bmm(x.mT, x, out=own[network])
            torch.bmm(y, x, out=cross[network])
        return own, cross

    def _table(self) -> Tensor:
        """(x_i; y_i) x_i', flattened to a row for each sample."""
        if self._outer is None:
            both = torch.cat([self.x, self.y], dim=1)
            self._outer = (both[:, :, None] * self.x[:, None, :]).flatten(1)
        return self._outer
