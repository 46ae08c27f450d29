"""The time that a computation will take, measured before it starts."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hessian_papers.fan_out.computation import shards_of
from hessian_papers.fan_out.launcher import Launcher
from hessian_papers.fan_out.plan import Plan, plan
from hessian_papers.fan_out.progress import duration
from hessian_papers.work import KEEPS_NOTHING, FanOut, cores

# How many items are timed, from the cheapest to the dearest.
PROBES = 4
# A quick item is timed over many calls that take this long together, in seconds.
SHORTEST_SECONDS = 0.1


@dataclass(frozen=True)
class Estimate:
    """The work that a run has to do, and the time that it takes.

    Args:
        name: of the computation.
        items: how many different items there are.
        done: how many of them are done already.
        spent: seconds of one worker that these took.
        seconds: seconds of one worker for the rest.
        wall: the same with all workers, without the start of their jobs.
        where: the workers, in words.
    """

    name: str
    items: int
    done: int
    spent: float
    seconds: float
    wall: float
    where: str

    def __str__(self) -> str:
        """The estimate on one screen."""
        spent = f" (they took {duration(self.spent)} of one worker)" if self.done else ""
        text = f"{self.name}: {self.items} items, {self.done} done already{spent}"
        if self.done < self.items:
            text += f"\n  one worker: {duration(self.seconds)}"
            text += f"\n  {self.where}: {duration(self.wall)}, and the start of their jobs"
        return text


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


def _seconds(work: FanOut, todo: Plan, present: set[str]) -> np.ndarray:
    """The time that each of the missing items takes, at rates between those of a few."""
    missing = [(cost, key) for key, cost in todo.costs.items() if key not in present]
    if not missing:
        return np.zeros(1)
    missing.sort()
    picked = np.linspace(0, len(missing) - 1, min(PROBES, len(missing))).round().astype(int)
    # Once without looking at the clock: a first call loads and compiles.
    _rate(work, todo.items[missing[0][1]])
    rates = [_rate(work, todo.items[missing[index][1]]) for index in picked]
    costs = np.log([cost for cost, _ in missing])
    return np.exp(costs + np.interp(costs, costs[picked], np.log(rates)))


def estimate(
    name: str, work: FanOut, config: Any, given: Any, *, folder: Path, launcher: Launcher
) -> Estimate:
    """The work of :func:`run` with the same arguments, and the time that it will take.

    A few items, from the cheapest to the dearest, are timed with ``work.probe``; an item takes its
    ``work.cost`` times the rate that was timed near it. Nothing is written.
    """
    shards = shards_of(name, folder)
    todo = plan(work, config, given)
    present = todo.costs.keys() & shards.present()
    present -= shards.damaged(present)
    seconds = _seconds(work, todo, present)
    # A machine's workers share its cores.
    local, workers = launcher.cluster == "local", launcher.workers_at_once
    share = seconds.sum() / (min(workers, cores()) if local else workers)
    return Estimate(
        name=name,
        items=len(todo.costs),
        done=len(present),
        spent=shards.spent(present).seconds,
        seconds=float(seconds.sum()),
        wall=float(max(share, seconds.max())),
        where=launcher.words,
    )
