"""Stages paper: the figures of one paper, and what is measured on its studies.

A verdict is of all papers' studies together: the stage ``ledger`` decides, and then come the pages.

A study's figure and cases are made again only where what they are made from has changed, or where
what was written is no longer there: an override of one study draws one figure.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from signal import SIG_IGN, SIGINT, SIGKILL, signal
from typing import Any

from hessian_papers.drawing.record import control_files, files
from hessian_papers.ledger import measured_cases
from hessian_papers.ledger.evaluation import Measured, measurements
from hessian_papers.manifest import described, fault
from hessian_papers.processes import cores
from hessian_papers.progress import Progress
from hessian_papers.results import Provenance
from hessian_spectra.files import (
    DamagedFileError,
    MissingResultError,
    digest,
    read_json,
)
from pipelines import chain, commits, inputs
from pipelines.figures import draw
from pipelines.lifetime import share_life
from pipelines.schema import plain
from pipelines.stage import Context, main


@dataclass(frozen=True)
class Work:
    """A study of which the figure is drawn, and the statements are measured.

    Args:
        provenances: of its runs, today's first.
        made: a digest of code, packages and settings behind figure and claims.
        names: the studies that texts may point to.
        results: the folder of data sets.
        figures: the folder with the figures of the paper.
        cases: the file of what is measured.
    """

    provenances: Sequence[Provenance]
    made: str
    names: chain.Names
    results: Path
    figures: Path
    cases: Path

    @property
    def study(self) -> str:
        """The study's name."""
        return self.provenances[0].study

    def _made_from(self, runs: Sequence[Measured]) -> str:
        """A digest of all that figure and cases are made from."""
        arrays = [run.provenance.arrays for run in runs]
        return digest([self.made, sorted(self.names.items()), arrays])

    def is_done(self) -> bool:
        """Whether figure and cases are there, whole, and made from what there is now."""
        try:
            known = read_json(self.cases)
            of_today = known["made from"] == self._made_from(self._runs())
            return of_today and not fault(self.figures, known["pictures"])
        except (DamagedFileError, MissingResultError, KeyError, TypeError):
            return False

    def _runs(self) -> list[Measured]:
        return chain.measured(self.provenances, self.results, self.names)

    def do(self) -> str:
        """Draw, measure and write both; the name of the study."""
        runs = self._runs()
        cases = {run.provenance.recorded: measurements([run]) for run in runs}
        self._remove()
        today, *recorded = runs
        draw(today, self.figures.parent, *recorded)
        for run in recorded:
            draw(run, self.figures.parent)
        pictures = described(self.figures, self._pictures())
        made = {"made from": self._made_from(runs), "pictures": pictures}
        measured_cases.write(self.cases, [case for each in cases.values() for case in each], made)
        return self.study

    def _pictures(self) -> list[Path]:
        """The files of the figure that are there."""
        known = (files(self.figures, self.study)["png"], self.figures / self.study)
        return [path for path in known if path.exists()]

    def _remove(self) -> None:
        """Remove what was drawn before: a run, or a second picture, may be no more."""
        for recorded in (False, True):
            for find in (files, control_files):
                for path in find(self.figures, self.study, recorded).values():
                    path.unlink(missing_ok=True)


def _works(context: Context, settings: Mapping[str, Any]) -> Iterator[Work]:
    """The studies of the paper."""
    names = {(paper, artifact): name for name, (paper, artifact) in settings["artifacts"].items()}
    # In the order of the configuration, which is that of the ledger.
    for name in settings["studies"]:
        provenances = context.provenances[name]
        yield Work(
            provenances=provenances,
            made=settings["made"][name],
            names=names,
            results=context.results,
            figures=context.reports / "figures" / context.name,
            cases=measured_cases.path_of(context.results, context.name, name),
        )


def _begin() -> None:
    """Have a process end with this one, which alone hears Ctrl-C."""
    share_life(SIGKILL)
    signal(SIGINT, SIG_IGN)


def _do(name: str, works: Sequence[Work]) -> None:
    """Do the work on all cores, and say how far it is."""
    processes, done = min(cores(), len(works)), set[str]()
    if processes < 2:
        for work in works:
            work.do()
        return
    with (
        Progress(name, {work.study: 1.0 for work in works}, set()) as progress,
        ProcessPoolExecutor(processes, initializer=_begin) as pool,
    ):
        try:
            for future in as_completed([pool.submit(work.do) for work in works]):
                done.add(future.result())
                progress.update(done)
        finally:
            # After an error, what has not begun is not waited for.
            pool.shutdown(cancel_futures=True)


def paper(context: Context) -> None:
    """Write ``reports/figures/<paper>`` and ``results/claims/<paper>`` of one paper."""
    settings, name = plain(context.config), context.name
    works = [*_works(context, settings)]
    folder = works[0].cases.parent
    # Of studies that are no more, and what earlier commits kept beside them.
    known = {*folder.glob("*"), *folder.parent.glob("*.json")}
    for left_over in known - {work.cases for work in works}:
        left_over.unlink()
    _do(name, [work for work in works if not work.is_done()])
    damaged = [today.damaged for today, *_ in context.provenances.values() if today.damaged]
    print(*damaged, sep="\n", end="\n" * bool(damaged), file=sys.stderr)
    remedy = f"dvc repro --force paper@{name}"
    cases = [case for work in works for case in measured_cases.read(work.cases, remedy)]
    number = sum(case.record.outcome != "not measured" for case in cases)
    print(f"{name}: {number} of {len(cases)} cases measured, on {len(works)} studies")
    if "DVC_EXP_NAME" in os.environ:
        commits.lead_on()


if __name__ == "__main__":
    main(paper, inputs.PAPER)
