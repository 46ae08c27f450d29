"""What Tables 6, 7 and 9 of wu2022dissecting print, row by row."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hessian_spectra.studies.layerwise.decoupling.reading import Reading

# Half of the last digit that is printed.
ROUNDED = {"aligned": 0.0005, "ratio": 0.005}
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
    lines = Path(__file__).with_name("table.csv").read_text().splitlines()
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
