"""What the value of a setting may be, declared where the setting is.

    @dataclass(frozen=True, kw_only=True)
    class Config(Checked):
        width: Annotated[int, AtLeast(1)]

A value that a constraint refuses is a ``ValueError`` that begins with the name of its field, and no
instance is made.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Protocol, get_type_hints, runtime_checkable

from hessian_spectra.validation import LARGEST_SCALE, SMALLEST_SCALE, require


@runtime_checkable
class Constraint(Protocol):
    """What a value may be."""

    @property
    def expected(self) -> str:
        """It in words, for the message."""

    def fits(self, value: Any) -> bool:
        """Whether a value is so."""


@dataclass(frozen=True)
class AtLeast:
    """A number that is not smaller than this."""

    smallest: int

    @property
    def expected(self) -> str:
        """It in words."""
        return f"at least {self.smallest}"

    def fits(self, value: Any) -> bool:
        """Whether a value is so."""
        return bool(value >= self.smallest)


@dataclass(frozen=True)
class Between:
    """A number from the one to the other, finite, either end included."""

    low: float
    high: float
    expected: str

    def fits(self, value: Any) -> bool:
        """Whether a value is so."""
        return bool(self.low <= value <= self.high)


@dataclass(frozen=True)
class OneOf:
    """One of some names."""

    known: tuple[str, ...]

    @property
    def expected(self) -> str:
        """It in words."""
        return f"one of {', '.join(self.known)}"

    def fits(self, value: Any) -> bool:
        """Whether a value is so."""
        return value in self.known


@dataclass(frozen=True)
class Once:
    """A list in which no entry is there twice."""

    expected: str = "each of them once"

    def fits(self, value: Sequence[Any]) -> bool:
        """Whether a value is so."""
        return all(entry not in value[:place] for place, entry in enumerate(value))


@dataclass(frozen=True)
class Different:
    """A list of one or more of some names, none of them twice."""

    known: tuple[str, ...]

    @property
    def expected(self) -> str:
        """It in words."""
        return f"different ones of {', '.join(self.known)}"

    def fits(self, value: Collection[str]) -> bool:
        """Whether a value is so."""
        return bool(value) and len(set(value)) == len(value) and set(value) <= set(self.known)


@dataclass(frozen=True)
class DifferentNumbers:
    """A list of one or more numbers, none of them smaller than this, or there twice."""

    smallest: int

    @property
    def expected(self) -> str:
        """It in words."""
        return f"different numbers of at least {self.smallest}"

    def fits(self, value: Collection[int]) -> bool:
        """Whether a value is so."""
        return bool(value) and min(value) >= self.smallest and len(set(value)) == len(value)


@dataclass(frozen=True)
class Above:
    """A finite number that is larger than this."""

    bound: float
    expected: str

    def fits(self, value: Any) -> bool:
        """Whether a value is so."""
        return self.bound < value < math.inf


_SCALE = f"a positive number from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"

Count = Annotated[int, AtLeast(1)]
Positive = Annotated[float, Above(0.0, "a positive number")]
# Of weights or data: beyond, float64 loses digits.
Scale = Annotated[float, Between(SMALLEST_SCALE, LARGEST_SCALE, _SCALE)]


@cache
def constraints(schema: type) -> tuple[tuple[str, Constraint], ...]:
    """The constraints of a class's fields, each with the name of its field, in their order.

    Example:
        >>> class Config:
        ...     width: Count
        >>> constraints(Config)
        (('width', AtLeast(smallest=1)),)
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
            require(constraint.fits(value), name, constraint.expected, value)
