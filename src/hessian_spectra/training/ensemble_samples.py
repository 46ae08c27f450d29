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
    """The pairs (x_i, y_i) as rows of one matrix, filled up with zeros, and batches of them.

    One more row holds zeros alone and fills up the last batch: networks without biases map zero to
    zero, so that it adds nothing to any gradient.

    Args:
        x: inputs ``(n, d_0)``.
        y: targets ``(n, d_L)``.
        batch_size: samples in a batch; the last batch of a pass has what is left.
    """

    def __init__(self, x: Tensor, y: Tensor, batch_size: int) -> None:
        self.count, self.input_size = x.shape
        self.output_size = y.shape[1]
        self.input_columns = padded(self.input_size, x.dtype)
        self.batch_rows = padded(batch_size, x.dtype)
        self.sizes = [
            min(batch_size, self.count - start) for start in range(0, self.count, batch_size)
        ]
        self._batch_size = batch_size
        self.rows = torch.cat(
            [
                pad(x, self.count + 1, self.input_columns),
                pad(y, self.count + 1, padded(self.output_size, x.dtype)),
            ],
            dim=1,
        )
        self._buffers = Buffers(x)
        self._outer: Tensor | None = None

    @property
    def tabulated(self) -> bool:
        """Whether sums of outer products are read off a table."""
        # PyTorch sums rows of a table by compiled vector instructions in float32 only.
        entries = (self.count + 1) * (self.input_size + self.output_size) * self.input_size
        return (
            self.rows.dtype == torch.float32
            and self.rows.device.type == "cpu"
            and entries * self.rows.element_size() <= TABLE_BYTES
        )

    def split(self, order: Tensor) -> Tensor:
        """Orders ``(N, n)`` as rows of batches ``(N, batches, rows of a batch)``."""
        missing = len(self.sizes) * self._batch_size - self.count
        if missing:
            order = functional.pad(order, (0, missing), value=self.count)
        batches = order.view(len(order), len(self.sizes), self._batch_size)
        if self.batch_rows == self._batch_size:
            return batches
        return functional.pad(batches, (0, self.batch_rows - self._batch_size), value=self.count)

    def inputs(self, rows: Tensor) -> Tensor:
        """The columns of x."""
        return rows[..., : self.input_columns]

    def targets(self, rows: Tensor) -> Tensor:
        """The columns of y, transposed: ``(..., d_L, rows of a batch)``."""
        return rows[..., self.input_columns : self.input_columns + self.output_size].mT

    def gather(self, batch: Tensor) -> Tensor:
        """The rows ``(N, rows of a batch, columns)`` that belong to indices ``(N, rows)``."""
        count, length = batch.shape
        rows = self._buffers.get("batch", count, length, self.rows.shape[1])
        torch.index_select(self.rows, 0, batch.reshape(-1), out=rows.view(count * length, -1))
        return rows

    def moments(self, batches: Tensor) -> tuple[Tensor, Tensor]:
        """Sums over each batch: Σ_i x_i x_i' and Σ_i y_i x_i'.

        Args:
            batches: indices ``(N, batches, rows of a batch)``.

        Returns:
            ``(N, batches, columns of x, columns of x)`` and ``(N, batches, d_L, columns of x)``.
        """
        count, number, length = batches.shape
        inputs, outputs = self.input_columns, self.output_size
        if self.tabulated:
            flat = batches.reshape(count * number, length)
            sums = functional.embedding_bag(flat, self._table(), mode="sum")
            sums = sums.view(count, number, inputs + outputs, inputs)
        else:
            sums = self._buffers.get("sums", count, number, self.rows.shape[1], inputs)
            for network in range(count):
                rows = self.gather(batches[network])
                torch.bmm(rows.mT, self.inputs(rows), out=sums[network])
        return sums[:, :, :inputs], sums[:, :, inputs : inputs + outputs]

    def _table(self) -> Tensor:
        """(x_i; y_i) x_i', flattened to a row for each sample."""
        if self._outer is None:
            self._outer = (self.rows[:, :, None] * self.inputs(self.rows)[:, None, :]).flatten(1)
        return self._outer
