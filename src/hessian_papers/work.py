"""Trainings and other computations that a stage runs: what they are given, and how they split."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.labelled import Variables, arrays_of, data_set, left_out
from hessian_papers.results import DIVERGED
from hessian_spectra.files import Arrays
from hessian_spectra.progress import Log, silent
from hessian_spectra.validation import NotFiniteError

# The keyword arguments of one call: numbers, strings, numpy arrays, and lists, dictionaries and
# dataclasses of them.
Item = Mapping[str, Any]


# Begins to show a training: its name, what tells it from all others, and its configuration.
Live = Callable[[str, str, Mapping[str, Any]], AbstractContextManager[Log]]


@contextmanager
def unseen(name: str, identity: str, config: Mapping[str, Any]) -> Iterator[Log]:
    """A :data:`Live` that shows nothing."""
    yield silent


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """The means that a training is given beside its configuration and data.

    Args:
        log: where it tells how it goes on.
        checkpoint: a folder of its own for its unfinished state. What is found there was written by
            an interrupted run of the same training by the same code, or is damaged. Whoever runs
            the training removes the folder when the result is kept. ``None``: no state is kept.
        folder: an empty folder for a result that is more than arrays, such as the weights of a
            language model; it is kept beside the arrays if anything was written there. ``None``:
            it would be lost.

    Example:
        >>> KEEPS_NOTHING.log(1, {"loss": 0.5})
        >>> KEEPS_NOTHING.checkpoint is None
        True
    """

    log: Log = silent
    checkpoint: Path | None = None
    folder: Path | None = None


KEEPS_NOTHING = TrainingRun()


# The only array of an item whose network has diverged: what is not finite of it.
NOT_FINITE = "not_finite"


def computed(compute: Callable[..., Arrays], item: Item, **also: Any) -> Arrays:
    """The arrays of an item; of a kept network whose curvature overflows the reason alone.

    Weights and loss may be finite where products with the Hessian are not: the training diverged.

    Args:
        compute: the function of the item.
        item: its keyword arguments; a network of an ensemble is its ``kept``.
        also: further ones.

    Raises:
        NotFiniteError: so it is, and the item has no kept network.
    """
    try:
        return compute(**item, **also)
    except NotFiniteError as error:
        if "kept" not in item:
            raise
        return {NOT_FINITE: np.array(str(error))}


def _without(given: xr.Dataset, lost: Sequence[Item]) -> xr.Dataset:
    """An ensemble in which the networks of some items have diverged, too."""
    diverged = given[DIVERGED].copy()
    for item in lost:
        # Of an item of several networks nobody knows which: it is not said of one alone.
        for kept in [item["kept"]] if hasattr(item["kept"], "folder") else item["kept"]:
            # A network's folder is called by its place among all.
            diverged.values.flat[int(Path(kept.folder).name)] = True
    return given.assign({DIVERGED: diverged})


@dataclass(frozen=True, kw_only=True)
class FanOut:
    """One computation as many independent items, which may run anywhere and in any order.

    Called like a function ``(config, given) -> data set`` it computes all items in this process,
    one after the other; whoever has more machines computes them elsewhere and calls ``gather``.

    Args:
        items: ``(config, given) -> items`` from samples or networks; an item says all that its
            computation needs, so equal items give equal arrays.
        compute: a function of a module, called with an item as keyword arguments.
        gather: ``(config, arrays of all items in their order) -> data set``.
        cost: how long an item takes in some unit, for progress and estimates.
        probe: a miniature of an item, whose time tells that of a unit of ``cost``.
        trains: whether ``compute`` is a training, which takes a :class:`TrainingRun` as ``run``.
        spreads: whether there can be several items; a single one is computed in the process that
            asks for it, unless there are other machines.
        words: ``(given, item) -> words`` by which people know an item: first what it is, then what
            tells it from others, as many for each; ``None``: by its arguments.

    Example:
        >>> import numpy as np
        >>> squares = FanOut(
        ...     items=lambda config, given: [{"a": a} for a in range(config)],
        ...     compute=lambda a: {"square": np.array(a * a)},
        ...     gather=lambda config, parts: {"squares": np.stack([p["square"] for p in parts])},
        ... )
        >>> squares(4, {})["squares"].tolist()
        [0, 1, 4, 9]
    """

    items: Callable[[Any, Any], Sequence[Item]]
    compute: Callable[..., Arrays]
    gather: Callable[[Any, Sequence[Arrays]], Any]
    cost: Callable[[Item], float] = lambda item: 1.0
    probe: Callable[[Item], Item] = lambda item: item
    trains: bool = False
    spreads: bool = True
    words: Callable[[Any, Item], Sequence[str]] | None = None

    def __call__(self, config: Any, given: Any, run: TrainingRun = KEEPS_NOTHING) -> Any:
        """The result of the whole computation, made in this process; nothing else is kept of it."""
        also = {"run": run} if self.trains else {}
        items = self.items(config, given)
        parts = [computed(self.compute, item, **also) for item in items]

        def again(others: xr.Dataset) -> Any:
            return self(config, others, run)

        return self.collected(config, given, items, parts, again)

    def collected(
        self,
        config: Any,
        given: Any,
        items: Sequence[Item],
        parts: Sequence[Arrays],
        again: Callable[[Any], Any],
    ) -> Any:
        """The result that ``gather`` makes of the arrays of all items; nothing of none.

        Networks that turn out to have diverged are left out, and counted.

        Args:
            config: the configuration.
            given: the samples or networks that the items are of.
            items: all of them.
            parts: what :func:`computed` gives of each.
            again: makes the result of other networks; most items of theirs are among these.
        """
        lost = [item for item, part in zip(items, parts, strict=True) if NOT_FINITE in part]
        if not lost:
            return self.gather(config, parts) if parts else xr.Dataset()
        others = _without(given, lost)
        return left_out(again(others), int((others[DIVERGED] & ~given[DIVERGED]).sum()))


def alone(train: Callable[..., Arrays], variables: Callable[[Any], Variables]) -> FanOut:
    """A training ``train(config, data, run)`` of arrays as a computation of one item.

    Args:
        train: a function of a module; ``config`` is a dataclass, ``data`` are the samples' arrays.
        variables: of a configuration, what is declared of the arrays that it returns.
    """
    return FanOut(
        items=lambda config, data: [{"config": config, "data": arrays_of(data)}],
        compute=train,
        gather=lambda config, parts: data_set(parts[0], variables(config)),
        trains=True,
        spreads=False,
    )
