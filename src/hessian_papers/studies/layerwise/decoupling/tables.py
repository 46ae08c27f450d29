"""Tables 6, 7 and 9 of wu2022dissecting, row by row."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import xarray as xr

from hessian_papers.ledger.bounds import Bound, equal_to
from hessian_papers.ledger.statements import Labels
from hessian_papers.studies.layerwise.layers import own_layers

# Half of the last digit that is printed.
ROUNDED = {"aligned": 0.0005, "ratio": 0.005}
# The variables that have the quantities.
QUANTITIES = {"aligned": "mean_aligned", "ratio": "spectral_ratio"}
# The data set by the inputs of the first layer and the classes: 28 x 28 pixels, or three colours
# and a kernel or 32 x 32 pixels.
DATA_SETS = {
    (784, 10): "MNIST",
    (3072, 10): "CIFAR10",
    (75, 10): "CIFAR10",
    (27, 10): "CIFAR10",
    (27, 100): "CIFAR100",
}


def printed_rows() -> list[dict[str, Any]]:
    """All rows, as they are printed, one for each of the two quantities.

    Each has its ``table``, ``dataset``, ``network``, ``kind`` of ``layers``, ``fc`` or ``conv``,
    ``quantity``, and of that ``mean``, ``min`` and ``max``.
    """
    lines = Path(__file__).with_name("table.csv").read_text("utf-8").splitlines()
    return [
        {name: entry[name] for name in ("table", "dataset", "network", "kind", "layers")}
        | {"quantity": quantity}
        | {part: float(entry[f"{quantity}_{part}"]) for part in ("mean", "min", "max")}
        for entry in csv.DictReader(line for line in lines if not line.startswith("#"))
        for quantity in QUANTITIES
    ]


def cases(data: xr.Dataset) -> list[Labels]:
    """The rows of the networks and data of a study; one whose name is printed twice is left out."""
    rows = printed_rows()
    counts = Counter(map(_name, rows))
    return [
        row
        for row in rows
        if row["network"] in data["network"]
        and counts[_name(row)] == 1
        and row["dataset"] == _trained_on(data.sel(network=row["network"]))
    ]


def _name(row: Labels) -> tuple[str, ...]:
    return tuple(row[name] for name in ("table", "dataset", "network", "quantity"))


def _trained_on(data: xr.Dataset) -> str:
    """The data set of a network, as far as the sizes of its layers tell; "" if they do not."""
    layers = own_layers(data)
    return DATA_SETS.get((int(layers["inputs"][0]), int(layers["outputs"][-1])), "")


def printed_range(case: Labels) -> Bound:
    """Around the printed mean as far as the nearer end of its printed range, rounding included."""
    mean, nearer = case["mean"], min(case["mean"] - case["min"], case["max"] - case["mean"])
    return equal_to(
        mean,
        "the mean is as near to the printed one as the nearer end of the printed range",
        tolerance=nearer + ROUNDED[case["quantity"]],
        source=f"Table {case['table']}",
    )
