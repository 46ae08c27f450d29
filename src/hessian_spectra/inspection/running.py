"""An inspection from the options to the files: what the command does once torch is loaded."""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tqdm import tqdm

import hessian_spectra
from hessian_spectra.curvature import Problem
from hessian_spectra.files import write_bytes, write_json
from hessian_spectra.inspection.appendix import csv_text, latex, methods
from hessian_spectra.inspection.factory import FactoryError, load_checkpoint, one_line, problem_of
from hessian_spectra.inspection.findings import Clock, Finding, Report, computed
from hessian_spectra.inspection.quantities import TITLES, Quantities
from hessian_spectra.inspection.table import table
from hessian_spectra.validation import optional_import

NAME = "inspection"


def run(options: argparse.Namespace) -> int:
    """Inspect, write ``inspection.{json,csv,tex,txt,png,pdf}``, print the table.

    Of several checkpoints the JSON files are in a folder each, and all else has them together.

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
        names = _names(options.checkpoints)
        quantities = Quantities(problem, clock, options.k, options.layers, options.seed)
        reports = {}
        for name, path in names.items():
            if path is not None:
                load_checkpoint(problem.model, path)
                quantities = Quantities(problem, clock, options.k, options.layers, options.seed)
            out = options.out / name
            out.mkdir(exist_ok=True)
            reports[name] = report = _empty(options, problem, name)
            _fill(report, quantities.all(), clock, out)
            write_json(out / f"{NAME}.json", report.record())
            if report.stopped:
                break
    except (FactoryError, ValueError, OSError) as error:
        print(f"hessian-spectra inspect: {one_line(error)}", file=sys.stderr)
        return 2
    _finish(reports, options.out)
    if report.stopped:
        return 130 if report.stopped == "interrupted" else 3
    findings = [finding for each in reports.values() for finding in each.findings.values()]
    return 0 if any(finding.status == "done" for finding in findings) else 1


def _names(checkpoints: Sequence[Path]) -> dict[str, Path | None]:
    """The checkpoints by the names of their files; none is the model as the factory makes it."""
    names: dict[str, Path | None] = {path.stem: path for path in checkpoints}
    if len(names) < len(checkpoints):
        raise ValueError(
            "--checkpoints: expected files of different names, got "
            + ", ".join(str(path) for path in checkpoints)
        )
    return names or {"": None}


def _empty(options: argparse.Namespace, problem: Problem, name: str) -> Report:
    """The report on a problem of which nothing is found so far."""
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
        "checkpoint": name,
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


def _finish(reports: dict[str, Report], out: Path) -> None:
    """The tables, the figure, what an appendix takes, and where these are."""
    print("\n\n".join(table(report) for report in reports.values()))
    written = [str(Path(name) / f"{NAME}.json") for name in reports]
    texts = {"csv": csv_text(reports), "tex": latex(reports), "txt": methods(reports)}
    for suffix, text in texts.items():
        write_bytes(out / f"{NAME}.{suffix}", text.encode())
        written.append(f"{NAME}.{suffix}")
    try:
        optional_import("matplotlib", "figures")
        # A second Ctrl-C while the figure is drawn gives up the figure alone.
        with suppress(KeyboardInterrupt):
            written += _figure(reports, out)
    except ModuleNotFoundError as error:
        print(f"\nno figure: {error}")
    *_, last = reports.values()
    if last.stopped:
        print(f"\n{last.stopped}: what is missing above was not computed")
    print(f"\n{', '.join(written)} in {out}")


def _figure(reports: dict[str, Report], out: Path) -> list[str]:
    """Draw what was found, and name the files."""
    from hessian_spectra.pictures.inspection import drawn, drawn_together

    values = {
        name: {key: finding.values for key, finding in report.findings.items()}
        for name, report in reports.items()
    }
    contents = drawn_together(values) if len(values) > 1 else drawn(*values.values())
    for suffix, content in contents.items():
        write_bytes(out / f"{NAME}.{suffix}", content)
    return [f"{NAME}.{suffix}" for suffix in contents]
