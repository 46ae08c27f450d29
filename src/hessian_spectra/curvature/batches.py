"""Batches of any structure: moved, cut, joined, and looked at."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

# A pair (inputs, targets), or what a loss function takes: tensors in tuples, lists and mappings.
Batch = Any


def tensors(batch: Batch) -> Iterator[Tensor]:
    """The tensors of a batch, in order."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for part in batch.values():
            yield from tensors(part)
    elif isinstance(batch, (tuple, list)):
        for part in batch:
            yield from tensors(part)


def mapped(function: Callable[[Tensor], Tensor], batch: Batch) -> Batch:
    """The batch with a function applied to each of its tensors; the rest as it is."""
    if isinstance(batch, Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        # A copy keeps the type, whose attributes a model may read.
        result: Any = copy.copy(batch)
        for key, part in batch.items():
            result[key] = mapped(function, part)
        return result
    if isinstance(batch, (tuple, list)):
        parts = [mapped(function, part) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def moved(batch: Batch, device: torch.device) -> Batch:
    """The batch on a device."""
    return mapped(lambda tensor: tensor.to(device), batch)


def cast(batch: Batch, dtype: torch.dtype) -> Batch:
    """The batch with its floating-point numbers in another type."""
    return mapped(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor, batch)


def rows(batch: Batch) -> int | None:
    """How many samples a batch has: the length of all its tensors, ``None`` if they differ."""
    lengths = {len(tensor) if tensor.ndim else 0 for tensor in tensors(batch)}
    return lengths.pop() if len(lengths) == 1 else None


def part(batch: Batch, start: int, stop: int) -> Batch:
    """The samples from ``start`` to ``stop``."""
    return mapped(lambda tensor: tensor[start:stop], batch)


def joined(first: Batch, second: Batch) -> Batch | None:
    """Two batches as one; ``None`` where their shapes do not allow it."""
    others = tensors(second)
    try:
        return mapped(lambda tensor: torch.cat([tensor, next(others)]), first)
    except (RuntimeError, StopIteration):
        return None
