"""An inspection from the options to the files: what the command does once torch is loaded."""

import argparse
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tqdm import tqdm

import hessian_spectra
from hessian_spectra.curvature import Problem
from hessian_spectra.files import write_bytes, write_json
from hessian_spectra.inspection.factory import FactoryError, one_line, problem_of
from hessian_spectra.inspection.findings import Clock, Finding, Report, computed
from hessian_spectra.inspection.quantities import TITLES, Quantities
from hessian_spectra.inspection.table import table
from hessian_spectra.validation import optional_import

NAME = "inspection"


def run(options: argparse.Namespace) -> int:
    """Inspect, write ``inspection.json`` and ``inspection.{png,pdf}``, print the table.

    Args:
        options: of the command.

    Returns:
        The exit status, as the command says.
    """
    budget = math.inf if options.budget is None else 60 * options.budget
    clock = Clock(budget)
    try:
        if not budget > 0:
            raise ValueError(f"--budget: expected minutes above 0, got {options.budget:g}")
        options.out.mkdir(parents=True, exist_ok=True)
        problem = problem_of(options.factory, options.device)
        quantities = Quantities(problem, clock, options.k, options.layers, options.seed)
    except (FactoryError, ValueError, OSError) as error:
        print(f"hessian-spectra inspect: {one_line(error)}", file=sys.stderr)
        return 2
    report = _empty(options, problem)
    _fill(report, quantities.all(), clock, options.out)
    _finish(report, options.out)
    if report.stopped:
        return 130 if report.stopped == "interrupted" else 3
    return 0 if any(one.status == "done" for one in report.findings.values()) else 1


def _empty(options: argparse.Namespace, problem: Problem) -> Report:
    """What is inspected, with nothing found so far."""
    loss = problem.loss if problem.loss is not None else problem.loss_fn
    subject = {
        "factory": options.factory,
        "model": type(problem.model).__name__,
        "loss": getattr(loss, "__name__", type(loss).__name__),
        "parameters": problem.size,
        "dtype": str(problem.dtype).removeprefix("torch."),
        "device": str(problem.device),
        "batches": problem.batch_count,
        "seed": options.seed,
        "version": hessian_spectra.__version__,
    }
    return Report(subject, {key: Finding(key, title) for key, title in TITLES.items()})


def _fill(
    report: Report, functions: dict[str, Callable[[Finding], None]], clock: Clock, out: Path
) -> None:
    with tqdm(total=len(functions), unit="quantity", disable=None, leave=False) as bar:

        def after(finding: Finding) -> None:
            bar.set_postfix_str(f"{finding.title}: {finding.status}")
            bar.update()
            # Also what cannot be caught leaves the file of what was found before.
            write_json(out / f"{NAME}.json", report.record())

        computed(report, functions, clock, after)


def _finish(report: Report, out: Path) -> None:
    """The last state of the file, the table, the figure, and where these are."""
    write_json(out / f"{NAME}.json", report.record())
    print(table(report))
    written = [f"{NAME}.json"]
    try:
        optional_import("matplotlib", "figures")
        # A second Ctrl-C while the figure is drawn gives up the figure alone.
        with suppress(KeyboardInterrupt):
            written += _figure(report, out)
    except ModuleNotFoundError as error:
        print(f"\nno figure: {error}")
    if report.stopped:
        print(f"\n{report.stopped}: what is missing above was not computed")
    print(f"\n{', '.join(written)} in {out}")


def _figure(report: Report, out: Path) -> list[str]:
    """Draw what was found, and name the files."""
    from hessian_spectra.pictures.inspection import drawn

    contents = drawn({key: finding.values for key, finding in report.findings.items()})
    for suffix, content in contents.items():
        write_bytes(out / f"{NAME}.{suffix}", content)
    return [f"{NAME}.{suffix}" for suffix in contents]
