"""The time that a computation takes: how far a run is, and an estimate before it starts."""

import time
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hessian_papers.compute.launcher import Launcher
from hessian_papers.compute.plan import Plan
from hessian_papers.processes import cores
from hessian_papers.work import KEEPS_NOTHING, FanOut
from hessian_spectra.progress import duration

# How many items are timed, from the cheapest to the dearest.
PROBES = 4
# A quick item is timed over many calls that take this long together, in seconds.
SHORTEST_SECONDS = 0.1


def _rate(work: FanOut, item: Mapping[str, Any]) -> float:
    """Seconds per unit of cost, timed with the miniature of an item."""
    run = {"run": KEEPS_NOTHING} if work.trains else {}
    probe = work.probe(item)
    runs, started = 0, time.perf_counter()
    with threadpool_limits(1):
        while not runs or time.perf_counter() - started < SHORTEST_SECONDS:
            work.compute(**probe, **run)
            runs += 1
    return (time.perf_counter() - started) / runs / work.cost(probe)


def _seconds(work: FanOut, todo: Plan, present: Set[str]) -> np.ndarray:
    """The time that each of the missing items takes, at rates between those of a few."""
    missing = sorted((cost, key) for key, cost in todo.costs.items() if key not in present)
    picked = np.linspace(0, len(missing) - 1, min(PROBES, len(missing))).round().astype(int)
    items = [todo.items[missing[index][1]] for index in picked]
    # Once without looking at the clock: a first call loads and compiles.
    _rate(work, items[0])
    costs = np.log([cost for cost, _ in missing])
    return np.exp(costs + np.interp(costs, costs[picked], np.log([_rate(work, i) for i in items])))


def estimate(todo: Plan, work: FanOut, launcher: Launcher) -> str:
    """The work of a computation, and the time that it will take, in words.

    A few items, from the cheapest to the dearest, are timed with ``work.probe``; an item takes its
    ``work.cost`` times the rate that was timed near it. Nothing is written, and the start of
    processes or jobs takes a while more.
    """
    shards, costs = todo.shards, todo.costs
    present = shards.present() & costs.keys()
    present -= shards.damaged(present)
    took = (
        f" (they took {duration(shards.spent(present).seconds)} of one worker)" if present else ""
    )
    text = f"{todo.name}: {len(costs)} items, {len(present)} done already{took}"
    if len(present) == len(costs):
        return text
    seconds = _seconds(work, todo, present)
    # A machine's workers share its cores; and no item is shared.
    local, workers = launcher.cluster == "local", launcher.workers_at_once
    wall = max(seconds.sum() / (min(workers, cores()) if local else workers), seconds.max())
    return (
        f"{text}\n  one worker: {duration(seconds.sum())}"
        f"\n  {launcher.words}: {duration(wall)}, and the start of their jobs"
    )
