"""How long a computation will take, measured before it starts."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hessian_spectra.fan_out.computation import shards_of
from hessian_spectra.fan_out.keys import function_of
from hessian_spectra.fan_out.launcher import Launcher, cores
from hessian_spectra.fan_out.plan import Plan, jobs, makespan, plan
from hessian_spectra.fan_out.progress import duration
from hessian_spectra.fan_out.worker import environment
from hessian_spectra.results import Arrays
from hessian_spectra.work import KEEPS_NOTHING, FanOut

# How many items are timed, from the cheapest to the dearest.
PROBES = 4
# A quick item is timed over many calls that take this long together, in seconds.
SHORTEST_SECONDS = 0.1


@dataclass(frozen=True)
class Probe:
    """One timing.

    Args:
        cost: of the item that it stands for.
        seconds: that this item takes, by the time of its miniature.
    """

    cost: float
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """How much a run has to do, and how long that takes.

    Args:
        name: of the computation.
        items: how many different items there are.
        done: how many of them are done already.
        spent: seconds of one worker that these took.
        probes: the timings behind the rest, by rising cost.
        start: seconds to start a job, imports included; 0 for ``debug``.
        jobs: how many jobs the rest makes.
        seconds: seconds of one worker for the rest.
        low: the same if all items ran at the best rate that was timed.
        high: the same if all ran at the worst.
        wall: seconds until the end with ``workers``.
        workers: how many run at once.
        cluster: where.
    """

    name: str
    items: int
    done: int
    spent: float
    probes: tuple[Probe, ...]
    start: float
    jobs: int
    seconds: float
    low: float
    high: float
    wall: float
    workers: int
    cluster: str

    def __str__(self) -> str:
        """The estimate on one screen."""
        spent = f" (they took {duration(self.spent)} of one worker)" if self.done else ""
        lines = [f"{self.name}: {self.items} items, {self.done} done already{spent}"]
        if self.done == self.items:
            return lines[0]
        for probe in self.probes:
            took = duration(probe.seconds)
            lines.append(f"  timed: an item of cost {probe.cost:.3g} takes {took}")
        spread = f"{duration(self.low)} to {duration(self.high)} by the spread of the timings"
        lines.append(f"  one worker: {duration(self.seconds)} ({spread})")
        if self.cluster != "debug":
            where = f"{self.cluster}, {self.workers} worker{'s' if self.workers > 1 else ''}"
            start = f"{self.jobs} jobs, {duration(self.start)} to start each"
            lines.append(f"  {where}: {duration(self.wall)} ({start})")
        return "\n".join(lines)


def _rate(work: FanOut, plan: Plan, key: str) -> float:
    """Seconds per unit of cost, timed with the miniature of an item."""
    compute = function_of(plan.function.name)
    run = {"run": KEEPS_NOTHING} if work.trains else {}
    probe = work.probe(plan.items[key])
    runs, started = 0, time.perf_counter()
    with threadpool_limits(1):
        while not runs or time.perf_counter() - started < SHORTEST_SECONDS:
            compute(**probe, **run)
            runs += 1
    return (time.perf_counter() - started) / runs / work.cost(probe)


def _rates(work: FanOut, plan: Plan, missing: Sequence[str]) -> dict[str, float]:
    """Rates of a few items, spread over the range of costs."""
    by_cost = sorted(missing, key=lambda key: (plan.costs[key], key))
    picked = np.linspace(0, len(by_cost) - 1, min(PROBES, len(by_cost))).round().astype(int)
    # Once without looking at the clock: a first call loads and compiles.
    _rate(work, plan, by_cost[0])
    return {by_cost[index]: _rate(work, plan, by_cost[index]) for index in picked}


def _start_seconds(plan: Plan, launcher: Launcher) -> float:
    """How long a job takes before its first item."""
    if launcher.cluster == "debug":
        return 0.0
    module = plan.function.name.partition(":")[0]
    worker = (
        "import submitit.core.submission, importlib; from hessian_spectra import provenance; "
        f"importlib.import_module({module!r}); provenance.code_of({module!r})"
    )
    started = time.perf_counter()
    # A job is a process that looks after another one.
    for code in ("import submitit.local.local", worker):
        variables = os.environ | environment(plan.roots)
        subprocess.run([sys.executable, "-c", code], env=variables, check=True)
    return time.perf_counter() - started


def _seconds(costs: Mapping[str, float], rates: Mapping[str, float]) -> dict[str, float]:
    """How long items take, at rates between those that were timed."""
    known = sorted((costs[key], rate) for key, rate in rates.items())
    log_costs, log_rates = np.log(np.array(known)).T
    return {
        key: cost * float(np.exp(np.interp(np.log(cost), log_costs, log_rates)))
        for key, cost in costs.items()
    }


def estimate(
    name: str, work: FanOut, config: Any, networks: Arrays, *, folder: Path, launcher: Launcher
) -> Estimate:
    """How much :func:`run` with the same arguments has to do, and how long that will take.

    A few items, from the cheapest to the dearest, are timed with ``work.probe``; an item takes its
    ``work.cost`` times the rate that was timed near it. Nothing is written.
    """
    shards = shards_of(name, folder)
    todo = plan(work, config, networks)
    present = todo.costs.keys() & shards.present()
    missing = {key: cost for key, cost in todo.costs.items() if key not in present}
    rates = _rates(work, todo, list(missing)) if missing else {}
    seconds = _seconds(missing, rates) if missing else {}
    start = _start_seconds(todo, launcher) if missing else 0.0
    chunks = jobs(missing, launcher) if missing else []
    # A machine's workers share its cores.
    local = launcher.cluster == "local"
    at_once = min(launcher.workers_at_once, cores()) if local else launcher.workers_at_once
    whole = sum(missing.values())
    return Estimate(
        name=name,
        items=len(todo.costs),
        done=len(present),
        spent=shards.seconds(present),
        probes=tuple(Probe(missing[key], missing[key] * rate) for key, rate in rates.items()),
        start=start,
        jobs=len(chunks),
        seconds=sum(seconds.values(), 0.0),
        low=whole * min(rates.values(), default=0.0),
        high=whole * max(rates.values(), default=0.0),
        wall=makespan([start + sum(seconds[key] for key in chunk) for chunk in chunks], at_once),
        workers=launcher.workers_at_once,
        cluster=launcher.cluster,
    )
