"""Command compare: what differs between two states: settings, statements, and what figures draw.

    hessian-papers compare [A] [B]
    hessian-papers compare recorded results/runs/only=cracking-fig7,...

A and B are `workspace` (what reports/ has now), a commit, a branch or an experiment of DVC, the
folder of a run or another `reports`, `recorded` (the recorded runs) or `paper` (what is in print).
Without B it is the workspace, without A the last commit, HEAD. What differs stands in a table, and
on a page with the series of both laid over each other. Exit code 2 if one of them is not there.
"""

import argparse
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from textwrap import shorten, wrap
from typing import Any

from hessian_papers.drawing.overlay import compared, differing
from hessian_papers.formulas import plain
from hessian_papers.ledger.changes import Move, against_print, moves
from hessian_papers.progress import Progress
from hessian_papers.report.comparison import Comparison, Overlay, Setting, page, turns
from hessian_papers.report.entries import shown
from hessian_papers.report.verdicts import counted
from hessian_spectra.files import digest
from hessian_spectra.pictures import rendered
from hessian_spectra.validation import require
from pipelines.departures import changed
from pipelines.folders import RESULTS, fill
from pipelines.messages import failed
from pipelines.states import COMMITTED, PAPER, RECORDED, WORKSPACE, State, state

# A line of the table: what it is about, and a column of each state.
WIDTHS = (46, 25, 25)
# Rows of each part of the table, numbers of a statement, and signs of a value, at most.
FEW, ROWS, LONGEST = 12, 2, 90
# More names are not spelled out.
NAMES = 3


def compare(old: State, new: State) -> Comparison:
    """The differences between two states, of the studies that both have.

    Raises:
        ValueError: there is no such study.
    """
    studies = [name for name in new.settings if name in old.settings]
    got = f"{_names([*old.settings])} and {_names([*new.settings])}"
    require(bool(studies), f"{old.name} and {new.name}", "a study that both have", got)
    in_print = old.name == PAPER
    return Comparison(
        old=old.name,
        new=new.name,
        studies=len(studies),
        only=[] if in_print else [*_only(old, new), *_only(new, old)],
        settings=[*_settings(old, new, studies)],
        moves=against_print(new.statements) if in_print else moves(old.statements, new.statements),
        overlays=[*_overlays(old, new)],
    )


def _only(own: State, other: State) -> Iterator[str]:
    """The parts of a state that cannot be compared: studies, or an old ledger."""
    if names := [name for name in own.settings if name not in other.settings]:
        yield f"Only in {own.name}: {_names(names)}"
    if not own.statements:
        yield f"{own.name} has no ledger, so no statement is compared"
    if own.stale:
        yield f"The ledger of {own.name} is older than its figures of {_names(own.stale)}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMES else counted(names, "study")


def _settings(old: State, new: State, studies: Sequence[str]) -> Iterator[Setting]:
    """The settings that differ, each once for all studies that it differs of in the same way."""
    differences: dict[str, tuple[str, Any, Any]] = {}
    having = defaultdict(list)
    for study in studies:
        pairs = changed(new.settings[study], old.settings[study].by_place)
        for key, (value, other) in pairs.items():
            difference = key, other, value
            differences[repr(difference)] = difference
            having[repr(difference)].append(study)
    yield from (Setting(*each, having[name]) for name, each in differences.items())


def _overlays(old: State, new: State) -> Iterator[Overlay]:
    for name, series in new.series.items():
        # What only marks cases of statements stands in their table.
        drawn = any(panel["curves"] or panel["images"] for panel in series)
        if drawn and name in old.series and (pairs := differing(old.series[name], series)):
            study, _, more = name.partition(", ")
            title = new.titles[study] + (f", {more}" if more else "")
            yield Overlay(name, title, pairs, len(series))


def write(result: Comparison, names: Sequence[str]) -> Path:
    """Write the page of a comparison with its pictures to a folder of its own; the page's path.

    Args:
        result: what differs.
        names: of both states, as they were asked for.
    """
    folder = RESULTS / "comparisons" / _slug(result, names)
    texts = {"index.html": page(result, shlex.join(["hessian-papers", "compare", *names]))}
    with Progress("pictures", dict.fromkeys((o.file for o in result.overlays), 1.0), set()) as bar:
        for overlay in result.overlays:
            figure = compared(overlay.pairs, (result.old, result.new))
            texts[overlay.file] = rendered(figure, ["svg"])["svg"].decode()
            bar.update({*texts} - {"index.html"})
    fill(folder, texts)
    return folder / "index.html"


def _slug(result: Comparison, names: Sequence[str]) -> str:
    """The name of a folder for two states; a digest tells it apart where a name has signs."""
    read = "-".join(re.sub(r"[^\w.=-]+", "_", each)[:60] for each in (result.old, result.new))
    return read if read == "-".join(names) else f"{read}-{digest(names)}"


def table(result: Comparison) -> Iterator[str]:
    """A comparison in lines of at most a hundred columns."""
    yield f"{result.old} and {result.new}: {counted(result.studies, 'study')} in both"
    yield from (line for text in result.only for line in wrap(text, 100))
    if not result.differs:
        yield "nothing differs"
        return
    yield ""
    yield from _row(f"settings that differ: {len(result.settings)}", result.old, result.new)
    rows = ((f"  {each.key}", shown(each.old), shown(each.new)) for each in result.settings)
    yield from _few(result.settings, (_row(*cells) for cells in rows))
    yield turns(result.moves)
    yield from _few(result.moves, map(_move, result.moves))
    yield f"pictures that differ: {len(result.overlays)}"
    yield from _few(result.overlays, (_row(f"  {o.name}", o.said) for o in result.overlays))


def _few(some: Sequence[Any], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The first rows of a list, and how many more there are."""
    yield from chain.from_iterable(islice(rows, FEW))
    if len(some) > FEW:
        yield f"  and {len(some) - FEW} more, on the page"


def _move(move: Move) -> Iterator[str]:
    yield from _row(f"  {move.statement.id}", *(move.verdicts if move.turned else ()))
    for row in move.rows[:ROWS]:
        outcomes = [f" {each}" if row.turned and each else "" for each in row.outcomes]
        numbers = (f"{number}{said}" for number, said in zip(row.numbers, outcomes, strict=True))
        yield from _row(f"    {plain(row.case)}", *numbers)
    if len(move.rows) > ROWS:
        yield f"    and {counted(len(move.rows) - ROWS, 'number')} more"


def _row(*cells: str) -> Iterator[str]:
    """A row of the table in lines, as many as its longest cell needs."""
    first = cells[0].lstrip()
    indent = " " * (len(cells[0]) - len(first))
    columns = [wrap(first, WIDTHS[0], initial_indent=indent, subsequent_indent=indent + "  ")]
    columns += [wrap(shorten(cell, LONGEST, placeholder=" …"), WIDTHS[1]) for cell in cells[1:]]
    for line in zip_longest(*columns, fillvalue=""):
        yield "  ".join(
            f"{text:{width}}" for text, width in zip(line, WIDTHS, strict=False)
        ).rstrip()


def main(arguments: Sequence[str]) -> int:
    """Compare two states, write the page and print the table; the exit code."""
    text, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="hessian-papers compare",
        description=text.removeprefix("Command compare: "),
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="A", nargs="?", default=COMMITTED)
    parser.add_argument("new", metavar="B", nargs="?", default=WORKSPACE)
    asked = parser.parse_args(arguments)
    try:
        # What is in print is what others are held against.
        names = [asked.old, asked.new] if asked.new != PAPER else [asked.new, asked.old]
        # Of recorded runs those alone are drawn that the other state has.
        first = state(names[0]) if names[0] != RECORDED else None
        second = state(names[1], first.settings if first else ())
        first = first or state(names[0], second.settings)
        result = compare(first, second)
        print(*table(result), sep="\n")
        path = write(result, names)
    except Exception as error:
        return failed(error)
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
