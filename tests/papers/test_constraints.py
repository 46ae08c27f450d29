"""A setting's constraint is declared at its field, and holds for all classes that have it."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from hessian_papers.constraints import (
    Ascending,
    AtLeast,
    Checked,
    Count,
    Different,
    DifferentNumbers,
    Each,
    Once,
    OneOf,
    Positive,
    Range,
    Scale,
    constraints,
)
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Base(Checked):
    width: Count = 1
    rate: Positive = 0.1
    scale: Scale = 1.0
    look: Annotated[str, OneOf(("a", "b"))] = "a"
    looks: Annotated[tuple[str, ...], Different(("a", "b"))] = ("a",)
    sizes: Annotated[tuple[int, ...], DifferentNumbers(2)] = (2,)
    rates: Annotated[tuple[float, ...], Once()] = ()
    shares: Annotated[tuple[float, ...], Each("shares", lambda share: 0 < share < 1)] = (0.5,)
    steps: Annotated[tuple[int, ...], Ascending("ascending")] = ()
    ends: Annotated[tuple[float, ...], Range(-1.0, 2.0)] = (0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Config(Base):
    depth: Annotated[int, AtLeast(2)] = 2
    free: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.depth <= self.width + 2, "depth", "at most the width plus 2", self.depth)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"depth": 1}, "depth: expected at least 2, got 1"),
        ({"depth": 9}, "depth: expected at most the width plus 2, got 9"),
        *(
            ({"rate": rate}, f"rate: expected a positive number, got {rate}")
            for rate in (0.0, -1.0, float("inf"), float("nan"))
        ),
        *(
            (
                {"scale": scale},
                f"scale: expected a positive number from 1e-06 to 1e+06, got {scale}",
            )
            for scale in (0.0, 1e-07, 1e07)
        ),
        ({"look": "c"}, "look: expected one of a, b, got 'c'"),
        ({"looks": ()}, "looks: expected different ones of a, b, got ()"),
        ({"looks": ("a", "a")}, "looks: expected different ones of a, b, got ('a', 'a')"),
        ({"looks": ("a", "c")}, "looks: expected different ones of a, b, got ('a', 'c')"),
        ({"sizes": ()}, "sizes: expected different numbers of at least 2, got ()"),
        ({"sizes": (3, 3)}, "sizes: expected different numbers of at least 2, got (3, 3)"),
        ({"sizes": (3, 1)}, "sizes: expected different numbers of at least 2, got (3, 1)"),
        *(
            ({"shares": shares}, f"shares: expected shares, got {shares}")
            for shares in ((), (0.5, 1))
        ),
        ({"steps": (1, 3, 3)}, "steps: expected ascending, got (1, 3, 3)"),
        *(
            (
                {"ends": ends},
                f"ends: expected two numbers from -1 to 2, the smaller one first, got {ends}",
            )
            for ends in ((1.0,), (1.0, 0.0), (0.0, 0.0), (-2.0, 0.0), (0.0, 3.0))
        ),
        ({"rates": (0.1, 0.1)}, "rates: expected each of them once, got (0.1, 0.1)"),
        ({"rates": (1, 1.0)}, "rates: expected each of them once, got (1, 1.0)"),
        ({"sizes": (2, 2.0)}, "sizes: expected different numbers of at least 2, got (2, 2.0)"),
    ],
)
def test_a_value_that_a_constraint_refuses_is_named(values, message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole message is compared
        Config(**values)
    assert str(refused.value) == message


def test_what_keeps_all_constraints_is_made():
    config = Config(width=5, depth=7, looks=("b", "a"), sizes=(3, 2), rates=(0.1, 0.2), free=-1)
    assert (config.width, config.free) == (5, -1)


def test_constraints_of_a_class_are_its_own_and_those_of_its_bases():
    names = [name for name, _ in constraints(Config)]
    assert names == [
        "width",
        "rate",
        "scale",
        "look",
        "looks",
        "sizes",
        "rates",
        "shares",
        "steps",
        "ends",
        "depth",
    ]
