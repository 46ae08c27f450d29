"""Batches of any structure: moved, cut, joined, and looked at."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from hessian_spectra.curvature.rows import all_finite
from hessian_spectra.seeding import generator
from hessian_spectra.validation import is_count, require

# A pair (inputs, targets), or what a loss function takes: tensors in tuples, lists and mappings.
Batch = Any


def tensors(batch: Batch) -> Iterator[Tensor]:
    """The tensors of a batch, in order."""
    yield from _stacks(batch, None)


def _stacks(batch: Batch, level: int | None) -> Iterator[Any]:
    """The parts that hold samples one after the other: tensors, and the lists at a level."""
    if isinstance(batch, Tensor) or (level == 0 and _is_list(batch)):
        yield batch
    elif isinstance(batch, Mapping):
        for part in batch.values():
            yield from _stacks(part, level)
    elif isinstance(batch, (tuple, list)):
        for part in batch:
            yield from _stacks(part, _below(batch, level))


def _is_list(batch: Batch) -> bool:
    """Whether it may have any number of entries: a list or a tuple, whose fields have no names."""
    return isinstance(batch, (tuple, list)) and not hasattr(batch, "_fields")


def _below(batch: Batch, level: int | None) -> int | None:
    return level - 1 if level is not None and _is_list(batch) else level


def levels(batch: Batch) -> tuple[int | None, ...]:
    """The levels of nesting at which lists may hold samples, and ``None``: tensors alone do.

    A collator gives a list for what belongs together, ``[inputs, targets]``, and for samples that
    cannot be stacked, ``([image, image], [boxes, boxes])``: here at level 1.
    """

    def depth(part: Batch) -> int:
        parts = part.values() if isinstance(part, Mapping) else part
        inside = parts if isinstance(part, (Mapping, tuple, list)) else ()
        return _is_list(part) + max(map(depth, inside), default=0)

    return (*range(depth(batch)), None)


def places(batch: Batch, level: int | None = None) -> Iterator[Sequence[Tensor]]:
    """The tensors that stand at one place of each sample, or the one that holds them all."""
    for stack in _stacks(batch, level):
        listed = [stack] if isinstance(stack, Tensor) else stack
        yield from zip(*map(tensors, listed), strict=False)


def mapped(
    function: Callable[..., Any], batch: Batch, *others: Batch, level: int | None = None
) -> Batch:
    """The batch with a function applied to what holds its samples; the rest as it is.

    Args:
        function: of a tensor, or of a list at the level.
        batch: any batch.
        others: batches of the same structure, whose parts follow as further arguments.
        level: the level of nesting at which lists hold samples.

    Raises:
        ValueError: the structures differ.
    """
    if isinstance(batch, Tensor) or (level == 0 and _is_list(batch)):
        return function(batch, *others)
    if isinstance(batch, Mapping):
        _require_alike([part.keys() for part in (batch, *others)])
        # A copy keeps the type, whose attributes a model may read.
        result: Any = copy.copy(batch)
        for key, part in batch.items():
            result[key] = mapped(function, part, *(other[key] for other in others), level=level)
        return result
    if isinstance(batch, (tuple, list)):
        _require_alike([len(part) for part in (batch, *others)])
        below = _below(batch, level)
        parts = [mapped(function, *at, level=below) for at in zip(batch, *others, strict=True)]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def _require_alike(shapes: Sequence[Any]) -> None:
    require(all(shape == shapes[0] for shape in shapes), "batches", "one structure", shapes)


def moved(batch: Batch, device: torch.device) -> Batch:
    """The batch on a device, as a copy where torch.inference_mode, which has no graph, made it."""
    return mapped(lambda at: (at.clone() if at.is_inference() else at).to(device), batch)


def cast(batch: Batch, dtype: torch.dtype) -> Batch:
    """The batch with its floating-point numbers in another type."""
    return mapped(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor, batch)


def private_loader(data: Iterable[Batch]) -> Iterable[Batch]:
    """A loader's copy over the same data set; other data as it is.

    Its passes draw from copies of the loader's own generators, or from one where it has none, and
    leave workers that persist to the pass of the user's that they belong to.
    """
    if not isinstance(data, DataLoader):
        return data
    shared = {id(part): part for part in (data.dataset, data.collate_fn, data.worker_init_fn)}
    try:
        twin = copy.deepcopy(data, {**shared, id(data._iterator): None})
    except (TypeError, RuntimeError, AttributeError, NotImplementedError):
        # A sampler that cannot be copied; what it draws globally is still given back.
        return data
    # Else they would draw from the global one.
    drawing: tuple[Any, ...] = (twin, twin.sampler)
    for part in drawing:
        if getattr(part, "generator", ...) is None:
            part.generator = generator(0, "order of samples")
    # What a loader refuses to have set once it is there.
    vars(twin).update(persistent_workers=False)
    return twin


def first_batches(data: Iterable[Batch], count: int) -> list[Batch]:
    """So many batches, as copies: a stream gives others when read again, or fills the same memory.

    Raises:
        ValueError: the number is none of at least 1, or there are fewer.
    """
    require(is_count(count, 1), "num_batches", "a whole number of at least 1", count)
    kept = [mapped(_kept, batch) for batch in islice(data, count)]
    require(len(kept) == count, "num_batches", f"at most the {len(kept)} that there are", count)
    return kept


def _kept(tensor: Tensor) -> Tensor:
    """A copy, of which derivatives are taken if they were."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def rows(batch: Batch, level: int | None = None) -> int | None:
    """The number of samples: the length of all that holds samples, ``None`` if they differ.

    Nested tensors cannot be cut, and count as such.
    """
    if any(tensor.is_nested for tensor in tensors(batch)):
        return None
    stacks = _stacks(batch, level)
    lengths = {0 if isinstance(at, Tensor) and not at.ndim else len(at) for at in stacks}
    return lengths.pop() if len(lengths) == 1 else None


def part(batch: Batch, start: int, stop: int, level: int | None = None) -> Batch:
    """The samples from ``start`` to ``stop``."""
    return mapped(lambda stack: stack[start:stop], batch, level=level)


def joined(first: Batch, second: Batch, axis: int = 0, level: int | None = None) -> Batch | None:
    """Two batches as one, tensors along an axis; ``None`` where their shapes do not allow it.

    Example:
        >>> s, t = torch.zeros(1, 2), torch.ones(3, 2)
        >>> [len(part) for part in joined([s, s], [t, t])]
        [4, 4]
        >>> [len(part) for part in joined([s, s], [t, t], level=0)]
        [1, 1, 3, 3]
    """

    def together(*stacks: Any) -> Any:
        is_tensor = isinstance(stacks[0], Tensor)
        return torch.cat(stacks, axis) if is_tensor else stacks[0] + stacks[1]

    try:
        return mapped(together, first, second, level=level)
    except (RuntimeError, IndexError, TypeError, ValueError, AttributeError):
        return None


def halves(batch: Batch, level: int | None = None) -> list[Batch]:
    """A single batch as two, to measure how its parts would add up."""
    length = rows(batch, level)
    if length is None or length < 2:
        return [batch]
    return [part(batch, 0, length // 2, level), part(batch, length // 2, length, level)]


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
