"""The results of four libraries for small networks, beside the truth: right, refused or wrong.

``python -m benchmarks.correctness`` prints the table of ``benchmarks/README.md``, and with
``--short`` that of ``docs/guides/peers.md``. All is in float64 but the row with autocast.
"""

import argparse
import multiprocessing
import os
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks.trials import TRIALS
from benchmarks.verdicts import LIBRARIES, Outcome, outcome

# Rows that need neither transformers nor torch's compiler.
SLOW = ("`torch.compile`", "Hugging Face GPT-2", "the same, eager attention")


def table(outcomes: Mapping[tuple[str, str], Outcome], short: bool = False) -> str:
    """A markdown table, one row for each network; ``short`` leaves numbers and reasons out."""
    names = list(dict.fromkeys(name for name, _ in outcomes))
    lines = [["network", *LIBRARIES]]
    for name in names:
        cells = [outcomes[name, library] for library in LIBRARIES]
        lines.append([name, *(brief(cell) if short else str(cell) for cell in cells)])
    lines.append(
        ["the user's model afterwards", *(left(outcomes, library) for library in LIBRARIES)]
    )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "|".join("-" * (width + 2) for width in widths)
    rows = [
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([f"| {rows[0]} |", f"|{rule}|", *(f"| {row} |" for row in rows[1:])])


def left(outcomes: Mapping[tuple[str, str], Outcome], library: str) -> str:
    """The changes that a library made to model or random numbers, in any of the rows."""
    changed = [what for (_, at), cell in outcomes.items() if at == library for what in cell.changed]
    return ", ".join(dict.fromkeys(changed)) or "as before"


def brief(cell: Outcome) -> str:
    """The verdict, with how far off a wrong product is."""
    if cell.verdict == "WRONG":
        return f"**wrong**, {cell.detail}"
    return cell.verdict.rstrip(":")


def run(names: Iterable[str]) -> dict[tuple[str, str], Outcome]:
    """All outcomes, each in a process of its own, which none before has touched."""
    keys = [(name, library) for name in names for library in LIBRARIES]
    context = multiprocessing.get_context("forkserver")
    # What takes long to import is imported once.
    context.set_forkserver_preload(
        ["benchmarks.verdicts", "benchmarks.peers", "transformers.models.gpt2.modeling_gpt2"]
    )
    with ProcessPoolExecutor(
        1, mp_context=context, initializer=prepare, max_tasks_per_child=1
    ) as pool:
        rows = pool.map(outcome, *zip(*keys, strict=True))
        return dict(zip(keys, rows, strict=True))


def prepare() -> None:
    """Settings of each process."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


def main(command: list[str] | None = None) -> None:
    """Try all libraries on all networks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="without compiler and transformers")
    parser.add_argument("--short", action="store_true", help="verdicts without reasons")
    options = parser.parse_args(command)
    names = [name for name in TRIALS if not (options.quick and name in SLOW)]
    print(table(run(names), options.short))


if __name__ == "__main__":
    main()
