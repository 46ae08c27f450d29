"""The ledger's books: the claims of all studies, measured, each with its verdict.

No measured value stops them: what does not hold differs, what cannot be measured is not run.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from hessian_papers.ledger.bounds import Bound, Estimate, NothingToMeasure, Verdict
from hessian_papers.ledger.claims import Claims, Entry, LedgerError, Study
from hessian_papers.ledger.record import ClaimRecord
from hessian_papers.results import sides_of
from hessian_spectra.files import MissingResultError, digest

NOT_RUN = Path(__file__).with_name("not_run.yaml")
# From the strongest to the weakest; any other scale is weaker.
SCALES = ("paper", "workstation", "demo")

# What a record takes as it is: from the entry, and from its bound.
_NAMES = {field.name for field in fields(ClaimRecord)}
_OF_THE_ENTRY = _NAMES & {field.name for field in fields(Entry)}
_OF_THE_BOUND = _NAMES & {field.name for field in fields(Bound)} - {"expected"}
# What stands in the fields of a bound where nothing is measured.
_NO_BOUND = Bound(relation="<=", expected=0.0, tolerance=0.0, reason="")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One run of a study, on which its claims are measured.

    Args:
        claims: those of its kind.
        study: its name and the configuration of the run.
        folder: holds ``<side>.npz``.
        scale: ``demo``, ``paper``, or another.
        recorded: whether it is a recorded run, not today's.
        departs: the settings that are not the paper's, ``[value here, the paper's]`` by key.
        damaged: what is wrong with the study's recorded run, if nothing is measured on it for that.
    """

    claims: Claims
    study: Study
    folder: Path
    scale: str
    recorded: bool = False
    departs: Mapping[str, list[Any]] = field(default_factory=dict)
    damaged: str = ""


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
    """What still has to be run: entries without a study; ``explanation`` says what one takes.

    Example:
        >>> not_run()[0].location
        'appendix F.2, Figures 7, 8, 10, 24 and 25'
    """
    return [
        Entry(**entry, study=None, test=None, bound=None, measure=None)
        for entry in yaml.safe_load(NOT_RUN.read_text("utf-8"))
    ]


def collect(run: Measured) -> list[Entry]:
    """The claims of one run; a single entry that says why, if its arrays do not tell which.

    Raises:
        LedgerError: a claim is not well formed; two have one id.
        MissingResultError: a file or an array that a claim needs is not there, of today's run.
        DamagedFileError: a file of arrays is damaged.
    """
    reading = run.claims.reading.read(run.folder, sides_of(run.study.config))
    try:
        found = list(run.claims.entries(run.study, reading))
    except Exception as error:  # what a configuration leaves of the arrays may break any function
        return [_no_entry(run, _reason(error, run))]
    problems = [problem for entry in found for problem in entry.problems()]
    counts = Counter(entry.id for entry in found)
    twice = sorted(name for name, count in counts.items() if count > 1)
    problems += [f"{name}: more than one claim has this id" for name in twice]
    if problems:
        raise LedgerError("the ledger is not well formed: " + "; ".join(problems))
    return found


def _no_entry(run: Measured, reason: str) -> Entry:
    """What stands for the claims of a run that are not known."""
    config = run.study.config
    return Entry(
        id=f"{run.study.name}/claims",
        paper=config["paper"],
        location=config["artifact"],
        statement=f"What is claimed of {config['artifact']}.",
        kind="value",
        study=run.study.name,
        test=None,
        bound=None,
        measure=None,
        explanation=reason,
    )


def _reason(error: Exception, run: Measured | None) -> str:
    """Why a claim was not measured; raises what a stage that was not run leaves missing."""
    if isinstance(error, NothingToMeasure):
        return str(error)
    if isinstance(error, MissingResultError) and not (run and run.recorded):
        raise error
    return f"could not be measured here: {type(error).__name__}: {' '.join(str(error).split())}"


def verdict(entry: Entry, measured: Estimate, printed: Estimate | None) -> Verdict:
    """The verdict on a measured claim, see :meth:`~hessian_papers.ledger.bounds.Bound.verdict`.

    An erratum is ``corrected`` if its corrected form holds and the printed one does not. Where the
    printed one may hold as well (in a configuration that does not tell them apart), what we state
    is simply ``reproduced``. Of a NaN nothing is known, but an identity must give a number.
    """
    assert entry.bound is not None
    if math.isnan(measured.value):
        return "differs" if entry.kind == "identity" else "not run at this scale"
    found = entry.bound.verdict(measured)
    if found == "reproduced" and printed and entry.bound.verdict(printed) == "differs":
        return "corrected"
    return found


def _record(
    entry: Entry,
    found: Verdict,
    run: Measured | None,
    measured: Estimate | None = None,
    printed: Estimate | None = None,
) -> ClaimRecord:
    interval = None
    if measured is not None and measured.has_interval:
        interval = [rounded(measured.low), rounded(measured.high)]
    bound = _NO_BOUND if measured is None or entry.bound is None else entry.bound
    return ClaimRecord(
        **{name: getattr(entry, name) for name in _OF_THE_ENTRY},
        **{name: getattr(bound, name) for name in _OF_THE_BOUND},
        expected=None if measured is None else bound.expected,
        measured=None if measured is None else rounded(measured.value),
        interval=interval,
        verdict=found,
        digest=None if run is None else digest(run.study.config),
        printed_error=None if printed is None else rounded(printed.value),
        scale=None if run is None else run.scale,
        recorded=run is not None and run.recorded,
        departs={} if run is None else dict(run.departs),
        beside=None,
    )


def _estimate(found: Any) -> Estimate:
    """A plain number as an estimate without an interval."""
    if isinstance(found, Estimate):
        return Estimate(*map(float, found))
    return Estimate(float(found))


def measure(entry: Entry, run: Measured | None) -> ClaimRecord:
    """The record of one claim.

    Args:
        entry: the claim.
        run: what it is measured on; ``None`` if no study of ours measures it.

    Raises:
        MissingResultError: a file or an array that it needs is not there, of today's run.
    """
    if entry.measure is None or entry.bound is None:
        return _record(entry, "not run at this scale", run)
    try:
        measured = _estimate(entry.measure())
        print_ = None if entry.measure_printed is None else _estimate(entry.measure_printed())
    except Exception as error:  # what a configuration leaves of the arrays may break any function
        unmeasured = replace(entry, explanation=_reason(error, run))
        return _record(unmeasured, "not run at this scale", run)
    if math.isnan(measured.value):
        entry = replace(entry, explanation="could not be measured here: it gave NaN")
    return _record(entry, verdict(entry, measured, print_), run, measured, print_)


def _weakness(record: ClaimRecord) -> tuple[bool, int, int, bool]:
    """Orders the runs of a claim: one that could not measure it says least."""
    rank = SCALES.index(record.scale) if record.scale in SCALES else len(SCALES)
    unmeasured = record.verdict == "not run at this scale"
    return unmeasured, rank, len(record.departs), record.recorded


def evaluate(runs: Sequence[Measured]) -> list[ClaimRecord]:
    """Measure every claim of every study on each of its runs; the strongest run decides.

    Args:
        runs: of all studies. The strongest run of a claim is one that could measure it, of the
            first of :data:`SCALES`, with the fewest settings that depart from the paper's, today's
            before a recorded one.

    Returns:
        The ledger in the studies' order, then the claims that no study of ours measures; a weaker
        run stands beside. Measured values have three significant digits, see :func:`rounded`.

    Raises:
        LedgerError: see :func:`collect`.
        MissingResultError: see :func:`collect`.
    """
    found: dict[str, dict[str, list[ClaimRecord]]] = {}
    for run in runs:
        of_study = found.setdefault(run.study.name, {})
        for entry in collect(run):
            of_study.setdefault(entry.id, []).append(measure(entry, run))
    records = []
    for same in (claim for of_study in found.values() for claim in of_study.values()):
        first, *weaker = sorted(same, key=_weakness)
        records.append(replace(first, beside=weaker[0] if weaker else None))
    return records + [measure(entry, None) for entry in not_run()]


def broken(records: Sequence[ClaimRecord]) -> list[str]:
    """A line for each identity that does not hold, on any run: there our computation is wrong."""
    found = []
    for one in (run for record in records for run in record.runs):
        if one.kind == "identity" and one.verdict == "differs":
            expected = one.expected or 0.0
            bound = Bound(
                relation=one.relation, expected=expected, tolerance=one.tolerance, reason=""
            )
            measured = "no number" if one.measured is None else f"{one.measured:.3g}"
            run = " (recorded run)" if one.recorded else ""
            found.append(f"{one.id}{run}: measured {measured}, expected {bound}")
    return found
