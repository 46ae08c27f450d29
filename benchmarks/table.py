"""Benchmarks of ensembles share their options, and a table that is printed row by row."""

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import torch

from benchmarks.curvature import hardware


class Barred(Protocol):
    """A row that may have a bar: how many times faster we mean to be at least."""

    @property
    def bar(self) -> float | None:
        """The bar, or ``None``."""


Row = TypeVar("Row", bound=Barred)


def bar_cells(bar: float | None, ratio: float) -> tuple[str, str]:
    """The bar and whether a ratio meets it; nothing where there is none."""
    if bar is None:
        return "", ""
    return f"{bar:.0f}", "yes" if ratio >= bar else "NO"


def print_table(
    description: str | None,
    header: str,
    tasks: Sequence[Row],
    measure: Callable[[Row, int], str],
    *,
    rounds: int,
    quick_rounds: int | None = None,
    command: list[str] | None = None,
) -> None:
    """Measure and print each row as soon as it is there, on one thread.

    Args:
        description: of the command, for its help.
        header: of the table.
        tasks: one a row.
        measure: a task and a number of rounds -> its row.
        rounds: of each row, unless the command line says otherwise.
        quick_rounds: of each row with ``--quick``; ``None`` for as many as without.
        command: the arguments; those of the process by default.
    """
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    few = "" if quick_rounds is None else f", {quick_rounds} rounds"
    parser.add_argument("--quick", action="store_true", help=f"the rows with a bar{few}")
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds of each row")
    options = parser.parse_args(command)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(hardware(), header, sep="\n\n", flush=True)
    count = quick_rounds if options.quick and quick_rounds is not None else options.rounds
    for task in tasks:
        if task.bar is not None or not options.quick:
            print(measure(task, count), flush=True)
