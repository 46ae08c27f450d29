"""Batches of any structure: moved, cut, joined, and looked at."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from hessian_spectra.curvature.rows import all_finite

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
    """The batch on a device, as a copy where torch.inference_mode, which has no graph, made it."""
    return mapped(lambda at: (at.clone() if at.is_inference() else at).to(device), batch)


def cast(batch: Batch, dtype: torch.dtype) -> Batch:
    """The batch with its floating-point numbers in another type."""
    return mapped(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor, batch)


def private_loader(data: Iterable[Batch]) -> Iterable[Batch]:
    """A loader's copy over the same data set; other data as it is.

    Its passes draw from copies of the loader's own generators, and leave workers that persist to
    the pass of the user's that they belong to.
    """
    if not isinstance(data, DataLoader):
        return data
    shared = {id(part): part for part in (data.dataset, data.collate_fn, data.worker_init_fn)}
    try:
        twin = copy.deepcopy(data, {**shared, id(data._iterator): None})
    except (TypeError, RuntimeError, AttributeError, NotImplementedError):
        # A sampler that cannot be copied; what it draws globally is still given back.
        return data
    # What a loader refuses to have set once it is there.
    vars(twin).update(persistent_workers=False)
    return twin


def rows(batch: Batch) -> int | None:
    """The number of samples of a batch: the length of all its tensors, ``None`` if they differ.

    Nested tensors cannot be cut, and count as such.
    """
    if any(tensor.is_nested for tensor in tensors(batch)):
        return None
    lengths = {len(tensor) if tensor.ndim else 0 for tensor in tensors(batch)}
    return lengths.pop() if len(lengths) == 1 else None


def part(batch: Batch, start: int, stop: int) -> Batch:
    """The samples from ``start`` to ``stop``."""
    return mapped(lambda tensor: tensor[start:stop], batch)


def joined(first: Batch, second: Batch, axis: int = 0) -> Batch | None:
    """Two batches as one, along an axis; ``None`` where their shapes do not allow it."""
    others = tensors(second)
    try:
        return mapped(lambda tensor: torch.cat([tensor, next(others)], axis), first)
    except (RuntimeError, IndexError, StopIteration):
        return None


def halves(batch: Batch) -> list[Batch]:
    """A single batch as two, to measure how its parts would add up."""
    length = rows(batch)
    if length is None or length < 2:
        return [batch]
    return [part(batch, 0, length // 2), part(batch, length // 2, length)]


def require_pair(number: int, batch: Batch, dtype: torch.dtype) -> None:
    """Refuse what is no pair of inputs and targets, finite and of the parameters' type."""
    where = f"data, batch {number}"
    if isinstance(batch, Tensor):
        raise ValueError(
            f"{where}: expected a pair (inputs, targets), got one tensor; a single pair goes into "
            "a list: [(inputs, targets)]"
        )
    parts = batch if isinstance(batch, (tuple, list)) else ()
    if len(parts) != 2 or not all(isinstance(part, Tensor) for part in parts):
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise ValueError(
            f"{where}: expected a pair of tensors (inputs, targets), got {type(batch).__name__} "
            f"({kinds}); for any other batch give loss_fn=lambda model, batch: ... in place of loss"
        )
    inputs, targets = batch
    if inputs.ndim == 0 or targets.ndim == 0 or len(inputs) == 0 or len(inputs) != len(targets):
        raise ValueError(
            f"{where}: expected as many targets as inputs and at least one, got shapes "
            f"{tuple(inputs.shape)} and {tuple(targets.shape)}; put single examples into a loader"
        )
    for name, tensor in (("inputs", inputs), ("targets", targets)):
        if tensor.is_floating_point():
            if tensor.dtype != dtype:
                raise ValueError(
                    f"{where}: expected {name} of the parameters' type {dtype}, got {tensor.dtype}"
                )
            if tensor.device.type != "meta" and not all_finite(tensor):
                raise ValueError(f"{where}: expected finite {name}, got NaN or infinity")


def require_values(number: int, batch: Batch) -> None:
    """Refuse what cannot be brought to the parameters' device."""
    for tensor in tensors(batch):
        if tensor.device.type == "meta":
            raise ValueError(f"data, batch {number}: expected tensors with values, got one on meta")
        if tensor.is_floating_point() and not all_finite(tensor) and bool(tensor.isnan().any()):
            raise ValueError(f"data, batch {number}: expected finite numbers, got NaN")
