"""The plan of a computation: its items, their keys and costs; and how any process computes them."""

import functools
import math
import os
import pkgutil
import re
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from hessian_papers.compute.items import names, plain, words
from hessian_papers.compute.keys import code_behind, function_name, item_key
from hessian_papers.compute.shards import Shards, lasts
from hessian_papers.work import FanOut, Item, Live, TrainingRun, computed, unseen
from hessian_spectra.validation import require


def together() -> bool:
    """Whether ``torchrun`` has started this process, so that several compute each item together."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def follows() -> bool:
    """Whether it is another one of these processes that keeps what they compute."""
    return together() and os.environ.get("RANK", "0") != "0"


def _device() -> str:
    """The GPU that this process has used, by its name; empty: none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    return str(torch.cuda.get_device_name())


@functools.cache
def _code_loaded(function: str) -> str:
    """The digest of the code of a function that this process runs from now on."""
    # First the code is loaded, then the files are looked at.
    pkgutil.resolve_name(function)
    return code_behind(function)


def _is_of_the_job(error: Exception) -> bool:
    """Whether an error was raised where submitit heard a signal, and is not the item's under way.

    The job is over, or goes back into the queue; then SLURM ends all that runs in it, and with it
    the `scontrol` that has asked for that, whose end is an error as well.
    """
    modules = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
    return any(name.partition(".")[0] == "submitit" for name in modules)


@dataclass(frozen=True)
class Plan:
    """The items of a computation, or some of them, and all that a process needs to compute them.

    Args:
        name: of the computation.
        function: the name of what computes an item, by which ``pkgutil.resolve_name`` finds it.
        code: the digest of the code and packages that make shards when the run started.
        items: the items by key, in the order in which they are computed.
        words: an item in words by its key: what it is, and what tells it from the others.
        shards: where the results are kept.
        trains: whether it is a training: it is given a :class:`~hessian_papers.work.TrainingRun`.
        live: where a training is shown.
        costs: how long each item takes, in the computation's own unit.
        order: the keys of all items, in their order, equal items with the same one.
    """

    name: str
    function: str
    code: str
    items: Mapping[str, Item]
    words: Mapping[str, str]
    shards: Shards
    trains: bool
    live: Live
    costs: Mapping[str, float]
    order: tuple[str, ...]

    def part(self, keys: Sequence[str]) -> "Plan":
        """Some of the items, in this order."""
        items = {key: self.items[key] for key in keys}
        return replace(self, items=items, costs={}, order=tuple(keys))

    def __call__(self) -> None:
        """Compute all items in a process of their own; one that raises is noted, the others go on.

        An item whose shard is there is skipped, so that a job which was put back into the queue
        goes on where the work stands.

        Raises:
            OSError: nothing can be written.
            RuntimeError: code or packages are others than when the keys were made.
        """
        if _code_loaded(self.function) != self.code:
            raise RuntimeError(
                "the code or a package has changed since the run was started: start it again"
            )
        for key, item in self.items.items():
            # The driver forgets what an item raised before it is tried again.
            if self.shards.has(key) or self.shards.error(key):
                continue
            try:
                if item_key(self.function, self.code, item) != key:
                    raise RuntimeError(f"item: expected that of the key {key}, got another one")
                self.compute(key)
            except Exception as error:
                if _is_of_the_job(error):
                    raise
                self.shards.write_error(key, error)
                if lasts(self.shards.error(key)):
                    raise

    def checkpoint(self) -> Any:
        """The job that submitit puts back into the queue at the time limit: the same one again."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def compute(self, key: str) -> None:
        """Compute an item and write its shard; a training goes on from its unfinished state."""
        function = pkgutil.resolve_name(self.function)
        with threadpool_limits(1):
            started = time.perf_counter()
            with self._means(key) as means:
                arrays = computed(function, self.items[key], **means)
            seconds = time.perf_counter() - started
        if follows():
            self.shards.wait_for(key)
        else:
            self.shards.write(key, arrays, seconds, _device())

    def in_words(self, key: str) -> str:
        """An item in words, for messages: all that it is, if it is the only one."""
        return self.words[key] or words(self.items[key])

    @contextmanager
    def _means(self, key: str) -> Iterator[dict[str, TrainingRun]]:
        """A block in which an item has what it is given besides: of a training, its run."""
        if not self.trains:
            yield {}
        elif follows():
            yield {"run": TrainingRun(checkpoint=self.shards.unfinished(key))}
        else:
            title = f"{self.words[key]} ({self.name})" if self.words[key] else self.name
            with self.live(title, key, plain(self.items[key])) as log:
                yield {"run": self.shards.run(key, log)}


def plan(
    name: str, work: FanOut, config: Any, given: Any, folder: Path, live: Live = unseen
) -> Plan:
    """Name and weigh the items of a computation.

    Args:
        name: of the computation, and of its folder.
        work: its items, and what to do with them.
        config: the configuration, as ``work`` takes it.
        given: the samples or networks that it starts from, as ``work`` takes them.
        folder: of the shards of all computations.
        live: where its trainings are shown, which changes no key.

    Raises:
        ValueError: its name cannot be that of a folder, its function cannot be imported by others,
            an item holds something without a canonical form, or a cost is not a positive number.
    """
    fits = re.fullmatch(r"[\w-][\w.-]*", name) is not None
    require(fits, "name", "letters, digits, '-', '_' and '.'", name)
    function = function_name(work.compute)
    code = code_behind(function)
    entries = list(work.items(config, given))
    order = tuple(item_key(function, code, item) for item in entries)
    items = dict(zip(order, entries, strict=True))
    costs = {key: float(work.cost(item)) for key, item in items.items()}
    for key, cost in costs.items():
        if not (math.isfinite(cost) and cost > 0):
            raise ValueError(
                f"cost: expected a positive number, got {cost} for {words(items[key])}"
            )
    shards = Shards((folder / name).absolute())
    said = names(items, given, work.words)
    return Plan(name, function, code, items, said, shards, work.trains, live, costs, order)
