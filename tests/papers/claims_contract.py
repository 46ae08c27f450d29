"""The contract of every claim: arrays that hold, arrays that fail, a case that is missing.

A claim that no wrong arrays break says nothing. So each case of each claim fails on something that
was planted to fail, and an identity fails where what was measured is disturbed: one that compares
theory with itself is refused. No array tells that a study computed one and the same thing twice, so
networks are planted, where that can be done, and not what a study returns of them. A kind's test
module plants arrays and names them; the rest is here:

    test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)

Kinds that have recorded runs need none, see :func:`of_records`: these are disturbed in one respect
after another, until each case gave another number, and each claim held and did not. What the
numbers of the recorded runs are stands in ``reports/claims.md``.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr
import yaml

from hessian_papers.labelled import Variables, data_set, joined
from hessian_papers.ledger.bounds import REPLICATES, Estimate, NothingToMeasure, Outcome
from hessian_papers.ledger.evaluation import Measured
from hessian_papers.ledger.statements import Entry, Statements, Study
from hessian_spectra.files import Arrays
from pipelines import chain, inputs, schema

ROOT = Path(__file__).resolve().parents[2]
# What a configuration may have fewer of.
CHOSEN = (
    "parametrisation", "size", "depth", "width", "network", "teacher", "seed", "variant", "method",
    "source", "replicate", "draw", "classes", "alpha", "control", "edit",
)  # fmt: skip
Sides = Mapping[str, Arrays | xr.Dataset]


class Kind(NamedTuple):
    """The statements of a kind of studies, and the variables that its studies declare."""

    statements: Statements
    variables: Variables

    def data(self, sides: Sides) -> Any:
        """The data set of a study with these sides."""
        return planted_data(sides, self.variables)

    def entries(
        self, sides: Sides | xr.Dataset, paper: str, artifact: str = "-", name: str = ""
    ) -> dict[str, Entry]:
        """The cases of the claims on these sides by their names, of one function alone if named."""
        only = copy(self.statements)
        only.all = [each for each in only.all if name in ("", each.function_name)]
        study = Study("planted", {"paper": paper, "artifact": artifact})
        data = sides if isinstance(sides, xr.Dataset) else self.data(sides)
        return {entry.id.removeprefix("planted/"): entry for entry in only.entries(study, data)}


def planted_data(sides: Sides, variables: Variables) -> xr.Dataset:
    """Sides, plain arrays or data sets, as the data set of a study."""
    return joined(
        [
            arrays if isinstance(arrays, xr.Dataset) else data_set(arrays, variables)
            for arrays in sides.values()
        ]
    )


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Arrays for the claims about one artifact of a paper.

    Args:
        paper: the paper's key.
        artifact: what the claims are about.
        holds: the sides of a study of which every claim holds.
        fails: other arrays; each claim fails on at least one of them.
        reduced: arrays of smaller studies, which leave out a case, a run or a point.
        of_theory: the identities that hold two results of theory against each other, by the name
            of their entry, and why they can be wrong all the same.
    """

    paper: str
    artifact: str
    holds: Sides
    fails: Sequence[Sides]
    reduced: Sequence[Sides] = ()
    of_theory: Mapping[str, str] = field(default_factory=dict)

    def entries(self, kind: Kind, name: str, sides: Sides) -> Iterator[Entry]:
        """The entries of a claim's function for some arrays, one a case."""
        yield from kind.entries(sides, self.paper, self.artifact, name).values()


def names(statements: Statements) -> list[str]:
    """The functions of a kind's claims."""
    return list(dict.fromkeys(statement.function_name for statement in statements.all))


def changed(sides: Sides, side: str, **arrays: object) -> Sides:
    """The sides with some arrays of one of them replaced; a function is called with the old one."""
    old = sides[side]
    new = {name: a(np.asarray(old[name])) if callable(a) else a for name, a in arrays.items()}
    if isinstance(old, xr.Dataset):
        new = {name: (old[name].dims, values, old[name].attrs) for name, values in new.items()}
        return {**sides, side: old.assign(new)}
    return {**sides, side: {**old, **new}}


def _outcome(entry: Entry, *, of_print: bool = False) -> Outcome:
    assert entry.bound is not None
    measure = entry.measure_printed if of_print else entry.measure
    assert measure is not None
    actual = measure()
    return entry.bound.outcome(actual if isinstance(actual, Estimate) else Estimate(float(actual)))


def _fails(entry: Entry) -> bool:
    """Whether a case speaks against its statement; of what exists, that no draw shows it."""
    try:
        outcome = _outcome(entry)
    except NothingToMeasure:
        return False
    return outcome == "fails" or (entry.heading.quantifier == "exists" and outcome == "open")


def holds_and_fails(kind: Kind, planted: Sequence[Planted], name: str) -> None:
    """A claim holds on the arrays planted for it; each case, and what is in print, fails on others.

    An identity fails besides where the arrays that were measured are disturbed.
    """
    holding: set[str] = set()
    failing: set[str] = set()
    printed: list[bool] = []
    for item in planted:
        entries = {entry.id: entry for entry in item.entries(kind, name, item.holds)}
        for entry in entries.values():
            assert entry.problems() == []
            assert _outcome(entry) == "holds", f"{entry.id} does not hold where it was planted"
            if entry.measure_printed is not None:
                printed.append(_outcome(entry, of_print=True) != "fails")
        identities = [entry.id for entry in entries.values() if entry.heading.identity]
        _are_measured(kind, item, name, identities)
        holding |= {f"{item.artifact}: {entry}" for entry in entries}
        for sides in item.fails:
            failing |= {
                f"{item.artifact}: {entry.id}"
                for entry in item.entries(kind, name, sides)
                if _fails(entry)
            }
    assert holding, f"nothing was planted for {name}"
    assert holding <= failing, f"{sorted(holding - failing)} hold on everything planted to fail"
    assert not printed or not all(printed), f"what is in print of {name} holds everywhere"


def _are_measured(kind: Kind, planted: Planted, name: str, entries: Iterable[str]) -> None:
    """Each identity is broken by some disturbance of what brute force, or training, says."""
    holding = set(entries)
    measured = (side for side in planted.holds if side != "closed_form")
    disturbed = (sides for side in measured for sides in _disturbances(planted.holds, side))
    while holding and (sides := next(disturbed, None)) is not None:
        holding -= set(_breaking(kind, planted, name, holding, sides))
    broken = {entry.removeprefix("planted/") for entry in set(entries) - holding}
    lasting = {entry.removeprefix("planted/") for entry in holding} - set(planted.of_theory)
    assert not lasting, f"{sorted(lasting)} hold whatever is measured"
    assert not broken & set(planted.of_theory), f"{sorted(broken)}: not all are of theory alone"


def _breaking(
    kind: Kind, planted: Planted, name: str, entries: Container[str], sides: Sides
) -> Iterator[str]:
    """The ids among ``entries`` of what fails on disturbed sides."""
    # Of disturbed indices or kinds there may be nothing to measure, or none of an array.
    with suppress(Exception):
        for entry in planted.entries(kind, name, sides):
            with suppress(Exception):
                if entry.id in entries and _outcome(entry) == "fails":
                    yield entry.id


def _disturbances(sides: Sides, side: str) -> Iterator[Sides]:
    """With all real numbers of a side disturbed, and with each of its arrays alone."""
    arrays = sides[side]
    arrays = arrays.variables if isinstance(arrays, xr.Dataset) else arrays
    real = [name for name, values in arrays.items() if np.asarray(values).dtype.kind == "f"]
    for disturb in (_raised, _lowered, _shrunk):
        yield changed(sides, side, **dict.fromkeys(real, disturb))
    for name in arrays:
        for disturb in (_raised, _lowered, _shrunk):
            yield changed(sides, side, **{name: disturb})


def _raised(values: np.ndarray, sign: int = 1) -> np.ndarray:
    """Real numbers by up to the largest, by up to 1 where all are nearly 0; counts by one."""
    values = np.asarray(values)
    if values.dtype.kind == "b":
        return ~values
    if values.dtype.kind != "f":
        return values if values.dtype.kind == "U" else values + sign
    largest = np.max(np.abs(values), where=np.isfinite(values), initial=0.0)
    draws = np.random.default_rng(0).uniform(0.5, 1.0, values.shape)
    return np.asarray(values + sign * (largest if largest > 1e-6 else 1.0) * draws)


def _lowered(values: np.ndarray) -> np.ndarray:
    return _raised(values, -1)


def _shrunk(values: np.ndarray) -> np.ndarray:
    """A thousandth of real numbers, for what is bounded from below and has room."""
    return values * 1e-3 if np.asarray(values).dtype.kind == "f" else values


def bears_a_missing_case(kind: Kind, planted: Sequence[Planted], name: str) -> None:
    """A claim is measured on a smaller study, or says that there is nothing to measure."""
    for item in planted:
        for sides in item.reduced:
            for entry in item.entries(kind, name, sides):
                assert entry.measure is not None
                try:
                    actual = entry.measure()
                except NothingToMeasure:
                    continue
                value = actual.value if isinstance(actual, Estimate) else float(actual)
                assert not math.isnan(value), f"{entry.id}: measured NaN of a smaller study"


def contract(
    statements: Statements, variables: Variables
) -> tuple[Callable[..., None], Callable[..., None]]:
    """The tests of all claims of a kind, for a module with a fixture ``planted``."""
    kind = Kind(statements, variables)

    def holding(name: str, planted: Sequence[Planted]) -> None:
        holds_and_fails(kind, planted, name)

    def bearing(name: str, planted: Sequence[Planted]) -> None:
        bears_a_missing_case(kind, planted, name)

    each = pytest.mark.parametrize("name", names(statements))
    return each(holding), each(bearing)


@cache
def recorded_runs(kind: str) -> list[Measured]:
    """The recorded runs of a kind of studies, the smallest first."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    names = [name for name, study in params["studies"].items() if study["kind"] == kind]
    provenances = (inputs.provenances(params, name) for name in names)
    runs = [run for each in provenances for run in chain.measured(each, ROOT, {})]
    recorded = [run for run in runs if run.provenance.recorded]
    return sorted(recorded, key=lambda run: run.data.nbytes)


def _entries(run: Measured, data: xr.Dataset, name: str) -> dict[str, Entry]:
    """The cases of a claim's function on the data of a run, by their ids."""
    only = copy(run.statements)
    only.all = [each for each in only.all if each.function_name == name]
    return {entry.id: entry for entry in only.entries(run.study, data)}


def _estimate(entry: Entry) -> Estimate | None:
    """The number of a case, if it has one."""
    with suppress(Exception):  # of disturbed numbers there may be no measurement
        value = entry.measure()
        value = value if isinstance(value, Estimate) else Estimate(float(value))
        return None if math.isnan(value.value) else value
    return None


def _grown(values: np.ndarray, factor: float = 1e3) -> np.ndarray:
    return values * factor if values.dtype.kind == "f" else values


def _swelled(values: np.ndarray) -> np.ndarray:
    return _grown(values, 1.01)


def _in_one_respect(data: xr.Dataset) -> Iterator[xr.Dataset]:
    """A run with its numbers disturbed, all of them and each array alone, or in another order."""
    real = [name for name, values in data.items() if values.dtype.kind == "f"]
    for chosen in (real, *([name] for name in data)):
        for disturb in (_raised, _lowered, _shrunk, _grown, _swelled):
            yield changed({"run": data}, "run", **dict.fromkeys(chosen, disturb))["run"]
        for axis in dict.fromkeys(axis for name in chosen for axis in data[name].dims):
            turned = data[chosen].isel({axis: slice(None, None, -1)})
            yield data.assign({name: data[name].copy(data=turned[name].values) for name in chosen})


def _distance(entry: Entry, value: Estimate) -> tuple[float, float]:
    """The distances of a number, and of its interval, from the numbers that the claim says."""
    low, high = entry.bound.range
    ends = value[1:] if value.has_interval else (value.value, value.value)
    reach = max(
        low - ends[0] if low > -math.inf else 0.0, ends[1] - high if high < math.inf else 0.0
    )
    return max(low - value.value, value.value - high, 0.0), max(reach, 0.0)


def follows_what_was_measured(kind: str, name: str) -> None:
    """Each case has another number on other data, on which the claim is wrong.

    Where it is wrong on the recorded run already, there is data that is nearer to what it says.
    """
    known = False
    for run in recorded_runs(kind):
        entries = _entries(run, run.data, name)
        actual = {case: value for case, entry in entries.items() if (value := _estimate(entry))}
        left, known = set(actual), known or bool(actual)
        outcomes = {entries[case].bound.outcome(value) for case, value in actual.items()}
        wrong, nearer = bool(outcomes - {"holds"}), "holds" in outcomes
        for data in _in_one_respect(run.data) if actual else ():
            with suppress(Exception):  # of disturbed labels there may be no case
                for case, entry in _entries(run, data, name).items():
                    if case not in left and wrong and nearer:
                        continue
                    value, old = _estimate(entry), actual.get(case)
                    left -= set() if value == old else {case}
                    if value and old:
                        wrong |= entry.bound.outcome(value) != "holds"
                        nearer |= _distance(entry, value) < _distance(entry, old)
            if not left and wrong and nearer:
                return
    assert not known, f"{name}: wrong {wrong}, nearer {nearer}, whatever is measured; {left}"
    raise AssertionError(f"{name}: no recorded run measures it")


def bears_fewer_labels(kind: str, name: str) -> None:
    """A claim is measured on a part of a recorded run, or says that there is nothing to measure."""
    for run in recorded_runs(kind):
        for axis in {*CHOSEN} & {*run.data.dims}:
            # Two make a pair, and an interval.
            part = run.data.isel({axis: slice(2 if axis in REPLICATES else 1)})
            for entry in _entries(run, part, name).values():
                with suppress(NothingToMeasure):
                    value = entry.measure()
                    value = value.value if isinstance(value, Estimate) else float(value)
                    assert not math.isnan(value), f"{entry.id}: measured NaN of one {axis}"


def of_records(kind: str, *by_hand: str) -> tuple[Callable[..., None], Callable[..., None]]:
    """The tests of all claims of a kind that has recorded runs.

    Args:
        kind: of studies.
        by_hand: claims that no recorded run measures, or that no disturbance makes wrong; the
            kind's test module plants numbers for them.
    """
    statements = schema.module_of("studies", kind, "", "claims").statements
    each = pytest.mark.parametrize("name", names(statements))

    def holding(name: str) -> None:
        if name in by_hand:
            with pytest.raises(AssertionError, match=r"no recorded run|whatever is measured"):
                follows_what_was_measured(kind, name)
        else:
            follows_what_was_measured(kind, name)

    def bearing(name: str) -> None:
        bears_fewer_labels(kind, name)

    return each(holding), each(bearing)
