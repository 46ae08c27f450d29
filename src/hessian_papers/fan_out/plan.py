"""The plan of a computation: its items, their keys and costs, and their jobs."""

import functools
import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hessian_papers.fan_out.items import telling, words
from hessian_papers.fan_out.keys import code_behind, function_name, item_key
from hessian_papers.fan_out.launcher import Launcher
from hessian_papers.fan_out.worker import Function
from hessian_papers.provenance import PACKAGES, root_of
from hessian_papers.work import FanOut, Item, Live, unseen

# Jobs per worker. On SLURM they may start at different times, and the last ones should end
# together. On one machine a job's start, seconds for the imports, costs more than an uneven end.
JOBS_PER_WORKER = {"debug": 1, "local": 1, "slurm": 4}


@dataclass(frozen=True)
class Plan:
    """The items of a computation.

    Args:
        function: computes an item.
        code: a digest of the code that computes and keeps items, and of its packages.
        order: the keys of all items, in their order, equal items with the same one.
        items: the items by key.
        costs: how long each takes, in the computation's own unit.
        roots: the folders from which a worker imports.
    """

    function: Function
    code: str
    order: tuple[str, ...]
    items: Mapping[str, Item]
    costs: Mapping[str, float]
    roots: tuple[Path, ...]

    @functools.cached_property
    def shown(self) -> set[str]:
        """The names of what the items do not all have in common."""
        return telling(self.items.values())

    def title(self, name: str, key: str) -> str:
        """The name of a live run of an item of the computation ``name``."""
        return f"{name} {words(self.items[key], self.shown)}" if self.shown else name


def plan(work: FanOut, config: Any, given: Any, live: Live = unseen) -> Plan:
    """Name and weigh the items of a computation.

    Args:
        work: its items, and what to do with them.
        config: the configuration, as ``work`` takes it.
        given: the samples or networks that it starts from, as ``work`` takes them.
        live: where its trainings are shown, which changes no key.

    Raises:
        ValueError: its function cannot be imported by others, an item holds something without a
            canonical form, or a cost is not a positive number.
    """
    name = function_name(work.compute)
    module = name.partition(":")[0]
    code = code_behind(name)
    entries = list(work.items(config, given))
    order = tuple(item_key(name, code, item) for item in entries)
    items = dict(zip(order, entries, strict=True))
    costs = {key: float(work.cost(item)) for key, item in items.items()}
    for key, cost in costs.items():
        if not (math.isfinite(cost) and cost > 0):
            raise ValueError(
                f"cost: expected a positive number, got {cost} for {words(items[key])}"
            )
    function = Function(name, work.trains, live)
    return Plan(
        function, code, order, items, costs, tuple(root_of(name) for name in (*PACKAGES, module))
    )


def jobs(costs: Mapping[str, float], launcher: Launcher) -> list[tuple[str, ...]]:
    """Cut items into jobs, the longest first.

    Args:
        costs: of the items that are to be computed, by key.
        launcher: says how many items go into a job, or how many jobs there are.

    Example:
        >>> jobs({"a": 1.0, "b": 5.0, "c": 2.0}, Launcher(workers=1, items_per_job=2))
        [('b', 'c'), ('a',)]
    """
    # Keys break ties, so that the same items always make the same jobs.
    longest_first = sorted(costs, key=lambda key: (-costs[key], key))
    size = launcher.items_per_job
    if size:
        starts = range(0, len(longest_first), size)
        return [tuple(longest_first[start : start + size]) for start in starts]
    count = min(len(longest_first), JOBS_PER_WORKER[launcher.cluster] * launcher.workers_at_once)
    loads = [(0.0, index) for index in range(count)]
    chunks: list[list[str]] = [[] for _ in range(count)]
    for key in longest_first:
        load, lightest = loads[0]
        chunks[lightest].append(key)
        heapq.heapreplace(loads, (load + costs[key], lightest))
    return sorted(map(tuple, chunks), key=lambda chunk: -sum(costs[key] for key in chunk))
