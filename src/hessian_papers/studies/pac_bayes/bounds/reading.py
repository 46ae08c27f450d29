"""Bounds of trained networks by method, as figure and claims read them."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, mean_of
from hessian_papers.results import StudyArrays

# What Table 10 calls the methods.
PRINTED = {
    "BASE": "base",
    "APPR": "approximate",
    "ITER": "iterative",
    "ITER(D)": "iterative, decaying",
    "ITER.M": "iterative, printed output",
}


class Row(NamedTuple):
    """A row of Table 10: ``network`` such as T-600, the method's name here, and what is printed."""

    network: str
    classes: int
    labels: str
    method: str
    bound: float
    divergence: float
    error: float
    half_log_variance: float
    test_error: float


class Reading(StudyArrays):
    """Bounds of A architectures by m methods with S seeds."""

    @property
    def networks(self) -> list[str]:
        """The architectures."""
        return [str(name) for name in self["network"]]

    @property
    def methods(self) -> list[str]:
        """The methods of the study."""
        return [str(name) for name in self["method"]]

    def of(self, name: str, network: str, method: str) -> np.ndarray:
        """A quantity of an architecture by a method, ``(S, ...)``.

        Raises:
            NothingToMeasure: the study lacks the method.
        """
        if method not in self.methods:
            raise NothingToMeasure(f"this run lacks the method {method!r}")
        place = self.networks.index(network), self.methods.index(method)
        return np.asarray(self[name][place])

    def layer(self, network: str) -> str:
        """The name of an architecture's first layer."""
        return str(self["layer"][self.networks.index(network), 0])

    def gain(self, network: str, better: str, worse: str) -> np.ndarray:
        """By how much the bound of one method is lower than that of another, ``(S,)``."""
        return self.of("bound", network, worse) - self.of("bound", network, better)

    @property
    def failures(self) -> np.ndarray:
        """By how much held-out errors are above the bounds, all that there are, flat.

        Less than none where the held-out images do not contradict the bound; a posterior whose
        training diverged has none.

        Raises:
            NothingToMeasure: all did.
        """
        values = np.asarray(self["held_out_error"] - self["bound"]).ravel()
        values = values[np.isfinite(values)]
        if not values.size:
            raise NothingToMeasure("the training of every posterior diverged")
        return values

    @property
    def confidence(self) -> float:
        """With what probability, at least, each bound holds."""
        return 1 - float(self["delta"]) - float(self["draws_delta"])


def estimated(values: np.ndarray) -> Estimate:
    """The mean over seeds with its interval; posteriors whose training diverged are left out.

    Raises:
        NothingToMeasure: none is left.
    """
    values = values[np.isfinite(values)]
    if not values.size:
        raise NothingToMeasure("no posterior here has that number: their training diverged")
    return mean_of(values)


def share(failed: np.ndarray) -> Estimate:
    """The share that failed, with the interval of Clopper and Pearson."""
    test = stats.binomtest(int(failed.sum()), len(failed))
    low, high = test.proportion_ci(0.95)
    return Estimate(float(test.statistic), float(low), float(high))


def printed_rows() -> Iterator[Row]:
    """The rows of Table 10, but for those of others' results."""
    lines = Path(__file__).with_name("table.csv").read_text("utf-8").splitlines()
    for entry in csv.DictReader(line for line in lines if not line.startswith("#")):
        if entry["method"] in PRINTED:
            yield Row(
                network=entry["network"],
                classes=int(entry["classes"]),
                labels=entry["labels"],
                method=PRINTED[entry["method"]],
                bound=float(entry["bound"]),
                divergence=float(entry["kl"]),
                error=float(entry["error"]),
                half_log_variance=float(entry["half_log_variance"]),
                test_error=float(entry["test_error"]),
            )


def architecture(row: Row) -> str:
    """What a row's network is called here: T-600 and R-600 are F-600.

    Example:
        >>> architecture(next(printed_rows()))
        'F-600'
    """
    return "F-" + row.network.partition("-")[2].partition("_")[0]


def rows_of(reading: Reading) -> Sequence[Row]:
    """The rows whose network, classes, labels and method a run has."""
    classes = int(reading["classes"])
    labels = "random" if bool(reading["random_labels"]) else "true"
    return [
        row
        for row in printed_rows()
        if architecture(row) in reading.networks
        and row.method in reading.methods
        and (row.classes, row.labels) == (classes, labels)
    ]
