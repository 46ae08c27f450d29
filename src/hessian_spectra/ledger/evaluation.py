"""The ledger's books: collect the claims of all studies, measure them, find the verdicts."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hessian_spectra.ledger import not_run
from hessian_spectra.ledger.table import table
from hessian_spectra.ledger.vocabulary import (
    VERDICTS,
    Claim,
    Estimate,
    NothingToMeasure,
    Verdict,
    holds,
)
from hessian_spectra.results import Arrays, MissingResultError, digest, read_arrays

__all__ = [
    "ClaimError",
    "Record",
    "collect",
    "evaluate",
    "metrics",
    "rounded",
    "table",
    "verdict",
]

Record = dict[str, Any]


class ClaimError(ValueError):
    """Claims that do not hold, or that nobody could measure; the message names each of them."""


class _Side(dict):
    """The arrays of one side of a study, read when the first of them is asked for.

    A study may have one side only, so a missing file is an error no sooner than a claim needs it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(read_arrays(path) if path.exists() else {})
        self._path = path

    def __missing__(self, name: str) -> Any:
        if not self._path.exists():
            read_arrays(self._path)  # raises, and says which stage writes the file
        raise MissingResultError(
            f"{self._path} holds no array {name!r}: it comes from an older version of the study, "
            "run its stage again"
        )


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


def collect(studies: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """The claims of all studies, in the studies' order, then those that no study of ours measures.

    Args:
        studies: for each study its module ``claims``, which has a function ``claims(study)``.

    Raises:
        ClaimError: a claim is not well formed; two have one id.
    """
    found = [claim for study, entry in studies.items() for claim in entry["claims"].claims(study)]
    found += not_run.claims()
    problems = [problem for claim in found for problem in claim.problems()]
    twice = sorted(
        name for name, count in Counter(claim.id for claim in found).items() if count > 1
    )
    problems += [f"{name}: more than one claim has this id" for name in twice]
    if problems:
        raise ClaimError("the ledger is not well formed: " + "; ".join(problems))
    return found


def _failure(claim: Claim, measured: float) -> str:
    sign = {"<=": "at most", ">=": "at least", "=": "equal to"}[claim.relation]
    return (
        f"{claim.id}: measured {measured:.3g}, expected {sign} {claim.expected:g} "
        f"(tolerance {claim.tolerance:g})"
    )


def verdict(claim: Claim, measured: float, printed: float | None) -> Verdict:
    """The verdict on a measured claim.

    An erratum is ``corrected`` if its corrected form holds and the printed one does not. Where the
    printed one holds as well (in a configuration that does not tell them apart), what we state is
    simply ``reproduced``.

    Raises:
        ClaimError: nothing was measured (NaN); an identity does not hold; another claim does not
            hold and nobody explains why.
    """
    if math.isnan(measured):
        raise ClaimError(f"{claim.id}: measured NaN, so the measurement itself has failed")
    if not holds(measured, claim.relation, claim.expected, claim.tolerance):
        if claim.kind == "identity":
            raise ClaimError(_failure(claim, measured))
        if not claim.explanation.strip():
            raise ClaimError(f"{_failure(claim, measured)}, and no explanation is given")
        return "differs"
    if printed is not None and not holds(printed, claim.relation, claim.expected, claim.tolerance):
        return "corrected"
    return "reproduced"


def _record(
    claim: Claim, measured: Estimate | None, printed: float | None, found: Verdict
) -> Record:
    interval = None
    if measured is not None and not math.isnan(measured.low):
        interval = [rounded(measured.low), rounded(measured.high)]
    return {
        "id": claim.id,
        "paper": claim.paper,
        "location": claim.location,
        "statement": claim.statement,
        "kind": claim.kind,
        "expected": claim.expected if measured is not None else None,
        "source": claim.source,
        "measured": None if measured is None else rounded(measured.value),
        "interval": interval,
        "decides": claim.decides,
        "relation": claim.relation,
        "tolerance": claim.tolerance,
        "reason": claim.reason,
        "verdict": found,
        "study": claim.study,
        "test": claim.test,
        "printed": claim.printed,
        "printed_error": None if printed is None else rounded(printed),
        "explanation": claim.explanation,
    }


def _estimate(found: Any) -> Estimate:
    """A plain number as an estimate without an interval."""
    if isinstance(found, Estimate):
        return Estimate(*map(float, found))
    return Estimate(float(found), math.nan, math.nan)


def _measure(claim: Claim, sides: Sequence[Arrays]) -> Record:
    if claim.measure is None:
        return _record(claim, None, None, "not run at this scale")
    try:
        measured = _estimate(claim.measure(*sides))
    except NothingToMeasure as missing:
        absent = replace(claim, explanation=str(missing))
        return _record(absent, None, None, "not run at this scale")
    printed = None
    if claim.measure_printed is not None:
        printed = _estimate(claim.measure_printed(*sides)).value
    decisive = getattr(measured, claim.decides)
    return _record(claim, measured, printed, verdict(claim, decisive, printed))


def evaluate(studies: Mapping[str, Mapping[str, Any]], results: Path) -> list[Record]:
    """Measure every claim of every study.

    Args:
        studies: for each study ``{"claims": ..., "config": ...}``, its module of claims and its
            resolved configuration.
        results: the folder that holds ``<side>/<study>.npz`` for the sides of each study.

    Returns:
        One record a claim: id, paper, location, statement, kind, expected value and its source,
        measured value (three significant digits, see :func:`rounded`) with its interval where there
        is one and which of them decides, relation, tolerance and its reason, verdict, study, digest
        of the study's configuration, test, and for an erratum what is printed and by how much it is
        wrong.

    Raises:
        ClaimError: identities that do not hold, claims that differ without an explanation,
            measurements that gave NaN; the message names them all.
        MissingResultError: a file or an array that a claim needs is not there.
    """
    records, failures = [], []
    read: dict[Path, Arrays] = {}
    for claim in collect(studies):
        paths = [results / side / f"{claim.study}.npz" for side in claim.sides]
        if claim.measure is not None:
            read |= {path: _Side(path) for path in paths if path not in read}
        try:
            record = _measure(claim, [read.get(path, {}) for path in paths])
        except ClaimError as error:
            failures.append(str(error))
            continue
        entry = studies.get(claim.study or "", {})
        records.append(record | {"digest": digest(entry["config"]) if "config" in entry else None})
    if failures:
        noun = "claim does" if len(failures) == 1 else "claims do"
        raise ClaimError(f"{len(failures)} {noun} not hold: " + "; ".join(failures))
    return records


def metrics(records: Sequence[Record]) -> dict[str, Any]:
    """The ledger in few numbers, for ``dvc metrics`` and ``dvc exp show``.

    Returns:
        ``verdicts``: how many claims have each verdict; ``digits``: for each study to how many
        digits its identities hold, −log10 of their largest error, at most 17.
    """
    errors: dict[str, float] = {}
    for record in records:
        if record["kind"] == "identity" and record["measured"] is not None:
            study = record["study"]
            errors[study] = max(errors.get(study, 0.0), record["measured"])
    counts = Counter(record["verdict"] for record in records)
    return {
        "verdicts": {name: counts[name] for name in VERDICTS},
        "digits": {name: round(-math.log10(max(e, 1e-17)), 1) for name, e in errors.items()},
    }
