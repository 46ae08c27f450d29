"""What every claim has to stand: arrays that hold, arrays that fail, a case that is missing.

A kind's test module plants arrays and names them; the rest is here:

    @pytest.mark.parametrize("name", names(claims))
    def test_a_claim_holds_and_fails(name, planted):
        holds_and_fails(claims, planted, name)

    @pytest.mark.parametrize("name", names(claims))
    def test_a_claim_bears_a_missing_case(name, planted):
        bears_a_missing_case(claims, planted, name)
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from hessian_spectra.ledger.bounds import Estimate, NothingToMeasure, Verdict
from hessian_spectra.ledger.claims import Claims, Entry, Study
from hessian_spectra.results import Arrays

Sides = Mapping[str, Arrays]


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Arrays for the claims about one artifact of a paper.

    Args:
        paper: the paper's key.
        artifact: what the claims are about.
        holds: the sides of a study of which every claim holds.
        fails: other arrays; each claim fails on at least one of them.
        reduced: arrays of smaller studies, which leave out a case, a run or a point.
    """

    paper: str
    artifact: str
    holds: Sides
    fails: Sequence[Sides]
    reduced: Sequence[Sides] = ()

    def entries(self, claims: Claims, name: str, sides: Sides) -> Iterator[Entry]:
        """What a claim's function says of some arrays, an entry a case."""
        only = copy(claims)
        only.all = [claim for claim in claims.all if claim.function_name == name]
        config = {"paper": self.paper, "artifact": self.artifact}
        yield from only.entries(Study("planted", config), claims.reading(sides))


def names(claims: Claims) -> list[str]:
    """The functions of a kind's claims."""
    return list(dict.fromkeys(claim.function_name for claim in claims.all))


def changed(sides: Sides, side: str, **arrays: object) -> Sides:
    """The sides with some arrays of one of them replaced; a function is called with the old one."""
    old = sides[side]
    new = {name: a(old[name]) if callable(a) else a for name, a in arrays.items()}
    return {**sides, side: {**old, **new}}


def _verdict(entry: Entry, *, of_print: bool = False) -> Verdict:
    assert entry.bound is not None
    measure = entry.measure_printed if of_print else entry.measure
    assert measure is not None
    found = measure()
    return entry.bound.verdict(found if isinstance(found, Estimate) else Estimate(float(found)))


def holds_and_fails(claims: Claims, planted: Sequence[Planted], name: str) -> None:
    """A claim holds on the arrays planted for it, and fails on others; so does what is in print."""
    covered = failed = 0
    printed: list[bool] = []
    for one in planted:
        entries = list(one.entries(claims, name, one.holds))
        covered += len(entries)
        for entry in entries:
            assert entry.problems() == []
            assert _verdict(entry) == "reproduced", f"{entry.id} does not hold where it was planted"
            if entry.measure_printed is not None:
                printed.append(_verdict(entry, of_print=True) != "differs")
        for sides in one.fails:
            failed += sum(
                _verdict(entry) == "differs" for entry in one.entries(claims, name, sides)
            )
    assert covered, f"nothing was planted for {name}"
    assert failed, f"{name} holds on everything that was planted to fail"
    assert not printed or not all(printed), f"what is in print of {name} holds everywhere"


def every_case_fails(claims: Claims, planted: Sequence[Planted], name: str) -> None:
    """Not only the function but each of its cases fails on something that was planted to fail."""
    made = {entry.id for one in planted for entry in one.entries(claims, name, one.holds)}
    failing = {
        entry.id
        for one in planted
        for sides in one.fails
        for entry in one.entries(claims, name, sides)
        if _verdict(entry) == "differs"
    }
    assert made <= failing, f"{sorted(made - failing)} hold on everything planted to fail"


def bears_a_missing_case(claims: Claims, planted: Sequence[Planted], name: str) -> None:
    """Of a smaller study a claim is measured, or says that there is nothing to measure."""
    for one in planted:
        for sides in one.reduced:
            for entry in one.entries(claims, name, sides):
                assert entry.measure is not None
                try:
                    found = entry.measure()
                except NothingToMeasure:
                    continue
                value = found.value if isinstance(found, Estimate) else float(found)
                assert not math.isnan(value), f"{entry.id}: measured NaN of a smaller study"
