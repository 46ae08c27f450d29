"""The ledger: the statements of all studies, measured case by case, each with its verdict.

No measured value stops it: what does not hold differs, what cannot be measured is not tested.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import xarray as xr
import yaml

from hessian_papers.labelled import lacking, read_study
from hessian_papers.ledger.bounds import (
    NOTHING,
    Bound,
    Estimate,
    NothingToMeasure,
    Outcome,
    Replicated,
)
from hessian_papers.ledger.record import CaseRecord, StatementRecord, all_cases, deciding
from hessian_papers.ledger.statements import Entry, Heading, LedgerError, Statements, Study
from hessian_papers.ledger.verdicts import Case, Decision, decide
from hessian_papers.papers import reading_order
from hessian_papers.results import SCALES, Provenance, sides_of
from hessian_spectra.files import MissingResultError, digest

NOT_RUN = Path(__file__).with_name("not_run.yaml")

# What a record takes as it is: from the entry, and from its bound.
_NAMES = {field.name for field in fields(CaseRecord)}
_OF_THE_ENTRY = _NAMES & {field.name for field in fields(Entry)}
_OF_THE_BOUND = _NAMES & {field.name for field in fields(Bound)} - {"expected"}
# What stands in the fields of a bound where nothing is measured.
_NO_BOUND = Bound(relation="<=", expected=0.0, tolerance=0.0, reason="")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One run of a study, on which its statements are measured.

    Args:
        statements: of its kind.
        provenance: where its numbers come from.
        folder: holds ``<side>.nc``.
        names: the studies by paper and artifact, for texts that point to another one.
    """

    statements: Statements
    provenance: Provenance
    folder: Path
    names: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def study(self) -> Study:
        """The study as its statements see it."""
        return Study(self.provenance.study, self.provenance.config, self.names)

    @cached_property
    def data(self) -> xr.Dataset:
        """The data set of the run."""
        return read_study(self.folder, sides_of(self.provenance.config))


def rounded(number: float) -> float | None:
    """A measured value as the ledger shows it: three significant digits, a count in full.

    Errors near 1e-16 are round-off and differ between machines and library versions, so more digits
    would be noise. JSON knows neither NaN nor infinity: they become ``None``.

    Example:
        >>> rounded(1.23456e-14), rounded(5074.0), rounded(float("nan"))
        (1.23e-14, 5074.0, None)
    """
    if not math.isfinite(number):
        return None
    if number == round(number) and abs(number) < 1e6:
        return float(number)
    return float(f"{number:.3g}")


def not_run() -> list[Entry]:
    """The cases without a study, which still have to be run; ``explanation`` says what one takes.

    Example:
        >>> not_run()[0].heading.places
        {'wu2022dissecting': 'appendices F.2.2 and F.2.3, Figures 7 and 8'}
    """
    return [_unmeasured(**entry) for entry in yaml.safe_load(NOT_RUN.read_text("utf-8"))]


def _unmeasured(
    name: str, explanation: str, case: str = "", study: str | None = None, **heading: Any
) -> Entry:
    """A case of which nothing is measured: ``explanation`` says why."""
    return Entry(
        id=f"{name}/claim",
        heading=Heading(statistic="", **heading),
        labels={"case": case} if case else {},
        study=study,
        test=None,
        bound=None,
        measure=None,
        explanation=explanation,
    )


def collect(run: Measured) -> list[Entry]:
    """The cases of one run; a single entry that says why, if its arrays do not tell which.

    Raises:
        LedgerError: a statement is not well formed; two cases have one id.
        MissingResultError: a file or an array that a statement needs is not there, of today's run.
        DamagedFileError: a file of arrays is damaged.
    """
    data, config = run.data, run.provenance.config
    try:
        entries = list(run.statements.entries(run.study, data))
    except Exception as error:  # what a configuration leaves of the arrays may break any function
        return [
            _unmeasured(
                run.study.name,
                _reason(error, run),
                study=run.study.name,
                id=f"{run.study.name}-as-a-whole",
                places={config["paper"]: config["artifact"]},
                sentence=f"What is said of {config['artifact']}.",
                quantifier="everywhere",
                book="observations",
            )
        ]
    problems = [problem for entry in entries for problem in entry.problems()]
    counts = Counter(entry.id for entry in entries)
    twice = sorted(name for name, count in counts.items() if count > 1)
    problems += [f"{name}: more than one case has this id" for name in twice]
    if problems:
        raise LedgerError("the ledger is not well formed: " + "; ".join(problems))
    return entries


def _reason(error: Exception, run: Measured | None) -> str:
    """Why a case was not measured; raises what a stage that was not run leaves missing."""
    if isinstance(error, NothingToMeasure):
        return str(error)
    if isinstance(error, KeyError) and "No variable named" in str(error):
        error = lacking(str(error).split("'")[1])
    if isinstance(error, MissingResultError) and not (run and run.provenance.recorded):
        raise error
    return f"could not be measured here: {type(error).__name__}: {' '.join(str(error).split())}"


def outcome(entry: Entry, measured: Estimate) -> Outcome:
    """The outcome of one case, see :meth:`~hessian_papers.ledger.bounds.Bound.outcome`.

    Of a NaN nothing is known, but an identity must give a number.
    """
    assert entry.bound is not None
    if math.isnan(measured.value):
        return "fails" if entry.heading.identity else "not measured"
    return entry.bound.outcome(measured)


def _interval(estimate: Estimate) -> list[float | None] | None:
    """The ends of an estimate's interval as the ledger shows them, if it has one."""
    return [rounded(estimate.low), rounded(estimate.high)] if estimate.has_interval else None


def _of_the_run(run: Measured | None) -> dict[str, Any]:
    """The fields of a record that are of the run that its case was measured on, if any was."""
    if run is None:
        return {"digest": None, "scale": None, "recorded": False, "departs": {}, "seconds": None}
    names = ("scale", "recorded", "departs", "seconds")
    of_the_run = {name: getattr(run.provenance, name) for name in names}
    return {"digest": digest(run.provenance.config), **of_the_run}


def _record(
    entry: Entry,
    run: Measured | None,
    outcome: Outcome = "not measured",
    bound: Bound | None = None,
    measured: Estimate = NOTHING,
    printed: Estimate = NOTHING,
) -> CaseRecord:
    """The record of a case; without a bound, of one that was not measured."""
    return CaseRecord(
        **{name: getattr(entry, name) for name in _OF_THE_ENTRY} | {"labels": dict(entry.labels)},
        **{name: getattr(bound or _NO_BOUND, name) for name in _OF_THE_BOUND},
        **_of_the_run(run),
        sentence=entry.heading.sentence,
        printed=entry.heading.printed,
        place=_each_once(entry.heading.places.values()),
        expected=None if bound is None else bound.expected,
        measured=rounded(measured.value),
        interval=_interval(measured),
        outcome=outcome,
        printed_error=rounded(printed.value),
        beside=None,
    )


def _estimate(value: Any) -> Estimate:
    """A plain number as an estimate without an interval."""
    if isinstance(value, Replicated):
        return value
    if isinstance(value, Estimate):
        return Estimate(*map(float, value))
    return Estimate(float(value))


@dataclass(frozen=True)
class Measurement:
    """One case on one run: its record, and the numbers before they are rounded.

    Args:
        heading: of the statement.
        record: of the case.
        estimate: the measured value.
        bound: what it is compared with.
        in_print_fails: whether what is in print does not hold.
    """

    heading: Heading
    record: CaseRecord
    estimate: Estimate = NOTHING
    bound: Bound = _NO_BOUND
    in_print_fails: bool = False

    @property
    def case(self) -> Case:
        """The case that the verdict is made of."""
        record = self.record
        absent = record.study is None
        return Case(record.outcome, self.estimate, self.bound, record.smaller, absent)

    @property
    def weakness(self) -> tuple[bool, int, int, bool]:
        """The order of the runs of a case: one that could not measure it says least."""
        record = self.record
        rank = SCALES.index(record.scale) if record.scale in SCALES else len(SCALES)
        # A run at the demo's scale is recorded for its draws, which are more than the demo's.
        later = record.recorded != (record.scale == SCALES[-1])
        return record.outcome == "not measured", rank, len(record.departs), later


def measure(entry: Entry, run: Measured | None) -> Measurement:
    """One case, measured on one run.

    Args:
        entry: the case.
        run: what it is measured on; ``None`` if no study of ours measures it.

    Raises:
        MissingResultError: a file or an array that it needs is not there, of today's run.
    """
    bound, heading = entry.bound, entry.heading
    if entry.measure is None or bound is None:
        return Measurement(heading, _record(entry, run))
    try:
        measured = _estimate(entry.measure())
        print_ = NOTHING if entry.measure_printed is None else _estimate(entry.measure_printed())
    except Exception as error:  # what a configuration leaves of the arrays may break any function
        return Measurement(heading, _record(replace(entry, explanation=_reason(error, run)), run))
    if math.isnan(measured.value):
        entry = replace(entry, explanation="could not be measured here: it gave NaN")
    record = _record(entry, run, outcome(entry, measured), bound, measured, print_)
    fails = entry.measure_printed is not None and bound.outcome(print_) == "fails"
    return Measurement(heading, record, measured, bound, fails)


def measurements(runs: Sequence[Measured]) -> list[Measurement]:
    """Every case of every statement, measured on each of some runs.

    Raises:
        LedgerError: see :func:`collect`.
        MissingResultError: see :func:`collect`.
    """
    return [measure(entry, run) for run in runs for entry in collect(run)]


def unmeasured() -> list[Measurement]:
    """The cases that no study of ours measures."""
    return [measure(entry, None) for entry in not_run()]


def decided(measured: Sequence[Measurement]) -> list[StatementRecord]:
    """The statements with their verdicts; of each case the strongest run decides.

    Args:
        measured: all cases. The strongest run of a case is one that could measure it, of the first
            of :data:`SCALES`, with the fewest settings that depart from the paper's, today's before
            a recorded one; at the demo's scale a recorded one, which has more draws.

    Returns:
        The statements in the order of their first cases; the weaker run of a case stands beside it.
        Measured values have three significant digits, see :func:`rounded`; verdicts are of the
        numbers before that.

    Raises:
        LedgerError: cases of one statement disagree on what it is.
    """
    statements: dict[str, dict[str, list[Measurement]]] = {}
    for case in measured:
        cases = statements.setdefault(case.heading.id, {})
        cases.setdefault(case.record.id, []).append(case)
    return [_statement([*cases.values()]) for cases in statements.values()]


def decided_by_records(measured: Sequence[Measurement]) -> list[StatementRecord]:
    """The statements as recorded runs decide them, and of others the verdict alone.

    Args:
        measured: all cases, as of :func:`decided`.

    Returns:
        Of a statement that has a recorded run the cases of such runs alone. Of today's runs the
        verdict stands alone: numbers, and cases that do not follow, are another processor's own.
    """
    known = {each.heading.id for each in measured if each.record.recorded or each.heading.identity}
    kept = [each for each in measured if _is_fixed(each) or each.heading.id not in known]
    statements = decided([each if each.record.recorded else _unread(each) for each in kept])
    verdicts = {each.id: each.verdict for each in decided(measured)}
    return [replace(each, verdict=verdicts[each.id]) for each in statements]


def _is_fixed(case: Measurement) -> bool:
    """Whether another processor says the same of a case, or no run does."""
    return case.record.recorded or case.heading.identity or case.record.study is None


def _unread(case: Measurement) -> Measurement:
    """A case without the numbers of today's run, and without its outcome if it is no identity."""
    record = replace(case.record, measured=None, interval=None, printed_error=None)
    if not case.heading.identity and record.study is not None:
        record = replace(record, outcome="not measured", explanation="")
    return replace(case, record=record)


def evaluate(runs: Sequence[Measured]) -> list[StatementRecord]:
    """The whole ledger of some runs: :func:`decided` of all that they measure and of the rest."""
    return decided([*measurements(runs), *unmeasured()])


def _statement(cases: Sequence[Sequence[Measurement]]) -> StatementRecord:
    """A statement with its verdict, of its cases, each on its runs; the first has its sentence."""
    decisive, records = [], []
    for same in cases:
        first, *weaker = sorted(same, key=lambda measurement: measurement.weakness)
        decisive.append(first)
        records.append(replace(first.record, beside=weaker[0].record if weaker else None))
    headings = [measurement.heading for same in cases for measurement in same]
    heading = headings[0]
    for name in ("quantifier", "book", "identity", "state", "assumes", "surrogate"):
        values = dict.fromkeys(getattr(heading, name) for heading in headings)
        # What was not measured need not say what it presupposes.
        values.pop("", None)
        if len(values) > 1:
            got = ", ".join(map(str, values))
            raise LedgerError(f"{heading.id}: expected one {name} for all its cases, got {got}")
        heading = replace(heading, **dict.fromkeys([name], *values)) if values else heading
    decision = _decision(heading, decisive)
    records = [_as_a_part(record, heading.sentence) for record in records]
    of_all = {
        "places": _places(headings),
        "printed": next((h.printed for h in headings if h.printed), None),
    }
    return StatementRecord(
        **vars(heading) | of_all,
        verdict=decision.verdict,
        pooled=rounded(decision.pooled.value),
        pooled_interval=_interval(decision.pooled),
        cases=records,
    )


def _as_a_part(case: CaseRecord, sentence: str) -> CaseRecord:
    """A case whose sentence is left out where it is the statement's own."""
    beside = None if case.beside is None else _as_a_part(case.beside, sentence)
    own = "" if case.sentence == sentence else case.sentence
    return replace(case, sentence=own, beside=beside)


def _decision(heading: Heading, cases: Sequence[Measurement]) -> Decision:
    """The verdict; where a statement rests on our reading of a word, it calls no paper wrong.

    What is beyond the papers has no setting of theirs to be smaller than.
    """
    if not heading.identity:
        kept = deciding([case.record for case in cases])
        cases = [case for case, decides in zip(cases, kept, strict=True) if decides]
    in_print_fails = any(case.in_print_fails for case in cases)
    measured = [case.case for case in cases]
    if heading.book == "beyond":
        measured = [replace(case, smaller=False) for case in measured]
    decision = decide(heading.quantifier, measured, in_print_fails=in_print_fails)
    if heading.book == "readings" and decision.verdict == "differs":
        return replace(decision, verdict="depends")
    return decision


def _places(headings: Sequence[Heading]) -> dict[str, str]:
    """Where a statement stands, by paper in their order: the places of all its cases, each once."""
    places: dict[str, list[str]] = {}
    for heading in headings:
        for paper, place in heading.places.items():
            places.setdefault(paper, []).append(place)
    return {paper: _each_once(places[paper]) for paper in sorted(places, key=reading_order)}


def _each_once(places: Iterable[str]) -> str:
    """Some places as one, what they have in common said once."""
    return "; ".join(dict.fromkeys(part for place in places for part in place.split("; ")))


def broken(statements: Sequence[StatementRecord]) -> list[str]:
    """A line for each identity that does not hold, on any run: there our computation is wrong."""
    identities = (statement for statement in statements if statement.identity)
    lines = []
    for case in (run for each in all_cases(identities) for run in each.runs):
        if case.outcome == "fails":
            measured = "no number" if case.measured is None else f"{case.measured:.3g}"
            run = " (recorded run)" if case.recorded else ""
            lines.append(f"{case.id}{run}: measured {measured}, expected {case.bound}")
    return lines
