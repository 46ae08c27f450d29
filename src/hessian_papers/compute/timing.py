"""The time that a computation takes: how far a run is, and an estimate before it starts."""

import contextlib
import math
import sys
import time
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from hessian_papers.compute.launcher import Launcher
from hessian_papers.compute.plan import Plan, plan
from hessian_papers.processes import cores
from hessian_papers.work import KEEPS_NOTHING, FanOut
from hessian_spectra.progress import duration

# Elsewhere than on a terminal: how often a line is printed, in seconds.
LINE_SECONDS = 30.0
# How many items are timed, from the cheapest to the dearest.
PROBES = 4
# A quick item is timed over many calls that take this long together, in seconds.
SHORTEST_SECONDS = 0.1


class _Lines:
    """A file for a bar where there is no terminal: a line for each state that it shows."""

    def write(self, text: str) -> None:
        if line := text.strip():
            tqdm.write(line, file=sys.stderr)

    def flush(self) -> None:
        pass


class Progress:
    """The progress of one run on standard error: a bar on a terminal, else some lines.

    Args:
        name: of the computation.
        costs: of all items, by key: what is done and what is left is measured in it.
        before: the keys of those that were done before the run.
    """

    def __init__(self, name: str, costs: Mapping[str, float], before: Set[str]) -> None:
        self.name, self.before = name, len(before)
        self._costs, self._done = costs, set(before)
        terminal = sys.stderr.isatty()
        shown: dict[str, Any] = {} if terminal else {"file": _Lines(), "delay": LINE_SECONDS}
        self._bar = tqdm(
            total=math.fsum(costs.values()),
            initial=math.fsum(costs[key] for key in before),
            desc=name,
            bar_format="{desc}, {percentage:.0f} % of the work, {remaining} left"
            + (" {bar}" if terminal else ""),
            mininterval=0.1 if terminal else LINE_SECONDS,
            miniters=0,
            smoothing=0,
            leave=False,
            **shown,
        )

    def __enter__(self) -> "Progress":
        """Begin to show it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop showing it."""
        self._bar.close()

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return float(self._bar.format_dict["elapsed"])

    @property
    def computed(self) -> int:
        """The number of items that were done in this run."""
        return len(self._done) - self.before

    def update(self, done: Set[str], status: str = "") -> None:
        """Show which items are done by now.

        Args:
            done: their keys, those of other computations among them.
            status: what the cluster has to say.
        """
        new = (done & self._costs.keys()) - self._done
        self._done |= new
        count = f"{self.name}: {len(self._done)}/{len(self._costs)} items"
        self._bar.set_description_str(", ".join(filter(None, [count, status])), refresh=False)
        self._bar.update(math.fsum(self._costs[key] for key in new))

    def say(self, text: str) -> None:
        """Print a line about the run."""
        # A closed pipe must not end a run of hours.
        with contextlib.suppress(BrokenPipeError):
            tqdm.write(f"{self.name}: {text}", file=sys.stderr)


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


def estimate(
    name: str, work: FanOut, config: Any, given: Any, *, folder: Path, launcher: Launcher
) -> str:
    """The work of :func:`run` with the same arguments, and the time that it will take, in words.

    A few items, from the cheapest to the dearest, are timed with ``work.probe``; an item takes its
    ``work.cost`` times the rate that was timed near it. Nothing is written, and the start of
    processes or jobs takes a while more.
    """
    todo = plan(name, work, config, given, folder)
    shards, costs = todo.shards, todo.costs
    present = shards.present() & costs.keys()
    present -= shards.damaged(present)
    took = (
        f" (they took {duration(shards.spent(present).seconds)} of one worker)" if present else ""
    )
    text = f"{name}: {len(costs)} items, {len(present)} done already{took}"
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
