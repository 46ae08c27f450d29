"""What Tables 6, 7 and 9 of wu2022dissecting print, row by row."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hessian_papers.ledger.bounds import Bound, equal_to
from hessian_papers.ledger.statements import Labels
from hessian_papers.studies.layerwise.decoupling.reading import Reading

# Half of the last digit that is printed.
ROUNDED = {"aligned": 0.0005, "ratio": 0.005}
# The arrays that have the quantities.
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


class Printed(NamedTuple):
    """Mean, minimum and maximum of a quantity, as they are printed."""

    mean: float
    least: float
    most: float


class Row(NamedTuple):
    """A row of a table: ``layers`` of a ``kind``, ``fc`` or ``conv``, and two quantities."""

    table: str
    dataset: str
    network: str
    kind: str
    layers: int
    aligned: Printed
    ratio: Printed


def printed_rows() -> Iterator[Row]:
    """All rows, as they are printed."""
    lines = Path(__file__).with_name("table.csv").read_text("utf-8").splitlines()
    for entry in csv.DictReader(line for line in lines if not line.startswith("#")):
        quantities = {
            name: Printed(*(float(entry[f"{name}_{part}"]) for part in ("mean", "min", "max")))
            for name in ROUNDED
        }
        yield Row(
            table=entry["table"],
            dataset=entry["dataset"],
            network=entry["network"],
            kind=entry["kind"],
            layers=int(entry["layers"]),
            aligned=quantities["aligned"],
            ratio=quantities["ratio"],
        )


def rows_of(reading: Reading) -> list[Row]:
    """The rows of the networks and data of a study; one whose name is printed twice is left out."""
    rows = list(printed_rows())
    twice = Counter((row.table, row.dataset, row.network) for row in rows)
    return [
        row
        for row in rows
        if row.network in reading.networks
        and twice[row.table, row.dataset, row.network] == 1
        and row.dataset == data_set(reading, row.network)
    ]


def data_set(reading: Reading, network: str) -> str:
    """What a network was trained on, as far as the sizes of its layers tell; "" if they do not."""
    sizes = reading.sizes(network)
    return DATA_SETS.get((int(sizes[0, 1]), int(sizes[-1, 0])), "")


def cases(reading: Reading) -> Iterator[Labels]:
    """The printed rows of a study's networks and data, a case for each of the two quantities."""
    for row in rows_of(reading):
        for quantity, name in QUANTITIES.items():
            values = reading.of_kind(name, row.network, row.kind)
            printed: Printed = getattr(row, quantity)
            yield {
                "table": row.table,
                "dataset": row.dataset,
                "network": row.network,
                "kind": row.kind,
                "quantity": quantity,
                "printed": f"{printed.mean:g} ({printed.least:g} to {printed.most:g})",
                "measured": f"{values.min():.4g} to {values.max():.4g}",
                "range": printed,
            }


def printed_range(case: Labels) -> Bound:
    """From the smallest to the largest that is printed, with the last digit's rounding."""
    _, least, most = case["range"]
    return equal_to(
        (least + most) / 2,
        "the mean is within the range that is printed",
        tolerance=(most - least) / 2 + ROUNDED[case["quantity"]],
        source=f"Table {case['table']}",
    )
