"""The cases of a statement as a picture: a row a case, with its value, its interval, its bound."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hessian_papers.drawing.cases import Row, is_logarithmic, limits
from hessian_papers.ledger.record import CaseRecord
from hessian_papers.report.verdicts import Shown, expected, number

# Of more cases than this, those that hold share one row.
MANY = 12
# The least width of a bound, in percent of the axis: that of one number shows as a line.
_LINE = 0.6
# Numbers at an axis, about.
_TICKS = 5
_SUPERSCRIPTS = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Axis:
    """The axis of a picture.

    Args:
        low: its left end.
        high: its right end.
        logarithmic: whether it is one of errors beside a bound on round-off.
    """

    low: float
    high: float
    logarithmic: bool

    def place(self, value: float) -> float:
        """The place of a value, in percent of the axis; at an end if it lies beyond.

        Example:
            >>> Axis(0.0, 2.0, False).place(0.5), Axis(1e-4, 1.0, True).place(0.0)
            (25.0, 0.0)
        """
        inside = min(max(value, self.low), self.high)
        low, high, at = self.low, self.high, inside
        if self.logarithmic:
            low, high, at = map(math.log10, (low, high, inside))
        return round(100 * (at - low) / (high - low), 1)

    @property
    def ticks(self) -> list[float]:
        """The numbers that stand at it.

        Example:
            >>> Axis(-0.1, 1.1, False).ticks, Axis(1e-4, 1.0, True).ticks
            ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0001, 0.001, 0.01, 0.1, 1.0])
        """
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1, 1 + (last - first) // 5)]
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        stride = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough)
        places = range(math.ceil(self.low / stride), math.floor(self.high / stride) + 1)
        return [float(f"{place * stride:.9g}") for place in places]


@dataclass(frozen=True)
class Line:
    """A row of a picture: cases, their drawing, and what explains them."""

    cases: Sequence[CaseRecord]
    drawing: Markup
    explanation: str = ""


@dataclass(frozen=True)
class Plot:
    """The picture of a statement's cases.

    Args:
        lines: a row a case.
        others: the row of the other cases, all of which hold, if there are many.
        axis: the numbers below.
    """

    lines: Sequence[Line]
    others: Line | None
    axis: Markup


def in_signs(markup: Markup) -> str:
    """A number of the page in plain signs, for a drawing.

    Example:
        >>> in_signs(number(1.5e-14))
        '1.5 × 10⁻¹⁴'
    """
    before, *powers = str(markup).split("<sup>")
    parts = (power.partition("</sup>") for power in powers)
    return before + "".join(digits.translate(_SUPERSCRIPTS) + rest for digits, _, rest in parts)


def row(case: CaseRecord) -> Row:
    """A case as it is drawn."""
    return Row("", *case.estimate, case.bound.range, case.outcome)


def _measured(cases: Sequence[CaseRecord]) -> list[Row]:
    """The rows of the cases of which anything is known."""
    return [row(case) for case in cases if case.expected is not None]


def axes(shown: Sequence[Shown]) -> Mapping[str, Axis]:
    """The axis of each statement, by its id: that of all with the same statistic and bounds."""
    alike: defaultdict[tuple[str, frozenset[tuple[float, float]]], list[Row]] = defaultdict(list)
    keys = {}
    for each in shown:
        if rows := _measured(each.cases):
            key = each.statement.statistic, frozenset(case.allowed for case in rows)
            keys[each.statement.id] = key
            alike[key] += rows
    return {
        name: Axis(*limits(alike[key]), is_logarithmic(alike[key])) for name, key in keys.items()
    }


def _bound(allowed: tuple[float, float], axis: Axis) -> Iterator[str]:
    low, high = map(axis.place, allowed)
    width = max(round(high - low, 1), _LINE)
    yield f'<rect x="{min(low, 100 - width):g}%" width="{width:g}%" height="100%"/>'


def _value(case: Row, axis: Axis) -> Iterator[str]:
    if math.isfinite(case.low) and math.isfinite(case.high):
        ends = f'x1="{axis.place(case.low):g}%" x2="{axis.place(case.high):g}%"'
        yield f'<line {ends} y1="50%" y2="50%"/>'
    if not math.isnan(case.value):
        yield f'<circle cx="{axis.place(case.value):g}%" cy="50%" r="4"/>'


def _drawing(cases: Sequence[CaseRecord], title: str, axis: Axis) -> Markup:
    rows = _measured(cases)
    # Bounds that differ cannot share a row: then the points stand alone.
    bounds = {case.allowed for case in rows}
    shapes = [*_bound(bounds.pop(), axis)] if len(bounds) == 1 else []
    shapes += [shape for case in rows for shape in _value(case, axis)]
    return Markup("<svg><title>{}</title>{}</svg>").format(title, Markup("".join(shapes)))


def _line(case: CaseRecord, axis: Axis) -> Line:
    title = f"expected {in_signs(expected(case.bound))}"
    return Line([case], _drawing([case], title, axis), case.explanation)


def _tick(axis: Axis, value: float) -> str:
    if not axis.logarithmic:
        return in_signs(number(value))
    return "10" + f"{round(math.log10(value))}".replace("-", "−").translate(_SUPERSCRIPTS)


def _numbers(axis: Axis) -> Markup:
    texts = Markup("").join(
        Markup('<text x="{:g}%" y="11">{}</text>').format(axis.place(tick), _tick(axis, tick))
        for tick in axis.ticks
    )
    return Markup('<svg aria-hidden="true">{}</svg>').format(texts)


def plot(shown: Shown, known: Mapping[str, Axis]) -> Plot | None:
    """The picture of a statement's cases; ``None`` where nothing was measured.

    Args:
        shown: the statement with its cases.
        known: the axes of the statements, see :func:`axes`.
    """
    axis = known.get(shown.statement.id)
    if axis is None:
        return None
    many = len(shown.cases) > MANY
    hold = [case for case in shown.cases if many and case.outcome == "holds"]
    lines = [_line(case, axis) for case in shown.cases if case not in hold]
    others = None
    if hold:
        texts = dict.fromkeys(case.explanation for case in hold if case.explanation)
        title = f"{len(hold)} cases that hold"
        others = Line(hold, _drawing(hold, title, axis), " ".join(texts))
    return Plot([*_explained_once(lines)], others, _numbers(axis))


def _explained_once(lines: Sequence[Line]) -> Iterator[Line]:
    """Rows of which only the last in a sequence with the same explanation has it."""
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        same = following is not None and following.explanation == line.explanation
        yield Line(line.cases, line.drawing, "" if same else line.explanation)
