"""Cases of statements as they are drawn: what a row shows, on which axis."""

import math
from collections.abc import Sequence
from typing import NamedTuple

# A bound of at most so much is one on round-off, and where its axis begins.
ROUND_OFF, FLOOR = 1e-6, 1e-18


class Row(NamedTuple):
    """One case of a statement.

    Attributes:
        label: what tells it from the others of the statement.
        value: measured; NaN if nothing was.
        low: lower end of its interval; NaN if there is none.
        high: upper end.
        allowed: the smallest and the largest value with which the statement holds.
        outcome: what it says: ``holds``, ``fails``, ``open`` or ``not measured``.
        name: what tells it from all cases of a study.
    """

    label: str
    value: float
    low: float
    high: float
    allowed: tuple[float, float]
    outcome: str
    name: str = ""


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
