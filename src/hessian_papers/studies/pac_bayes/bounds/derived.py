"""Quantities of bounds that figure and claims share, and the rows of Table 10 beside them."""

import csv
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure

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

    @property
    def architecture(self) -> str:
        """The name of its network here: T-600 and R-600 are F-600.

        Example:
            >>> Row("T-200^2_10", 10, "true", "base", 0.4, 2e4, 0.05, -1.2, 0.02).architecture
            'F-200^2'
        """
        return "F-" + self.network.partition("-")[2].partition("_")[0]


def rows_of(data: xr.Dataset) -> list[Row]:
    """The rows of Table 10 whose network, classes and labels a run has."""
    lines = Path(__file__).with_name("table.csv").read_text("utf-8").splitlines()
    table = csv.reader(line for line in lines if not line.startswith("#"))
    rows = [
        Row(network, int(classes), labels, PRINTED[method], *map(float, numbers))
        for network, classes, labels, method, *numbers in table
        if method in PRINTED
    ]
    of_run = int(data["classes"]), "random" if data["random_labels"] else "true"
    return [
        row
        for row in rows
        if row.architecture in data["network"].values and (row.classes, row.labels) == of_run
    ]


def printed_rows(data: xr.Dataset) -> list[Row]:
    """Rows of Table 10 whose method a run has, too."""
    return [row for row in rows_of(data) if row.method in data["method"].values]


def chance(data: xr.Dataset) -> float:
    """The error of guessing, from which on a bound says nothing."""
    return 1 - 1 / int(data["classes"])


def failures(data: xr.Dataset) -> xr.DataArray:
    """By how much held-out errors are above the bounds, all that there are.

    It is less than none where the held-out images do not contradict the bound; a posterior whose
    training diverged has none.

    Raises:
        NothingToMeasure: all did.
    """
    values = (data["held_out_error"] - data["bound"]).stack(posterior=("network", "method", "seed"))
    known = values.dropna("posterior")
    if not known.size:
        raise NothingToMeasure("the training of every posterior diverged")
    return known


def confidence(data: xr.Dataset) -> float:
    """The probability with which, at least, each bound holds."""
    return 1 - float(data["delta"]) - float(data["draws_delta"])
