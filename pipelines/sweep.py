"""The end of a sweep: its runs as one data set, as a picture over the swept keys, and on W&B.

    python -m pipelines.figures -m only=cracking-fig7 studies.cracking-fig7.width=10,50,200

Of each study there is one collection. What was measured is there by case: ``value``, ``low``,
``high``, ``bound_low``, ``bound_high`` and ``outcome`` along the swept keys and ``case``. The
study's own variables are there, too, along the swept keys where runs differ in them.
"""

import fnmatch
import math
import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hessian_papers import labelled
from hessian_papers.drawing.sweep import picture
from hessian_papers.formulas import plain
from hessian_papers.labelled import Variable, Variables
from hessian_papers.ledger.evaluation import Measurement
from hessian_papers.ledger.table import with_interval
from hessian_papers.results import folder_of, sides_of
from hessian_spectra.files import digest, write_bytes
from hessian_spectra.pictures import rendered
from hessian_spectra.texts import aligned
from hessian_spectra.validation import one_of, require
from pipelines import chain, described
from pipelines.folders import WANDB
from pipelines.runs import short_names
from pipelines.stage import STATISTICS, Context, Job

# Panels of the picture.
PANELS = 6
# A statistic without an interval moves when it does so by this share of its size.
RESOLVED = 0.01
# What was measured: of each run, and the texts that all runs share.
MEASURED: Variables = {
    "case": Variable("case", "of a statement"),
    "value": Variable("case", "what was measured"),
    "low": Variable("case", "lower end of its interval"),
    "high": Variable("case", "upper end of its interval"),
    "bound_low": Variable("case", "the smallest value with which the statement holds"),
    "bound_high": Variable("case", "the largest value with which the statement holds"),
    "outcome": Variable("case", "what the case says: holds, fails, open or not measured"),
}
TEXTS: Variables = {
    "sentence": Variable("case", "what the statement says"),
    "statistic": Variable("case", "what is measured"),
}
# Where runs stand until they stand along the swept keys.
RUN = "run"


def collect(jobs: Sequence[Job], statistics: Sequence[str]) -> None:
    """Write ``sweep.nc``, ``sweep.png`` and ``sweep.svg`` of each study, and print its table.

    Args:
        jobs: of the sweep. Where one is there twice, the last counts.
        statistics: names or patterns of those that are shown; none for those that move most.

    Raises:
        ValueError: there is no such statistic; data set and W&B are written all the same.
    """
    single = {(job.study, *job.place.settings.items()): job for job in jobs}.values()
    sweeps = [
        Sweep([job for job in single if job.study == study])
        for study in dict.fromkeys(job.study for job in jobs)
    ]
    sweeps = [sweep for sweep in sweeps if sweep.done and sweep.names]
    for sweep in sweeps:
        sweep.keep()
    known = [name for sweep in sweeps for name in sweep.moving]
    for name in statistics:
        expected = one_of(known, name)
        require(bool(fnmatch.filter(known, name)), STATISTICS.rstrip("="), expected, name)
    for sweep in sweeps:
        sweep.show(statistics)


class Sweep:
    """The runs of one study in a sweep.

    Args:
        jobs: of that study.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.done = [(job, job.context) for job in jobs if job.context and job.context.measured]
        keys = [key for key in jobs[0].place.settings if key != "only"]
        # What the swept keys are called in the data set.
        self.names = short_names(keys)

    @cached_property
    def data(self) -> xr.Dataset:
        """The data set of the sweep."""
        whole = [self._point(job) for job in self.jobs]
        points = [self._point(job) for job, _ in self.done]
        kept = [data.drop_vars(self.left_out, errors="ignore") for data in self._own]
        cases = [_known(context.measured) for _, context in self.done]
        parts, texts = _measured(cases)
        measured, own = along(parts, points, whole, "all"), along(kept, points, whole, "different")
        data = xr.merge([measured, texts, own])
        return data.assign_coords(
            {n: data[n].assign_attrs(long_name=key) for key, n in self.names.items()}
        )

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The variables of the study that do not fit together, and why."""
        names = dict.fromkeys(str(name) for data in self._own for name in data.variables)
        why = {name: _unfit(name, self._own) for name in names}
        return {name: reason for name, reason in why.items() if reason}

    @cached_property
    def moving(self) -> list[str]:
        """The cases that were measured, see :func:`by_movement`."""
        return by_movement(self.data, [*self.names.values()])

    def keep(self) -> None:
        """Write the data set, and a run on W&B for each that was measured."""
        labelled.write(self._folder / "sweep.nc", self.data)
        # wandb takes a second to load.
        from hessian_papers import tracking

        for job, context in self.done:
            point = self._point(job)
            config = {"study": context.name, "scale": context.config.scale, **point}
            name = ", ".join(f"{key} {value}" for key, value in point.items())
            run = tracking.start_run(
                **vars(context.tracking),
                directory=WANDB.absolute(),
                group=context.sweep,
                job_type="sweep",
                name=f"{context.name} {name}",
                run_id=f"sweep-{digest([context.sweep, config])}",
                config=config,
                about=described.sweep(context.name, context.config, context.sweep),
            )
            cases = _known(context.measured).values()
            values = {case.record.id: case.estimate.value for case in cases}
            with run as tracked:
                tracked.summarise({name: x for name, x in values.items() if not math.isnan(x)})

    def show(self, statistics: Sequence[str]) -> None:
        """Draw the statistics of these names, or those that move most, and print the table."""
        asked = {name for each in statistics for name in fnmatch.filter(self.moving, each)}
        chosen = [name for name in self.moving if name in asked] or self.moving[:PANELS]
        print(f"\n{self.done[0][1].name}, {len(self.done)} of {len(self.jobs)} runs:")
        print(*self._table(chosen), sep="\n")
        for reason in dict.fromkeys(self.left_out.values()):
            variables = [name for name, why in self.left_out.items() if why == reason]
            print(f"not in the data set, being {reason}: {', '.join(variables)}")
        print(f"wrote {self._folder / 'sweep.nc'}")
        if chosen:
            figure = picture(self.data, [*self.names.values()], chosen)
            for suffix, content in rendered(figure, ["png", "svg"]).items():
                write_bytes(self._folder / f"sweep.{suffix}", content)
            print(f"wrote {self._folder / 'sweep.png'}")
        else:
            print("no picture: what was measured are identities, up to round-off")
        if others := [name for name in self.moving if name not in chosen]:
            print(f"{len(others)} more statistics: {STATISTICS}{others[0]} and so on draws them")

    @property
    def _folder(self) -> Path:
        return self.done[0][1].reports.parent

    @cached_property
    def _own(self) -> list[xr.Dataset]:
        """The study's own data set of each run, of which nothing is called like a swept key."""
        taken = (*self.names.values(), *MEASURED, *TEXTS, RUN)
        runs = [_data(context) for _, context in self.done]
        return [
            data.rename({n: f"own_{n}" for n in taken if n in data.variables or n in data.dims})
            for data in runs
        ]

    def _point(self, job: Job) -> dict[str, Any]:
        return {name: job.place.settings[key] for key, name in self.names.items()}

    def _table(self, chosen: Sequence[str]) -> list[str]:
        """A row a run: the swept keys, as many statistics as fit beside them, and failures."""
        failures = {id(job): f"failed: {job.failure}" for job in self.jobs if job.failure}
        width = shutil.get_terminal_size().columns
        for number in range(len(chosen), -1, -1):
            rows = [(*self.names.values(), *chosen[:number])]
            rows += [self._row(job, chosen[:number]) for job in self.jobs]
            lines = aligned(rows)
            if max(map(len, lines)) <= width or number <= 1:
                break
        said = ["", *(failures.get(id(job), "") for job in self.jobs)]
        return [f"{line}  {text}".rstrip() for line, text in zip(lines, said, strict=True)]

    def _row(self, job: Job, chosen: Sequence[str]) -> tuple[str, ...]:
        cases = _known(job.context.measured) if job.context else {}
        point = [str(value) for value in self._point(job).values()]
        return (*point, *(_cell(cases.get(name)) for name in chosen))


def _cell(case: Measurement | None) -> str:
    """The text of a measurement, and what it says unless the statement holds."""
    if case is None or math.isnan(case.estimate.value):
        return "–"
    said = "" if case.record.outcome == "holds" else f" {case.record.outcome}"
    return f"{with_interval(case.estimate)}{said}"


def _known(measured: Sequence[Measurement]) -> dict[str, Measurement]:
    """The measurements of a run, less the rounding errors of identities, by case."""
    shown = [each for each in measured if not each.heading.identity]
    return {each.record.id.rpartition("/")[2]: each for each in shown}


def _data(context: Context) -> xr.Dataset:
    config = chain.raw_study(context)
    return labelled.read_study(
        folder_of(context.results, config["paper"], context.name), sides_of(config)
    )


def _unfit(name: str, runs: Sequence[xr.Dataset]) -> str:
    """Why a variable of a study cannot stand along the swept keys; empty if it can."""
    if not all(name in data.variables for data in runs):
        return "of some runs alone"
    first, *others = (data.variables[name] for data in runs)
    if any((each.dims, each.shape) != (first.dims, first.shape) for each in others):
        return "of different shapes"
    for dim in {*first.dims} & {*runs[0].variables}:
        if not all(dim in data.variables and data[dim].equals(runs[0][dim]) for data in runs):
            return f"at other labels of {dim}"
    return ""


def _measured(runs: Sequence[Mapping[str, Measurement]]) -> tuple[list[xr.Dataset], xr.Dataset]:
    """The measurements of each run along all cases, and the texts of these."""
    cases = {name: case for run in reversed(runs) for name, case in run.items()}
    names = np.array([*cases], dtype=str)
    parts = []
    for run in runs:
        known = [run.get(name) for name in cases]
        columns = np.array([_numbers(case) for case in known], dtype=float).reshape(-1, 5).T
        outcomes = np.array(["" if case is None else case.record.outcome for case in known], str)
        of_run = dict(zip(MEASURED, [names, *columns, outcomes], strict=True))
        parts.append(labelled.data_set(of_run, MEASURED))
    texts = {
        "sentence": [_sentence(case) for case in cases.values()],
        "statistic": [plain(case.heading.statistic) for case in cases.values()],
    }
    arrays = {name: np.array(each, dtype=str) for name, each in texts.items()}
    return parts, labelled.data_set(arrays, TEXTS)


def _numbers(case: Measurement | None) -> tuple[float, ...]:
    """The estimate of a case, and the ends of its bound; NaN where nothing was measured."""
    if case is None or math.isnan(case.estimate.value):
        return (math.nan,) * 5
    return (*case.estimate, *case.bound.range)


def _sentence(case: Measurement) -> str:
    label = ", ".join(filter(None, case.record.labels.values()))
    return plain(f"{case.heading.sentence} ({label})" if label else case.heading.sentence)


def by_movement(data: xr.Dataset, names: Sequence[str]) -> list[str]:
    """The cases that were measured, those first that move most against their interval.

    Args:
        data: of the sweep.
        names: the swept keys.
    """
    value, low, high = (data[name] for name in ("value", "low", "high"))
    size = (high - low).mean(names)
    size = size.where(size.notnull(), RESOLVED * abs(value).max(names))
    moved = ((value.max(names) - value.min(names)) / size.where(size > 0)).fillna(0.0)
    order = (-moved.values).argsort(kind="stable")
    known = value.notnull().any(names).values
    return [str(data["case"].values[place]) for place in order if known[place]]


def along(
    parts: Sequence[xr.Dataset],
    points: Sequence[Mapping[str, Any]],
    whole: Sequence[Mapping[str, Any]],
    which: Any,
) -> xr.Dataset:
    """The data sets of runs as one, along the keys that tell them apart.

    Args:
        parts: of each run, alike in shape and labels.
        points: the value of each key on each run, by the same names.
        whole: those of all runs, some of which may have no data set: there it is NaN or empty.
        which: the variables, of xarray's ``concat``: ``all``, or the ``different`` ones.

    Example:
        >>> runs = [xr.Dataset({"loss": loss}) for loss in (0.5, 0.25)]
        >>> points = [{"width": width} for width in (4, 2, 3)]
        >>> grid = along(runs, points[:2], points, "all")
        >>> grid["width"].values.tolist(), grid["loss"].values.tolist()
        ([2, 3, 4], [0.25, nan, 0.5])
    """
    names = [*points[0]]
    labels = {name: _labels([point[name] for point in whole]) for name in names}
    how: Any = {
        "join": "exact",
        "compat": "equals",
        "coords": "minimal",
        "combine_attrs": "drop_conflicts",
    }
    stacked = xr.concat(parts, RUN, data_vars=which, **how)
    own = [name for name, values in stacked.data_vars.items() if RUN in values.dims]
    if len(points) < math.prod(map(len, labels.values())):
        numbers = [name for name in own if stacked[name].dtype.kind == "b"]
        stacked = stacked.assign({name: stacked[name].astype(float) for name in numbers})
    columns = [_column([point[name] for point in points], labels[name]) for name in names]
    index = pd.MultiIndex.from_arrays(columns, names=names)
    empty = {name: "" for name in own if stacked[name].dtype.kind == "U"}
    coordinates = xr.Coordinates.from_pandas_multiindex(index, RUN)
    grid = stacked.assign_coords(coordinates).unstack(RUN, fill_value=empty)
    grid = grid.reindex(labels, fill_value=empty).assign_coords(labels)
    return grid.transpose(*names, ...)


def _labels(values: Sequence[Any]) -> np.ndarray:
    """The labels along a key: numbers in their order, words in that of the command."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float} or kinds == {bool}:
        return np.unique(values)
    return np.array([*dict.fromkeys(map(str, values))])


def _column(values: Sequence[Any], labels: np.ndarray) -> list[Any]:
    return [str(value) for value in values] if labels.dtype.kind == "U" else [*values]
