"""The ledger's books: the claims of all studies, measured, each with its verdict."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import yaml

from hessian_spectra.ledger.bounds import VERDICTS, Bound, Estimate, NothingToMeasure, Verdict
from hessian_spectra.ledger.claims import Claims, Entry, LedgerError, Study
from hessian_spectra.ledger.record import ClaimRecord
from hessian_spectra.results import digest

NOT_RUN = Path(__file__).with_name("not_run.yaml")

# What a record takes as it is: from the entry, and from its bound.
_NAMES = {field.name for field in fields(ClaimRecord)}
_OF_THE_ENTRY = _NAMES & {field.name for field in fields(Entry)}
_OF_THE_BOUND = _NAMES & {field.name for field in fields(Bound)} - {"expected"}
# What stands in the fields of a bound where nothing is measured.
_NO_BOUND = Bound(relation="<=", expected=0.0, tolerance=0.0, reason="")


class ClaimError(ValueError):
    """Claims that do not hold, or that nobody could measure; the message names each of them."""


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
        >>> [entry.location for entry in not_run()][:2]
        ['Figure 5', 'Figure 6']
    """
    return [
        Entry(**entry, study=None, test=None, bound=None, measure=None)
        for entry in yaml.safe_load(NOT_RUN.read_text("utf-8"))
    ]


def collect(studies: Sequence[tuple[Claims, Study, Path]]) -> list[Entry]:
    """The claims of all studies, in the studies' order, then those that no study of ours measures.

    Args:
        studies: for each study the claims of its kind, its name and configuration, and the folder
            of its arrays.

    Raises:
        LedgerError: a claim is not well formed; two have one id.
    """
    found = [
        entry
        for claims, study, folder in studies
        for entry in claims.entries(study, claims.reading.read(folder))
    ] + not_run()
    problems = [problem for entry in found for problem in entry.problems()]
    counts = Counter(entry.id for entry in found)
    twice = sorted(name for name, count in counts.items() if count > 1)
    problems += [f"{name}: more than one claim has this id" for name in twice]
    if problems:
        raise LedgerError("the ledger is not well formed: " + "; ".join(problems))
    return found


def verdict(entry: Entry, measured: Estimate, printed: Estimate | None) -> Verdict:
    """The verdict on a measured claim, see :meth:`~hessian_spectra.ledger.bounds.Bound.verdict`.

    An erratum is ``corrected`` if its corrected form holds and the printed one does not. Where the
    printed one may hold as well (in a configuration that does not tell them apart), what we state
    is simply ``reproduced``.

    Raises:
        ClaimError: nothing was measured (NaN); an identity does not hold; another claim does not
            hold and nobody explains why.
    """
    assert entry.bound is not None
    if math.isnan(measured.value):
        raise ClaimError(f"{entry.id}: measured NaN, so the measurement itself has failed")
    found = entry.bound.verdict(measured)
    if found == "differs":
        failure = f"{entry.id}: measured {measured.value:.3g}, expected {entry.bound}"
        if entry.kind == "identity":
            raise ClaimError(failure)
        if not entry.explanation.strip():
            raise ClaimError(f"{failure}, and no explanation is given")
    if found == "reproduced" and printed and entry.bound.verdict(printed) == "differs":
        return "corrected"
    return found


def _record(
    entry: Entry,
    found: Verdict,
    configuration: str | None,
    measured: Estimate | None = None,
    printed: Estimate | None = None,
) -> ClaimRecord:
    interval = None
    if measured is not None and not math.isnan(measured.low):
        interval = [rounded(measured.low), rounded(measured.high)]
    bound = _NO_BOUND if measured is None or entry.bound is None else entry.bound
    return ClaimRecord(
        **{name: getattr(entry, name) for name in _OF_THE_ENTRY},
        **{name: getattr(bound, name) for name in _OF_THE_BOUND},
        expected=None if measured is None else bound.expected,
        measured=None if measured is None else rounded(measured.value),
        interval=interval,
        verdict=found,
        digest=configuration,
        printed_error=None if printed is None else rounded(printed.value),
    )


def _estimate(found: Any) -> Estimate:
    """A plain number as an estimate without an interval."""
    if isinstance(found, Estimate):
        return Estimate(*map(float, found))
    return Estimate(float(found))


def measure(entry: Entry, configuration: str | None) -> ClaimRecord:
    """The record of one claim.

    Args:
        entry: the claim.
        configuration: the digest of its study's configuration.

    Raises:
        ClaimError: see :func:`verdict`.
    """
    if entry.measure is None or entry.bound is None:
        return _record(entry, "not run at this scale", configuration)
    try:
        measured = _estimate(entry.measure())
    except NothingToMeasure as missing:
        absent = replace(entry, explanation=str(missing))
        return _record(absent, "not run at this scale", configuration)
    printed = None
    if entry.measure_printed is not None:
        printed = _estimate(entry.measure_printed())
    found = verdict(entry, measured, printed)
    return _record(entry, found, configuration, measured, printed)


def evaluate(studies: Sequence[tuple[Claims, Study, Path]]) -> list[ClaimRecord]:
    """Measure every claim of every study.

    Args:
        studies: as for :func:`collect`.

    Returns:
        The ledger; measured values have three significant digits, see :func:`rounded`.

    Raises:
        LedgerError: see :func:`collect`.
        ClaimError: identities that do not hold, claims that differ without an explanation,
            measurements that gave NaN; the message names them all.
        MissingResultError: a file or an array that a claim needs is not there.
    """
    configurations = {study.name: digest(study.config) for _, study, _ in studies}
    records, failures = [], []
    for entry in collect(studies):
        try:
            records.append(measure(entry, configurations.get(entry.study or "")))
        except ClaimError as error:
            failures.append(str(error))
    if failures:
        noun = "claim does" if len(failures) == 1 else "claims do"
        raise ClaimError(f"{len(failures)} {noun} not hold: " + "; ".join(failures))
    return records


def metrics(records: Sequence[ClaimRecord]) -> dict[str, Any]:
    """The ledger in few numbers, for ``dvc metrics`` and ``dvc exp show``.

    Returns:
        ``verdicts``: how many claims have each verdict; ``digits``: for each study to how many
        digits its identities hold, −log10 of their largest error, at most 17.
    """
    errors: dict[str, float] = {}
    for record in records:
        if record.kind == "identity" and record.measured is not None and record.study:
            errors[record.study] = max(errors.get(record.study, 0.0), record.measured)
    counts = Counter(record.verdict for record in records)
    return {
        "verdicts": {name: counts[name] for name in VERDICTS},
        "digits": {name: round(-math.log10(max(e, 1e-17)), 1) for name, e in errors.items()},
    }
