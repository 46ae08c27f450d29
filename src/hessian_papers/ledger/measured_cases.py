"""The measurements of a study, between the stage that measures and the one that decides.

Numbers stand as text, since JSON knows neither NaN nor infinity, and not rounded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hessian_papers.ledger.bounds import Bound, Estimate, Replicated, Replicates
from hessian_papers.ledger.evaluation import Measurement
from hessian_papers.ledger.record import CaseRecord
from hessian_papers.ledger.statements import Heading
from hessian_spectra.files import damaged, read_json, write_json


def path_of(results: Path, paper: str, study: str) -> Path:
    """Where the cases of a study are that are measured for a paper."""
    return results / "claims" / paper / "cases" / f"{study}.json"


def write(path: Path, measured: Sequence[Measurement], made_from: Mapping[str, Any]) -> None:
    """Write the cases of a study, in their order.

    Args:
        path: the file.
        measured: the cases.
        made_from: what tells whether they are still up to date.
    """
    write_json(path, {**made_from, "cases": [_record(case) for case in measured]})


def _record(case: Measurement) -> dict[str, Any]:
    bound, replicates = replace(case.bound, expected=0.0), None
    if isinstance(case.estimate, Replicated):
        dimension, labels, numbers = case.estimate.replicates
        replicates = [dimension, labels, [*map(repr, numbers)]]
    return {
        "heading": asdict(case.heading),
        "record": asdict(case.record),
        "numbers": [repr(float(number)) for number in (*case.estimate, case.bound.expected)],
        "bound": asdict(bound),
        "in_print_fails": case.in_print_fails,
        "replicates": replicates,
    }


def read(path: Path, remedy: str) -> list[Measurement]:
    """Read what :func:`write` wrote.

    Args:
        path: the file.
        remedy: what to run to get it, for the message.

    Raises:
        MissingResultError: there is no such file.
        DamagedFileError: it is not what was written there.
    """
    content = read_json(path, remedy)
    try:
        return [_case(record, str(path), remedy) for record in content["cases"]]
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, error, f"run {remedy}") from error


def _case(record: Any, where: str, remedy: str) -> Measurement:
    *estimate, expected = map(float, record["numbers"])
    measured = Estimate(*estimate)
    if record["replicates"] is not None:
        dimension, labels, numbers = record["replicates"]
        replicates = Replicates(dimension, tuple(labels), tuple(map(float, numbers)))
        measured = Replicated.of(measured, replicates)
    return Measurement(
        heading=Heading(**record["heading"]),
        record=CaseRecord.of(record["record"], where, remedy),
        estimate=measured,
        bound=Bound(**{**record["bound"], "expected": expected}),
        in_print_fails=record["in_print_fails"],
    )
