"""The values that a setting may have, declared where the setting is.

    @dataclass(frozen=True, kw_only=True)
    class Config(Checked):
        width: Annotated[int, AtLeast(1)]

A value that a constraint refuses is a ``ValueError`` that begins with the name of its field, and no
instance is made.
"""

# ruff: noqa: N802 -- each function that makes a constraint is named like a kind of it.
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, get_type_hints

from hessian_spectra.validation import LARGEST_SCALE, SMALLEST_SCALE, did_you_mean, require


@dataclass(frozen=True)
class Constraint:
    """A constraint on the value of a setting.

    Args:
        expected: it in words, for the message.
        fits: whether a value is so.
        known: the names that are, where it is one of some.
    """

    expected: str
    fits: Callable[[Any], bool] = field(repr=False)
    known: tuple[str, ...] = field(default=(), repr=False)

    def words(self, value: Any) -> str:
        """The words for what was expected instead of a value, with the name it may stand for."""
        wrong = [x for x in (value if isinstance(value, list) else [value]) if x not in self.known]
        return self.expected + did_you_mean(wrong[0] if wrong else value, self.known)


def AtLeast(smallest: int) -> Constraint:
    """A number that is not smaller than this."""
    return Constraint(f"at least {smallest}", lambda value: value >= smallest)


def Between(low: float, high: float, expected: str) -> Constraint:
    """A number from the one to the other, finite, either end included."""
    return Constraint(expected, lambda value: low <= value <= high)


def Above(bound: float, expected: str) -> Constraint:
    """A finite number that is larger than this."""
    return Constraint(expected, lambda value: bound < value < math.inf)


def OneOf(known: tuple[str, ...]) -> Constraint:
    """One of some names."""
    return Constraint(f"one of {', '.join(known)}", lambda value: value in known, known)


def _repeats(values: Any) -> bool:
    """Whether an entry of a list, which may be a list itself, equals another one."""
    return any(entry in values[:place] for place, entry in enumerate(values))


def Once() -> Constraint:
    """A list in which no entry is there twice."""
    return Constraint("each of them once", lambda values: not _repeats(values))


def Different(known: tuple[str, ...]) -> Constraint:
    """A list of one or more of some names, none of them twice."""
    return Constraint(
        f"different ones of {', '.join(known)}",
        lambda values: bool(values) and set(values) <= set(known) and not _repeats(values),
        known,
    )


def DifferentNumbers(smallest: int) -> Constraint:
    """A list of one or more numbers, none of them smaller than this, or there twice."""
    return Constraint(
        f"different numbers of at least {smallest}",
        lambda values: bool(values) and min(values) >= smallest and not _repeats(values),
    )


def Each(expected: str, fits: Callable[[Any], bool], least: int = 1) -> Constraint:
    """A list of so many entries or more, each of which is so."""
    return Constraint(expected, lambda values: len(values) >= least and all(map(fits, values)))


def Ascending(expected: str) -> Constraint:
    """A list of numbers, each larger than the one before."""
    return Constraint(expected, lambda values: all(a < b for a, b in pairwise(values)))


def Range(low: float, high: float) -> Constraint:
    """Two numbers between bounds, the smaller one first."""
    return Constraint(
        f"two numbers from {low:g} to {high:g}, the smaller one first",
        lambda ends: len(ends) == 2 and low <= ends[0] < ends[1] <= high,
    )


_SCALE = f"a positive number from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"

PositiveNumbers = Annotated[
    list[float], Once(), Each("one positive number or more", lambda value: value > 0)
]
Count = Annotated[int, AtLeast(1)]
Positive = Annotated[float, Above(0.0, "a positive number")]
Fraction = Annotated[float, Constraint("a number in [0, 1)", lambda value: 0 <= value < 1)]
ProperFraction = Annotated[float, Constraint("a number in (0, 1)", lambda value: 0 < value < 1)]
# Of weights or data: beyond, float64 loses digits.
Scale = Annotated[float, Between(SMALLEST_SCALE, LARGEST_SCALE, _SCALE)]


@cache
def constraints(schema: type) -> tuple[tuple[str, Constraint], ...]:
    """The constraints of a class's fields, each with the name of its field, in their order.

    Example:
        >>> class Config:
        ...     width: Count
        >>> constraints(Config)
        (('width', Constraint(expected='at least 1')),)
    """
    hints = get_type_hints(schema, include_extras=True)
    return tuple(
        (name, each)
        for name, hint in hints.items()
        for each in getattr(hint, "__metadata__", ())
        if isinstance(each, Constraint)
    )


class Checked:
    """A dataclass whose values keep their fields' constraints."""

    def __post_init__(self) -> None:
        """Refuse a value that a constraint of its field refuses, like `require`."""
        for name, constraint in constraints(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            require(constraint.fits(value), name, constraint.words(value), value)
