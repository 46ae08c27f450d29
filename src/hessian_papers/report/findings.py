"""The sentences that the page and the README open with: their numbers are those of the ledger.

A sentence is stated only if every claim that it rests on has a verdict that supports it; else the
claim that does not stands in its place.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from hessian_papers.ledger.bounds import KINDS, VERDICTS
from hessian_papers.ledger.record import ClaimRecord
from hessian_papers.ledger.totals import round_off, statements
from hessian_spectra.validation import require

_KEYS = ("name", "sentence", "rests_on", "numbers")
_CHOOSE: Mapping[str, Callable[[Iterable[ClaimRecord]], ClaimRecord]] = {
    "value": lambda found: next(iter(found)),
    "largest": lambda found: max(found, key=_measured),
    "smallest": lambda found: min(found, key=_measured),
}


def _measured(claim: ClaimRecord) -> float:
    assert claim.measured is not None
    return claim.measured


def _number(value: float | None) -> str:
    return "no number" if value is None else f"{value:.3g}".replace("-", "−", value < 0)


def _percent(claim: ClaimRecord) -> str:
    return f"{100 * _measured(claim):.3g} %"


def _interval(claim: ClaimRecord) -> str:
    return f"{_number(claim.measured)} [{_number(claim.low)}, {_number(claim.high)}]"


_WRITE: Mapping[str, Callable[[ClaimRecord], str]] = {
    "number": lambda claim: _number(_measured(claim)),
    "percent": _percent,
    "interval": _interval,
    "bound": lambda claim: f"{round_off(_measured(claim)):g}",
}


@dataclass(frozen=True)
class Finding:
    """A sentence with its numbers.

    Args:
        name: of the finding.
        text: the sentence, or what keeps it from being stated.
        stated: whether it is the sentence.
        claims: what it rests on, as far as it is there.
    """

    name: str
    text: str
    stated: bool
    claims: Sequence[ClaimRecord]


def _matching(claims: Sequence[ClaimRecord], pattern: str) -> list[ClaimRecord]:
    return [claim for claim in claims if fnmatchcase(claim.id, pattern)]


def _support(
    rests_on: Mapping[str, Sequence[str]], claims: Sequence[ClaimRecord]
) -> tuple[list[ClaimRecord], list[str]]:
    """The claims that a sentence rests on, and which of them do not support it."""
    found: list[ClaimRecord] = []
    against = []
    for pattern, verdicts in sorted(rests_on.items()):
        own = _matching(claims, pattern)
        found += own
        if not own:
            against.append(f"{pattern}: not run")
        against += [
            f"{claim.id}: expected {' or '.join(verdicts)}, got {claim.verdict}"
            for claim in own
            if claim.verdict not in verdicts or claim.measured is None
        ]
    return found, against


def _count(spec: Mapping[str, str], claims: Sequence[ClaimRecord]) -> str:
    chosen = [
        claim
        for claim in _matching(statements(claims), spec["count"])
        if all(getattr(claim, key) == spec.get(key, getattr(claim, key)) for key in _CHOICES)
    ]
    return str(len(chosen))


_CHOICES: Mapping[str, Sequence[str]] = {"kind": KINDS, "verdict": VERDICTS}


def _written(spec: Mapping[str, str], supporting: Sequence[ClaimRecord], at: str) -> str:
    """One number of a sentence."""
    (take,) = (key for key in spec if key in _CHOOSE)
    found = _matching(supporting, spec[take])
    require(bool(found), at, "claims that the sentence rests on", spec[take])
    if take == "value":
        require(len(found) == 1, at, "one claim", f"{len(found)} by {spec[take]!r}")
    return _WRITE[spec.get("as", "number")](_CHOOSE[take](found))


def _check(spec: Any, at: str) -> None:
    """That an entry of the file is a finding."""
    keys = f"the keys {', '.join(_KEYS)}"
    require(isinstance(spec, dict) and set(spec) == set(_KEYS), at, keys, spec)
    named = {*re.findall(r"\{(\w+)\}", spec["sentence"])}
    require(
        named == {*spec["numbers"]},
        at,
        f"the numbers {', '.join(sorted(named))}",
        [*spec["numbers"]],
    )
    require(bool(spec["rests_on"]), at, "claims that it rests on", spec["rests_on"])
    for pattern, verdicts in spec["rests_on"].items():
        wrong = [verdict for verdict in verdicts if verdict not in VERDICTS[:-1]]
        require(
            bool(verdicts) and not wrong, f"{at}, {pattern}", "verdicts that a run gives", verdicts
        )
    for name, number in spec["numbers"].items():
        place = f"{at}, {name}"
        takes = [key for key in number if key in (*_CHOOSE, "count")]
        require(len(takes) == 1, place, f"one of {', '.join((*_CHOOSE, 'count'))}", [*number])
        allowed = _CHOICES if takes == ["count"] else {"as": _WRITE}
        for key in {*number} - {*takes}:
            require(key in allowed, place, f"one of {', '.join(allowed)}", key)
            choices = f"{key} to be one of {', '.join(allowed[key])}"
            require(number[key] in allowed[key], place, choices, number[key])


def findings(specs: Sequence[Any], claims: Sequence[ClaimRecord]) -> list[Finding]:
    """The sentences of a file such as ``conf/findings.yaml``, with the numbers of a ledger.

    Raises:
        ValueError: an entry is not what it should be; the message names it.
    """
    found = []
    for number, spec in enumerate(specs, start=1):
        at = f"findings, {number}"
        _check(spec, at)
        supporting, against = _support(spec["rests_on"], claims)
        if against:
            more = f", and {len(against) - 1} more" if len(against) > 1 else ""
            found.append(Finding(spec["name"], f"{against[0]}{more}", False, supporting))
            continue
        numbers = {
            name: _count(one, claims)
            if "count" in one
            else _written(one, supporting, f"{at}, {name}")
            for name, one in spec["numbers"].items()
        }
        sentence = " ".join(spec["sentence"].split()).format(**numbers)
        found.append(Finding(spec["name"], sentence, True, supporting))
    return found


def markdown(found: Sequence[Finding]) -> str:
    """The findings as a list in Markdown."""
    return "".join(
        f"{number}. {one.text if one.stated else f'Not stated by this run: {one.text}.'}\n"
        for number, one in enumerate(found, start=1)
    )
