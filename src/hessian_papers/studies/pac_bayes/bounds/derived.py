"""Quantities of bounds that figure and claims share, and the rows of Table 10 beside them."""

import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.table10 import Row, table10

# What Table 10 calls the methods.
PRINTED = {
    "BASE": "base",
    "APPR": "approximate",
    "ITER": "iterative",
    "ITER(D)": "iterative, decaying",
    "ITER.M": "iterative, printed output",
}


def rows_of(data: xr.Dataset) -> list[Row]:
    """The rows of Table 10 whose network, classes and labels a run has, with our methods' names."""
    rows = [row._replace(method=PRINTED[row.method]) for row in table10() if row.method in PRINTED]
    of_run = int(data["classes"]), "random" if data["random_labels"] else "true"
    return [
        row
        for row in rows
        if row.architecture in data["network"].values and (row.classes, row.labels) == of_run
    ]


def printed_rows(data: xr.Dataset) -> list[Row]:
    """Rows of Table 10 whose method a run has, too."""
    return [row for row in rows_of(data) if row.method in data["method"].values]


def tightest_rows(data: xr.Dataset) -> list[Row]:
    """The row of Table 10 with the smallest bound for each network that a run has."""
    rows = sorted(rows_of(data), key=lambda row: row.bound)
    return [*{row.network: row for row in reversed(rows)}.values()]


def of_paper(network: str) -> bool:
    """Whether Table 10 has a network.

    Example:
        >>> of_paper("F-1200"), of_paper("F-8")
        (True, False)
    """
    return network in {row.architecture for row in table10()}


def chance(data: xr.Dataset) -> float:
    """The error of guessing, from which on a bound says nothing."""
    return 1 - 1 / int(data["classes"])


def failures(data: xr.Dataset) -> xr.DataArray:
    """The excess of held-out errors over the bounds, of all that there are.

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
