"""The common part of all entry points: Hydra, the keys they may read, errors in one line."""

import atexit
import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from hessian_papers.compute import Launcher, Spent
from hessian_papers.progress import say
from hessian_papers.results import SIDES, Provenance
from hessian_spectra.progress import duration
from hessian_spectra.validation import one_of, require
from pipelines import inputs, schema
from pipelines.departures import check_run, require_ours
from pipelines.folders import CONF, INPUTS, MAP, PARAMS, REPORTS, RESULTS
from pipelines.lifetime import end_with_dvc
from pipelines.messages import failed, one_line
from pipelines.runs import Place, place_of, run_name
from pipelines.yaml_files import read_yaml

ESTIMATE = "--estimate"
# What --help says beside what a command is for.
OPTIONS = """\
Settings are written as only=<study>, studies.<study>.<setting>=<value>, data.root=<folder>;
MAP.md and conf/ have their names. -m takes several values of each, one after the other.
--estimate says how long a computation that fans out takes here, and computes nothing;
--statistics=<names> chooses what the picture of a sweep shows; --cfg job prints all settings."""
# Which statistics a sweep shows: names or patterns such as `sharpness-*`, with commas between.
STATISTICS = "--statistics="

# The entry points that work on one study, network or data set, and on one side of a study.
HEEDED_BY = {
    "only": (*("evidence", "figures", "page", "paper", "prepare", "reanalysis", "side", "train"),),
    "side": ("side",),
}


_composed_mode = Hydra.get_mode


def _mode(self: Hydra, config_name: str | None, overrides: list[str]) -> RunMode | None:
    """The mode that an override asks for; None leaves it to the flags.

    Hydra's own method composes the whole configuration to find out, which takes a second for these
    hundred files, and then composes it once more.
    """
    if any(override.startswith("hydra.mode") for override in overrides):
        return _composed_mode(self, config_name, overrides)
    return None


Hydra.get_mode = _mode  # type: ignore[method-assign]


class Estimated(Exception):  # noqa: N818 - it ends a run early, and is no error
    """An end of a run of which only an estimate was asked for; the message is the estimate."""


def no_estimate(got: str) -> ValueError:
    """The error of asking for an estimate where there is none, said before anything is computed."""
    return ValueError(f"{ESTIMATE}: expected a computation that fans out, got {got}")


@dataclass(frozen=True)
class Context:
    """The context of an entry point.

    Args:
        config: the configuration; under DVC only what the stage reads of it, read-only.
        only: the study, network or data set to work on, if the stage works on one.
        chosen_side: the side of the study, if the stage works on one.
        locked: whether the stage runs under DVC (``-cn locked``): then its inputs come from files.
        results: where data sets are written (and, if ``locked``, read).
        reports: where figures are written.
        launcher: where the items of computations that fan out run; it changes nothing that is
            computed.
        estimate: whether to say how long the computation would take instead of making it.
        provenances: where the runs of studies come from, by study, of a stage that shows them.
        spent: what computed each result that was fanned out, filled as they come.
        sweep: the sweep that the run is one of, by its name.
        measured: what was measured, filled as it comes.
    """

    config: DictConfig
    only: str | None
    chosen_side: str | None
    locked: bool
    results: Path
    reports: Path
    launcher: Launcher
    estimate: bool
    provenances: Mapping[str, list[Provenance]] = field(default_factory=dict)
    spent: dict[str, Spent] = field(default_factory=dict)
    sweep: str = ""
    measured: list[Any] = field(default_factory=list)

    def count(self, name: str, spent: Spent) -> None:
        """Add up what the items of a result took."""
        self.spent[name] = spent + self.spent[name] if name in self.spent else spent

    @cached_property
    def whole(self) -> DictConfig:
        """The whole configuration: for what changes nothing that a stage computes."""
        return read_only(read_yaml(PARAMS)) if self.locked else self.config

    @property
    def tracking(self) -> schema.Tracking:
        """Where W&B runs go."""
        return schema.fit(schema.Tracking, self.whole.tracking, "tracking")

    @property
    def group(self) -> str:
        """The group of the W&B runs: the name of the sweep or experiment, or else a digest."""
        return self.sweep or os.environ.get("DVC_EXP_NAME") or schema.digest_of(self.whole)

    @property
    def name(self) -> str:
        """``only``, for a stage that works on one study or data set.

        Raises:
            ValueError: it was not given.
        """
        if self.only is None:
            known = one_of(sorted({*self.config.get("studies", {})}), "", MAP)
            raise ValueError(f"only: expected a study, {known}; add only=<study>")
        return self.only

    @property
    def side(self) -> str:
        """The side, for a stage that computes one.

        Raises:
            ValueError: it was not given, or is none.
        """
        if self.chosen_side not in SIDES:
            got = "none" if self.chosen_side is None else repr(self.chosen_side)
            raise ValueError(f"side: expected {', '.join(SIDES)}, got {got}; add side=<side>")
        return self.chosen_side


def read_only(settings: Any) -> DictConfig:
    """Settings of which a key that is not there raises when it is read."""
    config = OmegaConf.create(settings)
    OmegaConf.set_struct(config, True)
    OmegaConf.set_readonly(config, True)
    return config


@dataclass
class Job:
    """A job of a sweep.

    Attributes:
        place: in the sweep.
        study: that it works on.
        context: that it was given; None if its settings were refused.
        failure: why it failed, in one line; empty if it did not.
    """

    place: Place
    study: str | None
    context: Context | None = None
    failure: str = ""


# What is made of the jobs of a sweep when all have ended, and of which statistics, if some are
# named.
Collect = Callable[[Sequence[Job], Sequence[str]], None]


def _context(
    config: DictConfig, work: str, reads: str, estimate: bool, place: Place | None = None
) -> Context:
    for key, heeding in HEEDED_BY.items():
        expected = f"null for {work}, as of all {', '.join(heeding)} alone heed it"
        require(config[key] is None or work in heeding, key, expected, config[key])
    run = HydraConfig.get()
    launcher = schema.fit(Launcher, config.launcher, "launcher")
    asked = config.only, config.side
    if run.job.config_name == "locked":
        expected = f"{work} with a configuration of its own, as no stage runs it"
        require(bool(reads), "-cn", expected, "locked")
        result = inputs.read(INPUTS, reads, config.only)
        given, runs = read_only(result["settings"]), inputs.provenances_in(result)
        return Context(given, *asked, True, RESULTS, REPORTS, launcher, estimate, runs)
    composed, config = config, schema.at_scale(config)
    require_ours(composed)
    if reads:
        check_run(config, config.only)
    own = run_name(run.job.override_dirname) if place is None else f"{place.sweep}/{place.run}"
    directory, sweep = RESULTS / "runs" / own, place.sweep if place else ""
    return Context(config, *asked, False, directory, directory, launcher, estimate, sweep=sweep)


def run(
    work: Callable[[Context], None],
    reads: str = "",
    estimates: bool = False,
    collect: Collect | None = None,
) -> None:
    """Run one stage as a Hydra application.

    Args:
        work: what the stage does.
        reads: which of the files that ``survey`` writes it reads under DVC; none for a command
            that is no stage.
        estimates: whether it can say how long it will take.
        collect: what to make of the jobs of a sweep, without DVC.

    An error that the user can mend is printed in one line and ends the process with code 2;
    anything else is a defect of ours and keeps its traceback.
    """
    # With this, Hydra hands exceptions on instead of printing its own page about them.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    codes = [0]
    if {"--help", "-h"} & {*sys.argv[1:]}:
        # Hydra's own help is the whole configuration.
        print((sys.modules["__main__"].__doc__ or "").strip(), OPTIONS, sep="\n\n")
        sys.exit(0)
    # Hydra takes overrides only; these flags are ours.
    ours = [flag for flag in sys.argv if flag == ESTIMATE or flag.startswith(STATISTICS)]
    estimate, statistics = ESTIMATE in ours, [flag for flag in ours if flag != ESTIMATE]
    sys.argv = [argument for argument in sys.argv if argument not in ours]
    jobs: list[Job] = []
    began = time.monotonic()

    @hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
    def application(config: DictConfig) -> None:
        run = HydraConfig.get()
        place = None
        if collect and run.mode == RunMode.MULTIRUN and run.job.config_name != "locked":
            place = place_of(sys.argv[1:], run.overrides.task)
            jobs.append(Job(place, config.only))
        # Caught here, too: Hydra would put a line of its own before ours.
        try:
            alone = not statistics or place is not None
            require(alone, STATISTICS.rstrip("="), "-m and several values with it", "none")
            context = _context(config, work.__name__, reads, estimate, place)
            if place is not None:
                jobs[-1].context = context
            work(context)
        except Estimated as forecast:
            print(forecast)
        except Exception as error:
            if place is not None:
                jobs[-1].failure = one_line(error)
            codes.append(failed(error))
        if place is not None and (left := place.runs - len(jobs)) > 0:
            rest = duration(round((time.monotonic() - began) / len(jobs) * left, 0))
            say("sweep", f"{len(jobs)} of {place.runs} runs, {rest} left")

    try:
        if estimate and not estimates:
            raise no_estimate(f"the stage {work.__name__}")
        try:
            application()
        except Exception:  # a defect of ours in a job: the others have ended
            _collect(jobs, statistics, collect)
            raise
        _collect(jobs, statistics, collect)
    except Exception as error:
        codes.append(failed(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        codes.append(130)
    sys.exit(max(codes))


def _collect(jobs: Sequence[Job], flags: Sequence[str], collect: Collect | None) -> None:
    if collect and any(job.context and job.context.measured for job in jobs):
        collect(jobs, [name for f in flags for name in f.removeprefix(STATISTICS).split(",")])


def main(
    work: Callable[[Context], None],
    reads: str = "",
    estimates: bool = False,
    collect: Collect | None = None,
) -> None:
    """:func:`run` in a process of its own, which does no more than it must before and after.

    The pipeline starts some hundred processes. To look for garbage while torch is imported, and to
    take all its modules down at the end, takes more than half a second in each.
    """
    end_with_dvc()
    gc.set_threshold(100_000, 20, 20)
    try:
        run(work, reads, estimates, collect)
    except SystemExit as ended:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)
