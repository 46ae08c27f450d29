"""A state of the project by its name: the settings, statements and series of some of its studies.

A name is ``workspace``, what ``reports/`` has now; a commit, a branch or an experiment of DVC; the
folder of a run; ``recorded``, the recorded runs; or ``paper``, what the papers print.
"""

import difflib
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten

from hessian_papers.drawing.interactive import Chart
from hessian_papers.drawing.record import CONTROLS, control_files, files
from hessian_papers.ledger.changes import of_recorded
from hessian_papers.ledger.evaluation import decided, measurements
from hessian_papers.ledger.record import StatementRecord, all_cases, read_ledger, write_ledger
from hessian_papers.report.entries import shown
from hessian_papers.report.verdicts import setting
from hessian_papers.results import Provenance
from hessian_spectra.files import digest, read_json
from pipelines import chain, commits, figures, inputs, recorded
from pipelines.commits import LEDGER
from pipelines.departures import Settings, published
from pipelines.folders import EVIDENCE, REPORTS, RESULTS
from pipelines.runs import run_name

WORKSPACE, RECORDED, PAPER, COMMITTED = "workspace", "recorded", "paper", "HEAD"
# Signs of a name.
LONGEST = 60


@dataclass(frozen=True)
class State:
    """The content of a state, by study.

    Args:
        name: in few words.
        settings: of each study.
        titles: of each study, where it stands in its paper and what it shows.
        series: what each picture draws, by its name: that of the study, and what more it is.
        statements: the ledger; empty where there is none.
    """

    name: str
    settings: Mapping[str, Settings]
    titles: Mapping[str, str] = field(default_factory=dict)
    series: Mapping[str, Sequence[Chart]] = field(default_factory=dict)
    statements: Sequence[StatementRecord] = ()

    @property
    def stale(self) -> list[str]:
        """The studies that the ledger knows with other settings than the figures."""
        known = {name: digest(own.study) for name, own in self.settings.items()}
        runs = (run for case in all_cases(self.statements) for run in case.runs)
        return sorted({run.study for run in runs if run.study in known and not run.recorded
                       and run.digest != known[run.study]})  # fmt: skip


def state(name: str, studies: Collection[str] = ()) -> State:
    """The state of a name.

    Args:
        name: see above.
        studies: those that are asked for, if that is known.

    Raises:
        ValueError: there is none; the message is one line that says what there is.
        MissingResultError: it has no figures here.
    """
    if name == PAPER:
        each = published()
        held = each["networks"], each["data"]
        return State(name, {key: Settings(key, own, *held) for key, own in each["studies"].items()})
    if name == RECORDED:
        return of_evidence(studies)
    if name == WORKSPACE:
        return read(name, REPORTS)
    if Path(name).is_dir():
        return read("", Path(name))
    if (folder := commits.of_commit(name)) is not None:
        return read(name, folder)
    near = difflib.get_close_matches(name, [WORKSPACE, RECORDED, PAPER, *commits.names()], 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ValueError(
        f"unknown state {name!r}: expected {WORKSPACE}, {RECORDED}, {PAPER}, a commit, a branch, "
        f"an experiment (dvc exp show) or the folder of a run{hint}"
    )


def _label(folder: Path, runs: Mapping[str, Provenance]) -> str:
    """A folder in few words: of the run of one study, the settings that it changes."""
    if len(runs) > 1:
        return str(folder)
    ((study, run),) = runs.items()
    changes = [f"{setting(key)}={shown(value)}" for key, value in run.overrides.items()]
    return shorten(", ".join([study, *changes]), LONGEST, placeholder=" …")


def before(study: str) -> State | None:
    """The study with the committed settings, or else its recorded run.

    The former is that of ``reports/``, of what a commit gave here, or of a run of the study alone.
    """
    for record in REPORTS.glob(f"figures/*/{study}/figure.json"):
        if not read_json(record)["provenance"]["overrides"]:
            return read(WORKSPACE, REPORTS, study=study)
    if (kept := commits.kept(COMMITTED)) is not None and any(kept.glob(f"figures/*/{study}/")):
        return read(COMMITTED, kept, study=study)
    own = RESULTS / "runs" / run_name(f"only={study}")
    if any(own.glob(f"figures/*/{study}/figure.json")) and (own / LEDGER).is_file():
        return read(COMMITTED, own, study=study)
    known = any(REPORTS.glob(f"figures/*/{study}/recorded.json")) or (EVIDENCE / study).is_dir()
    return of_evidence([study]) if known else None


def whole() -> Sequence[StatementRecord]:
    """The ledger of all studies, of ``reports/`` or of what the last commit gave here, if any."""
    for folder in (REPORTS, commits.kept(COMMITTED)):
        if folder is not None and (folder / LEDGER).is_file():
            return read_ledger(folder)
    return ()


def of_evidence(studies: Collection[str] = ()) -> State:
    """The recorded runs: as the pages show them, or drawn on the spot where there are no pages.

    Args:
        studies: of which studies they are drawn, if not of all.
    """
    (only,) = studies if len(studies) == 1 else ("*",)
    if any(REPORTS.glob(f"figures/*/{only}/recorded.json")):
        return read(RECORDED, REPORTS, recorded_alone=True, study=only)
    names = sorted(folder.parent.name for folder in EVIDENCE.glob("*/facts.json"))
    known = (recorded.read(name) for name in names if name in studies or not studies)
    origins = [inputs.of_recorded(each) for each in known if each and not each.damage]
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for origin in origins:
            print(f"drawing the recorded run of {origin.study}", file=sys.stderr)
            (run,) = chain.measured([origin], RESULTS, {})
            cases += measurements([run])
            figures.draw(run, Path(folder, "figures"))
        write_ledger(Path(folder, LEDGER), decided(cases))
        return read(RECORDED, Path(folder), recorded_alone=True)


def read(name: str, folder: Path, *, recorded_alone: bool = False, study: str = "*") -> State:
    """The state that a folder like ``reports/`` has.

    Args:
        name: of the state; if none, what it is of.
        folder: holds ``figures/<paper>/<study>/`` and, but for a run that has none, a ledger.
        recorded_alone: whether of recorded runs alone.
        study: of which study, if not of all.

    Raises:
        ValueError: it holds no figures.
    """
    runs, series = {}, {}
    for own in sorted(folder.glob(f"figures/*/{study}/")):
        for of_record in (True,) if recorded_alone else (False, True):
            paths = files(own.parent, own.name, of_record)
            if not paths["json"].is_file():
                continue
            run = Provenance(**read_json(paths["json"])["provenance"])
            more = ", recorded run" if of_record and not recorded_alone else ""
            if not more:
                runs[own.name] = run
            series[own.name + more] = read_json(paths["series"])
            second = control_files(own.parent, own.name, of_record)["series"]
            if second.is_file():
                series[f"{own.name}{more}, {CONTROLS}"] = read_json(second)
    if not runs:
        expected = "expected figures/<paper>/<study>/figure.json there, as reports/ and runs have"
        below = sorted(each.parent for each in folder.glob("*/figures/"))
        hint = f"; did you mean {below[0]}?" if below else ""
        hint = hint or ("; run make repro" if folder == REPORTS else "")
        raise ValueError(f"{folder}: {expected}, got none{hint}")
    statements = read_ledger(folder) if (folder / LEDGER).is_file() else []
    statements = of_recorded(statements) if recorded_alone else statements
    settings = {name: Settings.of(name, run.config, run.facts) for name, run in runs.items()}
    titles = {n: f"{run.config['artifact']}: {run.config['title']}" for n, run in runs.items()}
    return State(name or _label(folder, runs), settings, titles, series, statements)
