"""Spectra along sweeps of weight norms and of attention sinks, as figure and claims read them."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored
from hessian_spectra.agreement import distinct_error, spectrum_error
from hessian_spectra.statistics import rank_correlation

# Eigenvalues that are closer than this share of the largest are not told apart numerically; the
# search for those that repeat ends at 1e-12.
APART = 1e-10
# Up to this condition number the smallest eigenvalue is known to 1e-6 of itself.
RESOLVED = 1e9


class Sweep(StudyArrays):
    """The arrays of one sweep: ``s`` networks, ``n`` of them with numerical eigenvalues.

    The closed form's ``eigenvalues`` (s, g) are the distinct ones, ``multiplicity`` says how often
    each occurs.
    """

    @property
    def outliers(self) -> np.ndarray:
        """The eigenvalues that occur once, ascending, ``(s, 3)``."""
        return self.select("outlier")

    @property
    def bulk(self) -> np.ndarray:
        """The size |γ| of the bulk, whose eigenvalues are γ and −γ, ``(s,)``."""
        return np.asarray(self.select("bulk").max(axis=-1))

    @property
    def largest(self) -> np.ndarray:
        """The largest eigenvalue, ``(s,)``."""
        return np.asarray(self["eigenvalues"].max(axis=-1))

    # The closed form's condition number, ``(s,)``.
    condition_number = Stored("condition_number", np.asarray, side="closed_form")

    def numerical(self, kind: str) -> list[np.ndarray]:
        """The distinct numerical eigenvalues of one kind, ``n`` arrays: the bulk repeats."""
        values, repeated = self["values"], self["repeated"]
        chosen = np.isfinite(values) & (repeated == (kind == "bulk"))
        return [row[mask] for row, mask in zip(values, chosen, strict=True)]

    @property
    def apart(self) -> np.ndarray:
        """At which numerical points all five eigenvalues can be told from each other, ``(n,)``."""
        closed = self["eigenvalues"][self["index"]]
        return np.asarray(np.diff(closed).min(axis=-1) > APART * np.abs(closed).max(axis=-1))

    def part_errors(self, kind: str) -> np.ndarray:
        """Error of the outliers, or of the bulk, relative to the largest eigenvalue.

        Returns:
            One for each numerical point at which all five eigenvalues can be told from each other.
        """
        largest = np.nanmax(np.abs(self["values"]), axis=-1)
        values = zip(self.select(kind)[self["index"]], self.numerical(kind), largest, strict=True)
        return np.array(
            [
                distinct_error(exact, numeric) * (np.abs(numeric).max() / top)
                for (exact, numeric, top), kept in zip(values, self.apart, strict=True)
                if kept
            ]
        )

    def excess_of_bound(self) -> np.ndarray:
        """By how much the bound exceeds the numerical condition number, relatively.

        Returns:
            One for each numerical point at which the condition number is known to enough digits.
        """
        number, index = self.numerics["condition_number"], self["index"]
        largest = np.maximum(self.condition_number, self["condition_bound"])[index]
        kept = np.maximum(number, largest) < RESOLVED
        return np.asarray(self["condition_bound"][index][kept] / number[kept] - 1)

    @property
    def distinct_error(self) -> np.ndarray:
        """Error of the distinct eigenvalues, relative to the largest, ``(n,)``."""
        pairs = zip(self["eigenvalues"][self["index"]], self["values"], strict=True)
        return np.array([distinct_error(exact, row[np.isfinite(row)]) for exact, row in pairs])

    @property
    def dense_error(self) -> np.ndarray:
        """Error of all eigenvalues at the points that have them, multiplicities included."""
        return np.array(
            [
                spectrum_error(
                    np.repeat(self["eigenvalues"][point], self["multiplicity"][point]), spectrum
                )
                for point, spectrum in zip(self["dense_index"], self["dense"], strict=True)
            ]
        )

    def largest_outside(self) -> np.ndarray:
        """How far the largest numerical eigenvalue lies outside its bounds, relative to it."""
        values = np.nanmax(self["values"], axis=-1)
        lower, upper = (self[f"largest_{end}"][self["index"]] for end in ("lower", "upper"))
        return np.asarray(np.maximum(lower - values, values - upper).clip(min=0) / np.abs(values))

    def outliers_outside(self) -> np.ndarray:
        """How far the numerical outliers lie outside their bounds, relative to the largest.

        Returns:
            One for each numerical point at which all five eigenvalues can be told from each other.
        """
        lower, upper = (self[end][self["index"]] for end in ("lower", "upper"))
        rows = zip(lower, upper, self.numerical("outlier"), self.apart, strict=True)
        return np.array(
            [
                max(low - result.min(), result.max() - high, 0.0) / np.abs(result).max()
                for low, high, result, apart in rows
                if apart
            ]
        )


class Draw(NamedTuple):
    """One sweep of one network of many, ``(t,)`` each.

    Attributes:
        varied: the norm or the bias.
        bulk: |γ|.
        largest: the largest eigenvalue.
        condition_number: that of the Hessian.
        condition_bound: the lower bound on it.
    """

    varied: np.ndarray
    bulk: np.ndarray
    largest: np.ndarray
    condition_number: np.ndarray
    condition_bound: np.ndarray

    def measured(self, measure: str, quantity: str) -> float:
        """One of them along the sweep, as one number.

        Args:
            measure: ``trend``, the rank correlation with what is varied; ``change``, the largest
                over the smallest value, minus 1; ``fall``, the largest relative fall below an
                earlier value; ``last_over_first``; or ``range_beside_largest``, the range over that
                of the largest eigenvalue.
            quantity: its name.
        """
        values = getattr(self, quantity)
        if measure == "trend":
            return rank_correlation(self.varied, values)
        if measure == "fall":
            return float((1 - values / np.maximum.accumulate(values)).max())
        if measure == "range_beside_largest":
            return (
                float(np.ptp(values) / np.ptp(self.largest)) if np.ptp(self.largest) else math.inf
            )
        over, under = {
            "change": (values.max() - values.min(), values.min()),
            "last_over_first": (values[-1], values[0]),
        }[measure]
        return float(over / under)


class Reading(StudyArrays):
    """The arrays of all sweeps."""

    def sweep(self, name: str) -> Sweep:
        """The arrays of one sweep, without its name.

        Raises:
            NothingToMeasure: there is no such sweep.
        """
        if name not in self["sweep"].tolist():
            raise NothingToMeasure(f"this configuration leaves out the sweep {name}")
        return self.part(name, Sweep)

    def sweeps(self) -> Iterator[Sweep]:
        """All of them."""
        return map(self.sweep, self["sweep"].tolist())

    def worst(self, errors: Callable[[Sweep], float | np.ndarray], what: str = "sweep") -> float:
        """The largest value that an error has in one of the sweeps.

        Args:
            errors: of a sweep, one or several.
            what: of what they are, for the message.

        Raises:
            NothingToMeasure: there is none.
        """
        values = np.concatenate([np.ravel(errors(sweep)) for sweep in self.sweeps()])
        if not values.size:
            raise NothingToMeasure(f"this configuration has no {what}")
        return float(values.max())

    def draws(self, name: str, largest: float = math.inf) -> list[Draw]:
        """One sweep of all the draws, up to some norm, as far as float64 resolves them.

        Raises:
            NothingToMeasure: it has fewer than two points up to there, or the bulk vanishes in all
                draws.
        """
        self.sweep(name)
        arrays = self.part(f"draws/{name}", StudyArrays).closed_form
        inside = arrays["varied"] <= largest
        if np.count_nonzero(inside) < 2:
            raise NothingToMeasure(f"this configuration has no two norms up to {largest:g}")
        columns = [arrays[field][:, inside] for field in Draw._fields[1:]]
        rows = (
            Draw(arrays["varied"][inside], *row)
            for row in zip(*columns, strict=True)
            if all((np.isfinite(values) & (values > 0)).all() for values in row)
        )
        entries = list(rows)
        if not entries:
            raise NothingToMeasure(
                f"in this configuration the bulk vanishes within float64 along the sweep {name}"
            )
        return entries
