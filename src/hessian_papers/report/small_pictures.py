"""The small picture of a finding: all of its cases on one axis, with one message.

The page draws it in its own colours, so that it is dark where the page is. It is the same on every
processor: what is round-off is drawn as the bound that it is.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hessian_papers.case_axis import position
from hessian_papers.formulas import EXPONENT, plain, raised
from hessian_papers.ledger.bounds import Estimate
from hessian_papers.ledger.record import CaseRecord
from hessian_papers.ledger.totals import round_off
from hessian_papers.report.findings import WAYS, Group, Picture
from hessian_papers.report.verdicts import counted

# In units of the drawing, of which a narrow screen has as many pixels.
_LEFT, _RIGHT, _INDENTED = 12, 346, 100
_TOP, _HEADING, _ROW, _LETTERS, _APART, _FEET = 17, 17, 16.0, 12, 5, 20
# So many cases have room for their names, if these have at most so many letters: beside the cases,
# or else above them. More cases share a height.
_NAMED, _SHORT, _LONG, _SHARED = 4, 13, 50, 130
# A wider range than this is drawn in powers of ten.
_WIDE = 30.0
_TICKS = 4


@dataclass(frozen=True)
class Row:
    """One case.

    Args:
        y: where it stands.
        value: where its value lies.
        ends: where its interval ends, if it has one.
        printed: where the error of what is in print lies, if that is drawn.
        radius: of a mark.
        name: of the case, or its number where it is the only one; empty without room.
        name_at: where that stands, and its anchor.
    """

    y: float
    value: float
    ends: tuple[float, float] | None
    printed: float | None
    radius: float
    name: str = ""
    name_at: tuple[float, float, str] = (0.0, 0.0, "start")


@dataclass(frozen=True)
class Drawing:
    """A picture with its places, in units of the drawing.

    Args:
        foot: where the axis stands.
        headings: what each group is, and where that stands.
        rows: all cases.
        ticks: places and texts.
        ends: of the axis.
        line: the place and the name of a value to compare with.
        in_print: whether there is a second mark, for what is in print.
        axis: what it shows.
        said: the same in words, for those who do not see it.
    """

    foot: float
    headings: Sequence[tuple[str, float]]
    rows: Sequence[Row]
    ticks: Sequence[tuple[float, str]]
    ends: tuple[int, int]
    line: tuple[float, str] | None
    in_print: bool
    axis: str
    said: str

    @property
    def height(self) -> float:
        """The height of all."""
        return self.foot + _FEET


@dataclass(frozen=True)
class _Axis:
    """The axis of all numbers, which begins at ``left``."""

    ends: tuple[float, float]
    logarithmic: bool
    left: int

    def place(self, value: float) -> float:
        """Where a value lies."""
        inside = position(value, self.ends, self.logarithmic)
        return round(self.left + inside * (_RIGHT - self.left), 1)

    def ticks(self) -> list[float]:
        """Few round values between the ends."""
        low, high = self.ends
        if self.logarithmic:
            first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
            span = math.log10(high / low)
            step = math.ceil(span / _TICKS)
            parts = (1, 2, 3, 5) if span < 1 else (1, 2, 5) if span < _TICKS / 2 else (1,)
            decades = [d for d in range(first, last + 1) if d % step == 0]
            every = [p * 10.0**d for d in decades for p in parts]
        else:
            rough = (high - low) / (_TICKS + 1)
            base = 10.0 ** math.floor(math.log10(rough))
            by = next(base * part for part in (1, 2, 5, 10) if base * part >= rough)
            every = [round(by * n, 12) for n in range(math.ceil(low / by), math.ceil(high / by))]
        return [value for value in every if low <= value <= high]


def _tick(value: float, way: str) -> str:
    unit = " %" if way == "percent" else ""
    if way == "bound" and value != 1:
        return f"10{f'{math.log10(value):.0f}'.translate(EXPONENT)}"
    return f"{value:g}".replace("-", "−") + unit


def _estimate(case: CaseRecord, way: str) -> Estimate:
    """The number of a case as it is drawn."""
    if way == "bound":
        return Estimate(round_off(case.measured or 0.0, case.tolerance))
    return WAYS[way][0](case.estimate)


def _drawn(group: Group, picture: Picture) -> list[CaseRecord]:
    """The cases of a group that have a number; beside what is in print, in the order of that."""
    cases = [case for case in group.cases if case.measured is not None]
    if picture.in_print:
        cases = sorted((c for c in cases if c.printed_error), key=lambda c: c.printed_error or 0.0)
    return cases


def _height(cases: Sequence[CaseRecord]) -> float:
    """The height of a row."""
    return _ROW if len(cases) <= _NAMED else max(2.2, min(9.0, _SHARED / len(cases)))


def _names(cases: Sequence[CaseRecord]) -> list[str]:
    """The words of each case that not all of them have in common, where there is room for them.

    Of many cases those of one label, at the first of those in a row that have it.
    """
    if len(cases) > _NAMED:
        return _names_of_runs(cases)
    words = [[raised(word) for word in case.labels.values()] for case in cases]
    common = set[str].intersection(*map(set, words))
    names = [", ".join(word for word in own if word not in common) for own in words]
    room = len(cases) > 1 and max(map(len, names)) <= _LONG
    return names if room else [""] * len(cases)


def _names_of_runs(cases: Sequence[CaseRecord]) -> list[str]:
    """The words of the label that changes least from case to case, where each begins."""
    columns = ([raised(case.labels.get(name, "")) for case in cases] for name in cases[0].labels)
    grouped = ([[*run] for _, run in itertools.groupby(column)] for column in columns)
    runs = min((each for each in grouped if len(each) > 1), key=len, default=[])
    names = [name for run in runs for name in (run[0], *[""] * (len(run) - 1))]
    lines = [len(run) * _height(cases) for run in runs]
    room = runs and min(lines) >= _LETTERS and max(map(len, names)) <= _SHORT
    return names if room else [""] * len(cases)


def _said(says: str, cases: Sequence[CaseRecord], picture: Picture) -> str:
    """A group in words."""
    write = WAYS[picture.way][1]
    values = sorted(_estimate(case, picture.way).value for case in cases)
    ends = " to ".join(dict.fromkeys(write(value) for value in (values[0], values[-1])))
    text = f"{plain(says)}: {counted(values, 'case')}, {ends}"
    if not picture.in_print:
        return text
    errors = [write(case.printed_error or 0.0) for case in (cases[0], cases[-1])]
    return f"{text}; in print {' to '.join(errors)}"


def _axis(picture: Picture, groups: Sequence[Sequence[CaseRecord]], left: int) -> _Axis:
    every = [number for own in groups for case in own for number in _estimate(case, picture.way)]
    every += [case.printed_error or 0.0 for own in groups for case in own if picture.in_print]
    numbers = [number for number in every if math.isfinite(number)] or [0.0]
    logarithmic = picture.way == "factor" or (
        min(numbers) > 0 and max(numbers) / min(numbers) > _WIDE and picture.line is None
    )
    numbers += [picture.line[0]] if picture.line else []
    # A factor that is bounded above alone is at least 0, which is on no axis of decades.
    low, high = min(n for n in numbers if n > 0 or not logarithmic), max(numbers)
    room = 0.05 * (high - low) or 1.0
    ends = (low / 1.5, high * 1.5) if logarithmic else (low - room, high + room)
    return _Axis(ends, logarithmic, left)


def _row(case: CaseRecord, picture: Picture, axis: _Axis, y: float, height: float) -> Row:
    value, *interval = _estimate(case, picture.way)
    # The end of an interval that is unbounded there is that of the axis.
    pairs = zip(interval, axis.ends, strict=True)
    ends = [axis.place(end if math.isnan(own) else own) for own, end in pairs]
    return Row(
        y=round(y, 1),
        value=axis.place(value),
        ends=None if all(map(math.isnan, interval)) else (ends[0], ends[1]),
        printed=axis.place(case.printed_error or 0.0) if picture.in_print else None,
        radius=max(1.6, min(3.5, height / 3)),
    )


def _with_number(row: Row, number: str) -> Row:
    """A row with its number beside it, on the side where there is room."""
    start, end = row.ends or (row.value, row.value)
    if row.value > (_LEFT + _RIGHT) / 2:
        return replace(row, name=number, name_at=(start - 8, row.y + 4, "end"))
    return replace(row, name=number, name_at=(end + 8, row.y + 4, "start"))


def drawing(picture: Picture) -> Drawing:
    """The places of all that a picture shows; a group without numbers is left out."""
    pairs = [(group.says, _drawn(group, picture)) for group in picture.groups]
    pairs = [(says, cases) for says, cases in pairs if cases]
    names = [_names(cases) for _, cases in pairs]
    longest = max((len(name) for own in names for name in own), default=0)
    beside = 0 < longest <= _SHORT
    axis = _axis(picture, [cases for _, cases in pairs], _INDENTED if beside else _LEFT)
    y = float(_TOP if picture.line or picture.in_print else 2)
    headings, rows = [], []
    for (says, cases), own_names in zip(pairs, names, strict=True):
        headings.append((plain(says), y + 12))
        y += _HEADING
        height = _height(cases)
        for case, name in zip(cases, own_names, strict=True):
            y += (own_line := _ROW - 2 if name and not beside else 0.0)
            row = _row(case, picture, axis, y + height / 2, height)
            if name:
                at = (_LEFT + 8.0, row.y + 4 - own_line, "start")
                row = replace(row, name=name, name_at=at)
            elif len(cases) == 1:
                row = _with_number(row, WAYS[picture.way][1](_estimate(case, picture.way).value))
            rows.append(row)
            y += height
        y += _APART
    return Drawing(
        foot=round(y, 1),
        headings=headings,
        rows=rows,
        ticks=[(axis.place(at), _tick(at, picture.way)) for at in (axis.ticks() if rows else ())],
        ends=(axis.left, _RIGHT),
        line=(axis.place(picture.line[0]), picture.line[1]) if picture.line else None,
        in_print=picture.in_print,
        axis=plain(picture.axis),
        said=". ".join([plain(picture.axis), *(_said(*pair, picture) for pair in pairs)]) + ".",
    )
