"""Time of the bootstrap intervals of correlations, beside ``scipy.stats.bootstrap``.

``python -m benchmarks.bootstrap [--quick] [--rounds N]``: one thread, CPU time of all intervals of
a figure, methods in random order, medians of ratios within a round. Both make bias-corrected and
accelerated intervals of the same correlations. Ours resamples all of them with one set of counts by
a matrix product, so that differences of correlations are paired as well; scipy's takes one
statistic at a time.
"""

import os
import statistics
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.stats

from benchmarks.table import bar_cells, print_table
from benchmarks.timing import ratio, rounds
from hessian_spectra.statistics import (
    bootstrap_interval,
    correlations,
    leave_one_out,
    resample_counts,
)

RESAMPLES, CONFIDENCE = 2000, 0.95


@dataclass(frozen=True)
class Task:
    """A figure's correlations: of networks at some points, with some quantities each."""

    points: int
    networks: int
    quantities: int
    bar: float | None = None

    def __str__(self) -> str:
        return f"{self.points} points of {self.networks} networks, {self.quantities} quantities"


# As in Figure 4 of singh2026cracking: sizes and times of a parametrisation, three norms of two
# matrices; of the demo and of the paper's size.
TASKS = (Task(12, 50, 6, 20), Task(24, 200, 6, 20))
HEADER = (
    f"| {'task':<42} | {'ours, ms':>8} | {'scipy, ms':>9} | {'ratio':>6} | {'bar':>4} | met |"
    f" {'difference':>10} |\n|{'-' * 44}|{'-' * 10}|{'-' * 11}|{'-' * 8}|{'-' * 6}|-----|"
    f"{'-' * 12}|"
)


def ours(target: np.ndarray, quantities: np.ndarray) -> np.ndarray:
    """Both ends of all intervals, ``(2, points, quantities)``."""
    networks = target.shape[1]
    sample, replicates, jackknife = (
        correlations(target, quantities, counts)
        for counts in (
            np.ones((1, networks)),
            resample_counts(networks, RESAMPLES, seed=0),
            leave_one_out(networks),
        )
    )
    return np.stack(bootstrap_interval(sample[0], replicates, jackknife, CONFIDENCE))


def scipys(target: np.ndarray, quantities: np.ndarray) -> np.ndarray:
    """The intervals by ``scipy.stats.bootstrap``, all quantities of a point in one call."""

    def pearson(t: np.ndarray, q: np.ndarray, axis: int) -> np.ndarray:
        return scipy.stats.pearsonr(t, q, axis=axis).statistic

    ends = []
    for item, several in zip(target, quantities, strict=True):
        samples = (np.broadcast_to(item, (several.shape[1], len(item))), several.T)
        result = scipy.stats.bootstrap(
            samples,
            pearson,
            paired=True,
            vectorized=True,
            axis=-1,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="BCa",
            rng=np.random.default_rng(0),
        )
        ends.append(result.confidence_interval)
    return np.moveaxis(np.array(ends), 1, 0)


def measure(task: Task, count: int) -> str:
    """One row of the table, with the largest difference of an end: scipy draws otherwise."""
    draws = np.random.default_rng(0)
    target = draws.standard_normal((task.points, task.networks))
    noise = draws.standard_normal((task.points, task.networks, task.quantities))
    quantities = target[..., None] + np.linspace(0.5, 3.0, task.quantities) * noise
    methods = {"ours": ours, "scipy": scipys}
    result = rounds({name: lambda f=f: f(target, quantities) for name, f in methods.items()}, count)
    faster = ratio(result, "scipy", "ours")
    own, other = (1e3 * statistics.median(result[name]) for name in ("ours", "scipy"))
    difference = np.abs(ours(target, quantities) - scipys(target, quantities)).max()
    bar, met = bar_cells(task.bar, faster)
    return (
        f"| {task!s:<42} | {own:>8.1f} | {other:>9.1f} | {faster:>6.1f} | {bar:>4} | {met:>3} "
        f"| {difference:>10.1e} |"
    )


def main(command: list[str] | None = None) -> None:
    """Measure and print the table, each row as soon as it is there."""
    print_table(__doc__, HEADER, TASKS, measure, rounds=5, quick_rounds=3, command=command)


if __name__ == "__main__":
    main()
