"""Where batches come from: lists, loaders, data sets that are streams, classes of one's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from ..cases import draws

Pair = tuple[Tensor, Tensor]


def cut(inputs: Tensor, targets: Tensor, sizes: tuple[int, ...]) -> list[Pair]:
    """Batches of these sizes, the last one with what is left."""
    starts = [0]
    for size in sizes:
        if starts[-1] + size < len(inputs):
            starts.append(starts[-1] + size)
    stops = [*starts[1:], len(inputs)]
    return [(inputs[a:b], targets[a:b]) for a, b in zip(starts, stops, strict=True)]


class Stream(IterableDataset[Pair]):
    """Samples one after the other."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.inputs)

    def __iter__(self) -> Iterator[Pair]:
        yield from zip(self.inputs, self.targets, strict=True)


class Anew:
    """Batches by a generator function, which starts anew with each pass."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(cut(self.inputs, self.targets, (3, 2)))

    def __iter__(self) -> Iterator[Pair]:
        # As augmentations do, of which the samples stay the same.
        torch.rand(1)
        yield from cut(self.inputs, self.targets, (3, 2))


@dataclass(frozen=True)
class Source:
    """The way from inputs and targets to data.

    Args:
        name: of the test.
        data: of inputs and targets.
        single: whether it is one batch.
        named: whether the batches are dictionaries.
    """

    name: str
    data: Callable[[Tensor, Tensor], Any]
    single: bool = False
    named: bool = False


def as_named(inputs: Tensor, targets: Tensor) -> list[dict[str, Any]]:
    return [{"x": x, "labels": y, "text": "kept"} for x, y in cut(inputs, targets, (2, 1))]


def loaded(**settings: Any) -> Callable[[Tensor, Tensor], DataLoader[Any]]:
    return lambda inputs, targets: DataLoader(TensorDataset(inputs, targets), **settings)


SOURCES = [
    Source("one batch", lambda inputs, targets: [(inputs, targets)], single=True),
    Source("uneven", lambda inputs, targets: cut(inputs, targets, (1, 3))),
    Source("shuffled loader", loaded(batch_size=2, shuffle=True)),
    Source("two", lambda inputs, targets: cut(inputs, targets, (2,))),
    Source("dictionaries", as_named, named=True),
    Source("loader", loaded(batch_size=3)),
    Source("stream", lambda inputs, targets: DataLoader(Stream(inputs, targets), batch_size=2)),
    Source("read anew", Anew),
    Source("loader with a generator", lambda inputs, targets: loaded(
        batch_size=3, shuffle=True, generator=draws(7))(inputs, targets)),
]  # fmt: skip
sources = {source.name: source for source in SOURCES}
WORKERS = [
    Source("workers", loaded(batch_size=3, shuffle=True, num_workers=1)),
    Source("workers that stay",
           loaded(batch_size=3, shuffle=True, num_workers=1, persistent_workers=True)),
]  # fmt: skip
