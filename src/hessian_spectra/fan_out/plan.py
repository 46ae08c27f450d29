"""What is to be computed: the items of a computation, their keys and costs, and their jobs."""

import heapq
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hessian_spectra.fan_out.keys import PACKAGE, Code, code_of, function_name, item_key, root_of
from hessian_spectra.fan_out.launcher import Launcher
from hessian_spectra.results import Arrays
from hessian_spectra.work import FanOut, Item

# Jobs per worker. On SLURM they may start at different times, and the last ones should end
# together. On one machine a worker that is done helps the others instead: starting a job, which
# takes seconds for the imports, is not worth it.
JOBS_PER_WORKER = {"debug": 1, "local": 1, "slurm": 4}


@dataclass(frozen=True)
class Plan:
    """The items of a computation.

    Args:
        function: the function's name, as :func:`keys.function_name` gives it.
        code: its code.
        order: the keys of all items, in their order, equal items with the same one.
        items: the items by key.
        costs: how long each takes, in the computation's own unit.
        roots: the folders from which a worker imports.
    """

    function: str
    code: Code
    order: tuple[str, ...]
    items: Mapping[str, Item]
    costs: Mapping[str, float]
    roots: tuple[Path, ...]


def plan(work: FanOut, config: Any, networks: Arrays) -> Plan:
    """Name and weigh the items of a computation.

    Raises:
        ValueError: its function cannot be imported by others, an item holds something without a
            canonical form, or a cost is not a positive number.
    """
    function = function_name(work.compute)
    module = function.partition(":")[0]
    code = code_of(module)
    found = list(work.items(config, networks))
    order = tuple(item_key(function, code.digest, item) for item in found)
    items = dict(zip(order, found, strict=True))
    costs = {key: float(work.cost(item)) for key, item in items.items()}
    for key, cost in costs.items():
        if not (math.isfinite(cost) and cost > 0):
            raise ValueError(
                f"cost: expected a positive number, got {cost} for {describe(items[key])}"
            )
    return Plan(function, code, order, items, costs, (root_of(PACKAGE), root_of(module)))


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
    return sorted((tuple(chunk) for chunk in chunks), key=lambda chunk: -_total(costs, chunk))


def _total(costs: Mapping[str, float], chunk: Sequence[str]) -> float:
    return sum(costs[key] for key in chunk)


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last job ends if each worker takes the next one as soon as it is free.

    Example:
        >>> makespan([3.0, 2.0, 2.0], 2)
        4.0
    """
    free = [0.0] * min(workers, max(len(seconds), 1))
    for duration in seconds:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


def describe(item: Item, among: Iterable[Item] = (), length: int = 100) -> str:
    """An item in a few words, for a message.

    Args:
        item: the item.
        among: the items that it is to be told from; what all have in common is left out.
        length: the most characters.

    Example:
        >>> describe({"size": 3, "x": np.zeros((2, 2))})
        '{"size": 3, "x": "array (2, 2)"}'
        >>> describe({"seed": 0, "size": 3}, [{"seed": 0, "size": 2}])
        '{"size": 3}'
    """

    def brief(value: Any) -> str:
        return f"array {value.shape}" if isinstance(value, np.ndarray) else str(value)

    def text(value: Any) -> str:
        return json.dumps(value, default=brief)

    own = {name: text(value) for name, value in item.items()}
    told = {
        name
        for other in among
        for name in own
        if name not in other or text(other[name]) != own[name]
    }
    words = ", ".join(f'"{name}": {own[name]}' for name in own if name in told or not told)
    return f"{{{words}}}" if len(words) <= length else f"{{{words[: length - 3]}...}}"
