"""Computations that split into independent items, such as the networks of an ensemble."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hessian_spectra.results import Arrays

# The keyword arguments of one call: numbers, strings, lists of them, or numpy arrays.
Item = Mapping[str, Any]


_unfinished: ContextVar[Path | None] = ContextVar("unfinished", default=None)


def checkpoint_file() -> Path | None:
    """Where the item that is being computed may keep its unfinished state.

    What is found there was written by an interrupted computation of an item with the same key, that
    is of the same item by the same code, or is damaged. Whoever computes the item removes the file
    when it is done.

    Returns:
        The file, which need not exist; ``None`` where nothing is kept.

    Example:
        >>> checkpoint_file() is None
        True
        >>> with unfinished_state_in(Path("item.npz")):
        ...     print(checkpoint_file())
        item.npz
    """
    return _unfinished.get()


@contextmanager
def unfinished_state_in(path: Path) -> Iterator[None]:
    """Let :func:`checkpoint_file` name ``path`` meanwhile."""
    token = _unfinished.set(path)
    try:
        yield
    finally:
        _unfinished.reset(token)


def _unit(item: Item) -> float:
    return 1.0


def _whole(item: Item) -> Item:
    return item


@dataclass(frozen=True, kw_only=True)
class FanOut:
    """One computation as many independent items, which may run anywhere and in any order.

    Called like a function ``(config, networks) -> arrays`` it computes all items in this process,
    one after the other; whoever has more machines computes them elsewhere and calls ``gather``.

    Args:
        items: ``(config, networks) -> items``; an item says all that its computation needs, so
            equal items give equal arrays.
        compute: a function of a module, called with an item as keyword arguments.
        gather: ``(config, arrays of all items in their order) -> arrays``.
        cost: how long an item takes in some unit, for progress and estimates.
        probe: a miniature of an item, whose time tells that of a unit of ``cost``.

    Example:
        >>> import numpy as np
        >>> squares = FanOut(
        ...     items=lambda config, networks: [{"a": a} for a in range(config)],
        ...     compute=lambda a: {"square": np.array(a * a)},
        ...     gather=lambda config, parts: {"squares": np.stack([p["square"] for p in parts])},
        ... )
        >>> squares(4, {})["squares"].tolist()
        [0, 1, 4, 9]
    """

    items: Callable[[Any, Arrays], Sequence[Item]]
    compute: Callable[..., Arrays]
    gather: Callable[[Any, Sequence[Arrays]], Arrays]
    cost: Callable[[Item], float] = _unit
    probe: Callable[[Item], Item] = _whole

    def __call__(self, config: Any, networks: Arrays) -> Arrays:
        """The arrays of the whole computation, made in this process."""
        parts = [self.compute(**item) for item in self.items(config, networks)]
        return self.gather(config, parts)
