"""The sentences that the page and the README open with: their numbers are those of the ledger.

A sentence is stated only if every statement that it rests on has a verdict that supports it; else
the one that does not stands in its place.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hessian_papers.ledger.bounds import Estimate
from hessian_papers.ledger.record import StatementRecord, all_cases
from hessian_papers.ledger.statements import FIELD
from hessian_papers.ledger.table import number, with_interval
from hessian_papers.ledger.totals import round_off
from hessian_papers.ledger.verdicts import VERDICTS
from hessian_spectra.validation import did_you_mean, require

_KEYS = ("name", "sentence", "picture", "rests_on", "numbers")
_PARTS = ("sets", "findings")
# What a set of statements can be chosen by, besides by naming each.
_CHOICES = ("identity", "book", "study")
# A named set, or a single statement.
Sets = Mapping[str, Sequence[str] | Mapping[str, Any]]
Ledger = Sequence[StatementRecord]

_TAKES: Mapping[str, Callable[[Sequence[Estimate]], Estimate]] = {
    "value": lambda estimates: estimates[0],
    "largest": lambda estimates: max(estimates, key=lambda estimate: estimate.value),
    "smallest": lambda estimates: min(estimates, key=lambda estimate: estimate.value),
}


def _signed(value: float) -> str:
    return number(value).replace("-", "−", value < 0)


def _percent(value: float) -> str:
    return f"{100 * value:.3g}".replace("-", "−") + " %"


def _factor(estimate: Estimate) -> Estimate:
    """The factor of a logarithm; one that is bounded above alone is at least 0."""
    value, low, high = map(math.exp, estimate)
    return Estimate(value, 0.0 if low != low and high == high else low, high)


_WRITE: Mapping[str, Callable[[Estimate], str]] = {
    "number": lambda estimate: _signed(estimate.value),
    "percent": lambda estimate: _percent(estimate.value),
    "percents": lambda estimate: with_interval(estimate, _percent),
    "interval": lambda estimate: with_interval(estimate, _signed),
    "factor": lambda estimate: with_interval(_factor(estimate), _signed),
    "bound": lambda estimate: f"{round_off(estimate.value):g}",
}


# What may stand beside each take, and its words; any are allowed where none are given.
_BESIDE: Mapping[str, Mapping[str, Sequence[str]]] = {
    **{take: {"as": tuple(_WRITE), "case": ()} for take in _TAKES},
    "count": {"verdict": VERDICTS},
    "tolerance": {},
}


@dataclass(frozen=True)
class Finding:
    """A sentence with its numbers.

    Args:
        name: of the finding.
        text: the sentence, or what keeps it from being stated.
        stated: whether it is the sentence.
        statements: what it rests on, as far as it is there.
        picture: the study whose figure shows it.
    """

    name: str
    text: str
    stated: bool
    statements: Ledger
    picture: str


def _chosen(ledger: Ledger, sets: Sets, name: str) -> list[StatementRecord]:
    """The statements of a set, or the one of that id."""
    spec = sets.get(name, [name])
    if not isinstance(spec, Mapping):
        return [statement for statement in ledger if statement.id in spec]
    wanted = dict(spec)
    study = wanted.pop("study", None)
    return [
        statement
        for statement in ledger
        if all(getattr(statement, key) == value for key, value in wanted.items())
        and study in (None, *(case.study for case in statement.cases))
    ]


def _support(
    rests_on: Mapping[str, Sequence[str]], ledger: Ledger, sets: Sets
) -> tuple[list[StatementRecord], list[str]]:
    """The statements that a sentence rests on, and which of them do not support it."""
    supporting: list[StatementRecord] = []
    against = []
    for name, verdicts in rests_on.items():
        own = _chosen(ledger, sets, name)
        supporting += own
        if not own:
            against.append(f"{name}: not tested")
        against += [
            f"{statement.id}: expected {' or '.join(verdicts)}, got {statement.verdict}"
            for statement in own
            if statement.verdict not in verdicts
        ]
    return supporting, against


def _estimates(statements: Ledger, take: str, case: str | None) -> list[Estimate]:
    """The measured numbers of the cases, or of one alone; the value of a statement is pooled."""
    pooled = [s for s in statements if s.pooled is not None]
    if take == "value" and case is None and len(statements) == len(pooled) == 1:
        return [pooled[0].estimate]
    cases = [each for each in all_cases(statements) if each.measured is not None]
    return [each.estimate for each in cases if case in (None, each.id)]


def _written(spec: Mapping[str, str], ledger: Ledger, sets: Sets, at: str) -> str:
    """One number of a sentence."""
    if "tolerance" in spec:
        cases = all_cases(_chosen(ledger, sets, spec["tolerance"]))
        return f"{max(case.tolerance for case in cases):g}"
    if "count" in spec:
        counted = _chosen(ledger, sets, spec["count"])
        verdict = spec.get("verdict")
        return str(sum(verdict in (None, statement.verdict) for statement in counted))
    (take,) = (key for key in spec if key in _TAKES)
    estimates = _estimates(_chosen(ledger, sets, spec[take]), take, spec.get("case"))
    nearest = did_you_mean(spec[take], [statement.id for statement in ledger])
    require(bool(estimates), at, f"a statement or case that was measured{nearest}", dict(spec))
    if take == "value":
        require(len(estimates) == 1, at, "one number; name its case", f"{len(estimates)}")
    return _WRITE[spec.get("as", "number")](_TAKES[take](estimates))


def _check(spec: Any, at: str) -> None:
    """Require that an entry of the file is a finding."""
    keys = f"the keys {', '.join(_KEYS)}"
    require(isinstance(spec, dict) and set(spec) == set(_KEYS), at, keys, spec)
    named = {*FIELD.findall(spec["sentence"])}
    numbers = f"the numbers {', '.join(sorted(named))}"
    require(named == {*spec["numbers"]}, at, numbers, [*spec["numbers"]])
    require(bool(spec["rests_on"]), at, "statements that it rests on", spec["rests_on"])
    for name, verdicts in spec["rests_on"].items():
        wrong = [verdict for verdict in verdicts if verdict not in VERDICTS]
        expected = f"some of {', '.join(VERDICTS)}"
        require(bool(verdicts) and not wrong, f"{at}, {name}", expected, verdicts)
    for name, value in spec["numbers"].items():
        _check_number(value, f"{at}, {name}")


def _check_number(spec: Mapping[str, str], at: str) -> None:
    takes = [key for key in spec if key in _BESIDE]
    require(len(takes) == 1, at, f"one of {', '.join(_BESIDE)}", [*spec])
    allowed = _BESIDE[takes[0]]
    for key in {*spec} - {*takes}:
        require(key in allowed, at, f"one of {', '.join(allowed) or takes[0]}", key)
        among = allowed[key]
        require(not among or spec[key] in among, at, f"{key} one of {', '.join(among)}", spec[key])


def _filled(sentence: str, numbers: Mapping[str, str]) -> str:
    return FIELD.sub(lambda match: numbers[match[1]], " ".join(sentence.split()))


def findings(file: Mapping[str, Any], ledger: Ledger) -> list[Finding]:
    """The sentences of a file such as ``conf/findings.yaml``, with the numbers of a ledger.

    Raises:
        ValueError: an entry is not what it should be; the message names it.
    """
    require(set(file) == {*_PARTS}, "findings", f"the keys {', '.join(_PARTS)}", [*file])
    sets: Sets = file["sets"] or {}
    for name, spec in sets.items():
        wrong = [key for key in spec if key not in _CHOICES] if isinstance(spec, Mapping) else []
        require(not wrong, f"findings, {name}", f"some of {', '.join(_CHOICES)}", wrong)
    sentences = []
    for place, spec in enumerate(file["findings"], start=1):
        at = f"findings, {place}"
        _check(spec, at)
        supporting, against = _support(spec["rests_on"], ledger, sets)
        if against:
            more = f", and {len(against) - 1} more" if len(against) > 1 else ""
            text, stated = f"{against[0]}{more}", False
        else:
            numbers = {
                name: _written(value, ledger, sets, f"{at}, {name}")
                for name, value in spec["numbers"].items()
            }
            text, stated = _filled(spec["sentence"], numbers), True
        sentences.append(Finding(spec["name"], text, stated, supporting, spec["picture"]))
    return sentences


def markdown(findings: Sequence[Finding]) -> str:
    """The findings as a list in Markdown."""
    return "".join(
        f"{place}. {each.text if each.stated else f'Not stated by this run: {each.text}.'}\n"
        for place, each in enumerate(findings, start=1)
    )
