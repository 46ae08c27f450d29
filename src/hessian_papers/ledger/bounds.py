"""The bound of a measured value, and what follows from it for one case."""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import xarray as xr

from hessian_spectra.statistics import student_mean

Relation = Literal["<=", ">=", "="]
# What a measured value says of a bound: all of its interval holds, none of it does, or a part.
Outcome = Literal["holds", "fails", "open", "not measured"]

RELATIONS: tuple[Relation, ...] = get_args(Relation)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

# How a relation is written, and on which side of it a tolerance is.
_SIGNS = {"<=": ("≤", "+"), ">=": ("≥", "−"), "=": ("=", "±")}

NORMAL = 1.959964  # the 97.5 % quantile of the standard normal distribution


class Estimate(NamedTuple):
    """A measured value with its confidence interval.

    Attributes:
        value: the point estimate.
        low: lower end of the interval; NaN if there is none.
        high: upper end.
    """

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def has_an_end(self) -> bool:
        """Whether an end is known; the interval may be unbounded at the other one."""
        return not (math.isnan(self.low) and math.isnan(self.high))


class Replicates(NamedTuple):
    """The numbers of one case by replicate.

    Attributes:
        dimension: what the replicates are, one of :data:`REPLICATES`.
        labels: which each of them is.
        numbers: one for each.
    """

    dimension: str
    labels: tuple[Any, ...]
    numbers: tuple[float, ...]


class Replicated(Estimate):
    """An estimate that is the mean of replicates, by which cases can be paired."""

    replicates: Replicates

    @classmethod
    def of(cls, estimate: Estimate, replicates: Replicates) -> "Replicated":
        """An estimate with its replicates."""
        result = cls(*estimate)
        result.replicates = replicates
        return result


# The estimate of what was not measured.
NOTHING = Estimate(math.nan)


def wilson(share: float, number: int, deviations: float) -> Estimate:
    """A share of ``number`` draws with Wilson's interval, of so many standard deviations.

    Example:
        >>> [round(end, 3) for end in wilson(0.5, 100, 1.959964)]
        [0.5, 0.404, 0.596]
    """
    scale = 1 + deviations**2 / number
    centre = (share + deviations**2 / (2 * number)) / scale
    variance = share * (1 - share) / number + (deviations / (2 * number)) ** 2
    half = deviations * math.sqrt(variance) / scale
    return Estimate(share, max(centre - half, 0.0), min(centre + half, 1.0))


def mean_of(replicates: Any, *, limit: float = math.inf, level: float = 0.95) -> Estimate:
    """The mean of replicates ``(S,)``, as of seeds, with Student's interval.

    Args:
        replicates: numbers that are alike.
        limit: how far from 0 such a number may be; an end beyond is cut off there.
        level: the share of intervals that should hold the expected value.

    Example:
        >>> mean_of([0.0, 1.0, 2.0]).value
        1.0
        >>> mean_of([0.25], limit=1.0)
        Estimate(value=0.25, low=-1.0, high=1.0)
    """
    value, *ends = student_mean(np.asarray(replicates, dtype=np.float64), level=level)
    return Estimate(float(value), *(float(np.clip(end, -limit, limit)) for end in ends))


def known_seeds(values: xr.DataArray, otherwise: str) -> xr.DataArray:
    """The numbers of those seeds that have one.

    Args:
        values: of seeds; NaN where there is no number.
        otherwise: why none of them may have one.

    Raises:
        NothingToMeasure: none has.

    Example:
        >>> known_seeds(xr.DataArray([1.0, np.nan], dims="seed"), "they diverged").values
        array([1.])
    """
    rest = values.dropna("seed")
    needs(rest.size, otherwise)
    return rest


# Dimensions of replicates, the highest first: draws within a teacher or a training are none.
REPLICATES = ("teacher", "replicate", "seed", "draw", "instance")


def replicates_of(values: xr.DataArray) -> Replicates:
    """The numbers of the highest of the :data:`REPLICATES`, each the mean of all draws within it.

    Args:
        values: numbers or booleans, of at least one replicate.

    Raises:
        ValueError: a dimension is left that has no replicates, or there is none.

    Example:
        >>> replicates_of(xr.DataArray([[0.0, 2.0], [1.0, 3.0]], dims=("seed", "draw")))
        Replicates(dimension='seed', labels=(0, 1), numbers=(1.0, 2.0))
    """
    left = [str(dim) for dim in values.dims if dim not in REPLICATES]
    if left or not values.ndim:
        expected = f"expected a number, or one for each of {', '.join(REPLICATES)}"
        raise ValueError(f"{expected}; left over: {', '.join(left) or 'nothing'}")
    highest = next(name for name in REPLICATES if name in values.dims)
    others = [dim for dim in values.dims if dim != highest]
    numbers = values.mean(others, skipna=False) if others else values
    labels = np.asarray(numbers[highest]).tolist()
    return Replicates(highest, tuple(labels), tuple(numbers.values.astype(float).tolist()))


def estimate_of(values: xr.DataArray) -> Estimate:
    """The estimate from replicates: Student's mean, or of draws alone the share that holds.

    Args:
        values: numbers or booleans whose dimensions are :data:`REPLICATES`. They are averaged over
            all but the highest of these, and pooled by Student's t over that one: draws within a
            teacher or a training are no replicates. Booleans along one dimension are a share with
            Wilson's interval, and so are those along several that all replicates have in one share:
            nothing varies among them, which is no proof for others.

    Returns:
        A :class:`Replicated` one where there is more than a number.

    Raises:
        ValueError: another dimension is left.

    Example:
        >>> estimate_of(xr.DataArray([[0.0, 2.0], [1.0, 3.0]], dims=("seed", "draw"))).value
        1.5
        >>> estimate_of(xr.DataArray([True, False] * 50, dims="draw")).low.__round__(3)
        0.404
        >>> estimate_of(xr.DataArray([[True] * 9] * 4, dims=("seed", "draw"))).low.__round__(3)
        0.51
    """
    if not values.ndim:
        return Estimate(float(values))
    replicates = replicates_of(values)
    numbers = replicates.numbers
    result = mean_of(numbers)
    if values.dtype.kind == "b":
        is_share = values.ndim == 1 or len({*numbers}) == 1
        ends = wilson(result.value, len(numbers), NORMAL) if is_share else np.clip(result, 0.0, 1.0)
        result = Estimate(*map(float, ends))
    return Replicated.of(result, replicates)


class NothingToMeasure(Exception):  # noqa: N818 - no error: the claim is not about this run
    """The arrays of a configuration hold nothing that a claim speaks of; the message says what."""


def needs(condition: Any, otherwise: str) -> None:
    """Require that there is something to measure.

    Args:
        condition: whether there is.
        otherwise: why not.

    Raises:
        NothingToMeasure: it does not hold.

    Example:
        >>> needs([1.0], "this configuration has no network")
        >>> needs([], "this configuration has no network")
        Traceback (most recent call last):
        hessian_papers.ledger.bounds.NothingToMeasure: this configuration has no network
    """
    if not condition:
        raise NothingToMeasure(otherwise)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The bound that a measured value is compared with.

    Args:
        relation: how the two are compared: ``"<="`` and ``">="`` are bounds, widened by
            ``tolerance``; ``"="`` means equal up to ``tolerance``.
        expected: the value that the measured one is compared with.
        reason: why this bound.
        tolerance: how far they may be apart, absolute.
        source: where ``expected`` comes from; ``the paper`` only where it says the number.
        word: the paper's word that the bound is our reading of, for example ``nearly``; empty if
            it is none. See :mod:`hessian_papers.ledger.words`.
    """

    relation: Relation
    expected: float
    reason: str
    tolerance: float = 0.0
    source: str = "the paper"
    word: str = ""

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that stand in the relation to the expected one."""
        low, high = self.expected - self.tolerance, self.expected + self.tolerance
        return (
            -math.inf if self.relation == "<=" else low,
            math.inf if self.relation == ">=" else high,
        )

    def holds(self, measured: float) -> bool:
        """Whether a measured value stands in the relation to the expected one; NaN never does.

        Example:
            >>> at_most(1.0, "a bound", tolerance=0.2).holds(1.1)
            True
        """
        low, high = self.range
        return low <= measured <= high

    def outcome(self, measured: Estimate) -> Outcome:
        """The outcome of a measurement: by its interval if it has one, else by its value.

        Returns:
            ``holds`` if the whole interval stands in the relation to the expected value, ``fails``
            if none of it does, ``open`` if a part of it does.

        Example:
            >>> at_least(0.0, "a sign").outcome(Estimate(0.5, -0.1, 0.9))
            'open'
        """
        if not measured.has_interval:
            return "holds" if self.holds(measured.value) else "fails"
        low, high = self.range
        if measured.high < low or measured.low > high:
            return "fails"
        # What some draws have is no share of nothing, however near to it the interval ends.
        if low == math.ulp(0.0) and measured.low == 0.0 < measured.value:
            return "holds"
        return "holds" if low <= measured.low and measured.high <= high else "open"

    @property
    def formula(self) -> tuple[str, tuple[float, ...]]:
        """The formula of the bound: a template, and the numbers that fill it.

        Example:
            >>> within(0.1, "a tenth").formula, at_least(1.0, "all", tolerance=0.5).formula
            (('≤ {}', (0.1,)), ('≥ {} − {}', (1.0, 0.5)))
        """
        sign, slack = _SIGNS[self.relation]
        if math.isnan(self.expected):
            return "–", ()
        if self.relation == ">=" and self.expected == math.ulp(0.0):
            return "> {}", (0.0,)
        if self.tolerance == 0:
            return f"{sign} {{}}", (self.expected,)
        if self.expected == 0 and self.relation == "<=":
            return f"{sign} {{}}", (self.tolerance,)
        return f"{sign} {{}} {slack} {{}}", (self.expected, self.tolerance)

    def __str__(self) -> str:
        """The bound in words.

        Example:
            >>> str(at_least(-1.0, "a rule")), str(equal_to(0.25, "a rule", tolerance=0.1))
            ('at least -1 (tolerance 0)', 'equal to 0.25 (tolerance 0.1)')
        """
        words = {"<=": "at most", ">=": "at least", "=": "equal to"}[self.relation]
        return f"{words} {self.expected:g} (tolerance {self.tolerance:g})"


def at_most(expected: float, reason: str, **of: Any) -> Bound:
    """An upper bound; ``of``: further fields of :class:`Bound`."""
    return Bound(relation="<=", expected=expected, reason=reason, **of)


def at_least(expected: float, reason: str, **of: Any) -> Bound:
    """A lower bound; ``of``: further fields of :class:`Bound`."""
    return Bound(relation=">=", expected=expected, reason=reason, **of)


def positive(reason: str, **of: Any) -> Bound:
    """More than nothing; ``of``: further fields of :class:`Bound`.

    Example:
        >>> positive("one is enough").holds(0.0), positive("one is enough").formula
        (False, ('> {}', (0.0,)))
    """
    return at_least(math.ulp(0.0), reason, **of)


def equal_to(expected: float, reason: str, **of: Any) -> Bound:
    """A value up to a tolerance; ``of``: further fields of :class:`Bound`."""
    return Bound(relation="=", expected=expected, reason=reason, **of)


def within(tolerance: float, reason: str, **of: Any) -> Bound:
    """An error, or a deviation, that is at most ``tolerance``."""
    return at_most(0.0, reason, tolerance=tolerance, **of)
