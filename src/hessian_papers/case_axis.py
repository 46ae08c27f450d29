"""The axis on which the cases of a statement are drawn: what it spans, and where a value lies."""

import math
from collections.abc import Sequence
from typing import NamedTuple

# A bound of at most so much is one on round-off, and where its axis begins.
ROUND_OFF, FLOOR = 1e-6, 1e-18


class Row(NamedTuple):
    """One case of a statement.

    Attributes:
        value: measured; NaN if nothing was.
        low: lower end of its interval; NaN if there is none.
        high: upper end.
        allowed: the smallest and the largest value with which the statement holds.
    """

    value: float
    low: float
    high: float
    allowed: tuple[float, float]


def is_logarithmic(rows: Sequence[Row]) -> bool:
    """Whether values are errors beside a bound on round-off."""
    return all(0 < row.allowed[1] <= ROUND_OFF for row in rows)


def limits(rows: Sequence[Row]) -> tuple[float, float]:
    """The limits of the axis: all values, intervals and bounds, with some room."""
    if is_logarithmic(rows):
        values = [row.value for row in rows if math.isfinite(row.value)]
        return FLOOR, 10 * max(10 * ROUND_OFF, *values, 0.0)
    ends = [end for row in rows for end in (row.value, row.low, row.high, *row.allowed)]
    known = [end for end in ends if math.isfinite(end)] or [0.0]
    room = 0.06 * (max(known) - min(known)) or 1.0
    return min(known) - room, max(known) + room


def position(value: float, ends: tuple[float, float], logarithmic: bool) -> float:
    """Where a value lies between the ends of an axis, as a fraction; beyond an end at that end.

    Example:
        >>> position(3.0, (1.0, 5.0), False), position(-math.inf, (1.0, 5.0), False)
        (0.5, 0.0)
        >>> position(1e-4, (1e-6, 1e-2), True), position(0.0, (1e-6, 1e-2), True)
        (0.5, 0.0)
    """
    low, high = ends
    inside = min(max(value, low), high)
    if logarithmic:
        low, high, inside = map(math.log10, (low, high, inside))
    return (inside - low) / (high - low)
