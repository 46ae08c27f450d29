"""The sentences that the page and the README open with: their numbers are those of the ledger.

A finding is generated from all cases of the statements that it rests on, of recorded runs alone.
Its numbers are of all of them, and a case that contradicts it stands in its place, unless the
sentence names such cases. No number is written in a sentence by hand.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hessian_papers.ledger.bounds import Estimate
from hessian_papers.ledger.conditions import NO_ASSUMPTION
from hessian_papers.ledger.record import CaseRecord, StatementRecord, all_cases, deciding
from hessian_papers.ledger.statements import FIELD
from hessian_papers.ledger.table import label, with_interval
from hessian_papers.ledger.totals import round_off
from hessian_papers.ledger.verdicts import VERDICTS
from hessian_spectra.validation import did_you_mean, require

_KEYS = ("name", "sentence", "setting", "would_change", "study", "picture", "rests_on", "numbers")
_PARTS = ("sets", "findings")
# What a set of statements can be chosen by, besides by naming each.
_CHOICES = ("identity", "book", "study")
# More numbers than these are no finding.
_FEW = 2
# A named set, or a single statement.
Sets = Mapping[str, Sequence[str] | Mapping[str, Any]]
Ledger = Sequence[StatementRecord]

# What a sentence says of the cases of its statements, and the verdicts that go with it.
_FITTING: Mapping[str, Sequence[str]] = {
    "holds": ("reproduced", "corrected", "in part", "shown"),
    "fails": ("differs", "depends", "shown"),
}

# Where digits are part of a name or a place: LeNet5, CIFAR-10, eq. (10), section 5.1.
_NAMES = re.compile(
    r"\$[^$]*\$|\{\w+\}|\b(?:eq\.|equation|Figure|Table|Theorem|section|appendix) \(?[\w.]+\)?"
    r"|\b[A-Za-z][\w^.-]*"
)


def two_digits(value: float) -> str:
    """A number with two significant digits.

    Example:
        >>> [two_digits(value) for value in (0.3021, -5.04, 33.8, 1234.0)]
        ['0.30', '−5.0', '34', '1200']
    """
    rounded = float(f"{value:.2g}")
    text = f"{rounded:.0f}" if abs(rounded) >= 10 else f"{rounded:#.2g}"
    return text.replace("-", "−", value < 0)


def _factor(estimate: Estimate) -> Estimate:
    """The factor of a logarithm; one that is bounded above alone is at least 0."""
    value, low, high = map(math.exp, estimate)
    return Estimate(value, 0.0 if low != low and high == high else low, high)


# How numbers look: what is made of the measured one, and its text.
WAYS: Mapping[str, tuple[Callable[[Estimate], Estimate], Callable[[float], str]]] = {
    "number": (lambda estimate: estimate, two_digits),
    "percent": (
        lambda estimate: Estimate(*(100 * number for number in estimate)),
        lambda value: f"{two_digits(value)} %",
    ),
    "factor": (_factor, two_digits),
    "bound": (lambda estimate: Estimate(round_off(estimate.value)), lambda value: f"{value:g}"),
}

# What may stand beside each take, and its words; any are allowed where none are given.
_BESIDE: Mapping[str, Mapping[str, Sequence[str]]] = {
    **{take: {"as": (*WAYS,)} for take in ("pooled", "largest", "smallest", "range")},
    **{"count": {"verdict": VERDICTS}, "cases": {}, "tolerance": {}, "except": {}},
}


class NotStatedError(Exception):
    """A sentence is not allowed by what was measured; the message says why."""


@dataclass(frozen=True)
class Group:
    """A part of a finding's picture: all cases of some statements.

    Args:
        says: what it is, in few words.
        cases: those that were measured.
        expected: what the sentence says of them, ``holds`` or ``fails``.
    """

    says: str
    cases: Sequence[CaseRecord]
    expected: str = "holds"


@dataclass(frozen=True)
class Picture:
    """The small picture of a finding, see :mod:`hessian_papers.report.small_pictures`.

    Args:
        axis: what it shows.
        way: how its numbers look, one of :data:`WAYS`.
        groups: what is drawn.
        line: a value to compare with, and its name.
        in_print: whether the error of what is in print stands beside each case.
    """

    axis: str
    way: str
    groups: Sequence[Group]
    line: tuple[float, str] | None = None
    in_print: bool = False


@dataclass(frozen=True)
class Finding:
    """A sentence with its numbers.

    Args:
        name: of the finding.
        text: the sentence, or what keeps it from being stated.
        stated: whether it is the sentence.
        statements: what it rests on, as far as it is there, with the cases of recorded runs.
        study: the study whose figure shows more.
        setting: the networks, data and sizes.
        would_change: what would change it.
        picture: its own; ``None`` if it is not stated.
    """

    name: str
    text: str
    stated: bool
    statements: Ledger
    study: str
    setting: str = ""
    would_change: str = ""
    picture: Picture | None = None

    @property
    def states(self) -> list[str]:
        """The states of networks that its statements are about, each once."""
        return self._said("state")

    @property
    def assumptions(self) -> list[str]:
        """The other things that its statements presuppose, each once."""
        return self._said("assumes")

    def _said(self, name: str) -> list[str]:
        own = [getattr(each, name) for each in self.statements if not each.identity]
        return [*dict.fromkeys(text for text in own if text and text != NO_ASSUMPTION.text)]


def _recorded(statement: StatementRecord) -> StatementRecord:
    """A statement with the cases of recorded runs alone; an identity, which is exact, as it is.

    Raises:
        NotStatedError: its verdict is of today's run as well, whose networks are others.
    """
    if statement.identity:
        return statement
    for case, decides in zip(statement.cases, deciding(statement.cases), strict=True):
        if decides and case.measured is not None and not (case.recorded or case.smaller):
            raise NotStatedError(f"{statement.id}: {label(case)} is measured by today's run alone")
    cases = [case for case in statement.cases if case.recorded or case.measured is None]
    return replace(statement, cases=cases)


def measured(statements: Ledger) -> list[CaseRecord]:
    """The cases that were measured; of an identity its outcome is enough."""
    return [case for case in all_cases(statements) if case.outcome != "not measured"]


@dataclass(frozen=True)
class _Reader:
    """The part of the ledger that one sentence reads."""

    ledger: Ledger
    sets: Sets
    rests_on: Mapping[str, str]

    def chosen(self, name: str) -> list[StatementRecord]:
        """The statements of a set, or the one of that id, as recorded runs decide them."""
        spec = self.sets.get(name, [name])
        if not isinstance(spec, Mapping):
            own = [statement for statement in self.ledger if statement.id in spec]
        else:
            wanted = dict(spec)
            study = wanted.pop("study", None)
            own = [
                statement
                for statement in self.ledger
                if all(getattr(statement, key) == value for key, value in wanted.items())
                and study in (None, *(case.study for case in statement.cases))
            ]
        if not own:
            near = did_you_mean(name, [statement.id for statement in self.ledger])
            raise NotStatedError(f"{name}: not tested{near}")
        return [_recorded(statement) for statement in own]

    def contrary(self, name: str) -> list[CaseRecord]:
        """The cases that contradict the sentence."""
        expected = self.rests_on[name]
        return [case for case in measured(self.chosen(name)) if case.outcome != expected]

    def support(self, excepted: Sequence[str]) -> list[StatementRecord]:
        """The statements that the sentence rests on.

        Args:
            excepted: those whose contradicting cases it names.

        Raises:
            NotStatedError: one does not support it, or a case contradicts it.
        """
        supporting = []
        for name, expected in self.rests_on.items():
            own = self.chosen(name)
            supporting += own
            contrary = [] if name in excepted else self.contrary(name)
            if contrary:
                more = f", and {len(contrary) - 1} more" if len(contrary) > 1 else ""
                raise NotStatedError(
                    f"{label(contrary[0])} contradicts it, {contrary[0].outcome}{more}"
                )
            for statement in own:
                if not measured([statement]) or statement.verdict not in _FITTING[expected]:
                    raise NotStatedError(f"{statement.id}: {statement.verdict}")
        return supporting

    def number(self, spec: Mapping[str, str]) -> str:
        """One number of the sentence, of all cases.

        Raises:
            NotStatedError: nothing was measured, or no single number is one of all cases.
        """
        (take,) = (key for key in spec if key in _BESIDE)
        name = spec[take]
        statements = self.chosen(name)
        cases = measured(statements)
        if take == "count":
            verdict = spec.get("verdict")
            return str(sum(verdict in (None, each.verdict) for each in statements))
        if take == "cases":
            return str(len(cases))
        if take == "tolerance":
            return f"{max(case.tolerance for case in cases):g}"
        if take == "except":
            named = [" ".join(case.labels.values()) or label(case) for case in self.contrary(name)]
            if not named:
                raise NotStatedError(f"{name}: no case contradicts it, and the sentence names some")
            return " and ".join(named)
        make, write = WAYS[spec.get("as", "number")]
        every = [make(each) for each in _of_all(take, statements, cases)]
        if take == "range":
            return " to ".join(write(each.value) for each in every)
        return with_interval(every[0], write)


def _of_all(take: str, statements: Ledger, cases: Sequence[CaseRecord]) -> list[Estimate]:
    """A number that is one of all cases, or for a range both ends."""
    if take == "pooled":
        pooled = [each.estimate for each in statements if each.pooled is not None]
        if len(pooled) == len(statements) == 1:
            return pooled
        if len(cases) > 1:
            raise NotStatedError(f"{statements[0].id}: {len(cases)} cases have no pooled number")
    every = sorted((c.estimate for c in cases if c.measured is not None), key=lambda e: e.value)
    if not every:
        raise NotStatedError(f"{statements[0].id}: not measured by recorded runs")
    return {"smallest": every[:1], "range": [every[0], every[-1]]}.get(take, every[-1:])


def _check(spec: Any, at: str) -> None:
    """Require that an entry of the file is a finding."""
    keys = f"the keys {', '.join(_KEYS)}"
    require(isinstance(spec, dict) and set(spec) == set(_KEYS), at, keys, spec)
    named = {*FIELD.findall(spec["sentence"])}
    numbers = f"the numbers {', '.join(sorted(named))}"
    require(named == {*spec["numbers"]}, at, numbers, [*spec["numbers"]])
    require(bool(spec["rests_on"]), at, "statements that it rests on", spec["rests_on"])
    for name, expected in spec["rests_on"].items():
        require(expected in _FITTING, f"{at}, {name}", "holds or fails", expected)
    for name, value in spec["numbers"].items():
        _check_number(value, spec["rests_on"], f"{at}, {name}")
    count = sum("except" not in value for value in spec["numbers"].values())
    require(count <= _FEW, at, f"at most {_FEW} numbers", count)
    picture = spec["picture"]
    known = isinstance(picture, dict) and {"axis", "groups"} <= {*picture}
    known = known and {*picture} <= {"axis", "groups", "as", "line", "in_print"}
    require(known, f"{at}, picture", "axis and groups; as, line, in_print", picture)
    require(picture.get("as", "number") in WAYS, f"{at}, picture", f"as one of {[*WAYS]}", picture)
    for name in picture["groups"]:
        require(name in spec["rests_on"], f"{at}, picture", "groups of what it rests on", name)
    texts = [spec["sentence"], spec["would_change"], picture["axis"], *picture["groups"].values()]
    for text in texts:
        typed = re.findall(r"\S*\d\S*", _NAMES.sub("", text))
        require(not typed, at, "no number that is written by hand", " ".join(typed))


def _check_number(spec: Mapping[str, str], rests_on: Mapping[str, str], at: str) -> None:
    takes = [key for key in spec if key in _BESIDE]
    require(len(takes) == 1, at, f"one of {', '.join(_BESIDE)}", [*spec])
    allowed = _BESIDE[takes[0]]
    for key in {*spec} - {*takes}:
        require(key in allowed, at, f"one of {', '.join(allowed) or takes[0]}", key)
        among = allowed[key]
        require(not among or spec[key] in among, at, f"{key} one of {', '.join(among)}", spec[key])
    require(spec[takes[0]] in rests_on, at, "a number of what it rests on", spec[takes[0]])


def _filled(sentence: str, numbers: Mapping[str, str]) -> str:
    return FIELD.sub(lambda match: numbers[match[1]], " ".join(sentence.split()))


def _picture(spec: Mapping[str, Any], reader: _Reader) -> Picture:
    groups = [
        Group(says, measured(reader.chosen(name)), reader.rests_on[name])
        for name, says in spec["groups"].items()
    ]
    line = next(((at, says) for says, at in spec.get("line", {}).items()), None)
    way = spec.get("as", "number")
    return Picture(spec["axis"], way, groups, line, spec.get("in_print", False))


def _finding(spec: Mapping[str, Any], reader: _Reader) -> Finding:
    excepted = [value["except"] for value in spec["numbers"].values() if "except" in value]
    picture = None
    try:
        statements = reader.support(excepted)
        numbers = {name: reader.number(value) for name, value in spec["numbers"].items()}
        picture = _picture(spec["picture"], reader)
        text = _filled(spec["sentence"], numbers)
    except NotStatedError as reason:
        statements = [each for each in reader.ledger if each.id in spec["rests_on"]]
        text = str(reason)
    return Finding(
        name=spec["name"],
        text=text,
        stated=picture is not None,
        statements=statements,
        study=spec["study"],
        setting=" ".join(spec["setting"].split()),
        would_change=" ".join(spec["would_change"].split()),
        picture=picture,
    )


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
    for place, spec in enumerate(file["findings"], start=1):
        _check(spec, f"findings, {place}")
    return [_finding(spec, _Reader(ledger, sets, spec["rests_on"])) for spec in file["findings"]]


def markdown(findings: Sequence[Finding]) -> str:
    """The findings as a list in Markdown."""
    return "".join(
        f"{place}. {each.text if each.stated else f'Not stated by this run: {each.text}.'}\n"
        for place, each in enumerate(findings, start=1)
    )
