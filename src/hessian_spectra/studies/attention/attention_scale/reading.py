"""Spectra along sweeps of weight norms and of attention sinks, as figure and claims read them."""

from collections.abc import Callable, Iterator

import numpy as np

from hessian_spectra.agreement import distinct_error, spectrum_error
from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.results import StudyArrays
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

    @property
    def condition_number(self) -> np.ndarray:
        """The closed form's condition number, ``(s,)``."""
        return self.closed_form["condition_number"]

    def numerical(self, kind: str) -> list[np.ndarray]:
        """The distinct numerical eigenvalues of one kind, ``n`` arrays: the bulk repeats."""
        values, repeated = self["values"], self["repeated"]
        chosen = np.isfinite(values) & (repeated == (kind == "bulk"))
        return [row[mask] for row, mask in zip(values, chosen, strict=True)]

    def part_errors(self, kind: str) -> np.ndarray:
        """Error of the outliers, or of the bulk, relative to the largest eigenvalue.

        Returns:
            One for each numerical point at which all five eigenvalues can be told from each other.
        """
        closed = self["eigenvalues"][self["index"]]
        apart = np.diff(closed).min(axis=-1) > APART * np.abs(closed).max(axis=-1)
        largest = np.nanmax(np.abs(self["values"]), axis=-1)
        found = zip(self.select(kind)[self["index"]], self.numerical(kind), largest, strict=True)
        return np.array(
            [
                distinct_error(exact, numeric) * (np.abs(numeric).max() / top)
                for (exact, numeric, top), kept in zip(found, apart, strict=True)
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

    def outside(self, bounds: str, eigenvalues: np.ndarray) -> float:
        """How far eigenvalues lie outside their bounds, relative to the largest outlier.

        Args:
            bounds: what stands before ``lower`` and ``upper`` in their arrays' names.
            eigenvalues: ``(s, k)``.
        """
        below = self[f"{bounds}lower"] - eigenvalues.min(axis=-1)
        above = eigenvalues.max(axis=-1) - self[f"{bounds}upper"]
        relative = np.maximum(below, above) / np.abs(self.outliers).max(axis=-1)
        return max(0.0, float(relative.max()))


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
        found = np.concatenate([np.ravel(errors(sweep)) for sweep in self.sweeps()])
        if not found.size:
            raise NothingToMeasure(f"this configuration has no {what}")
        return float(found.max())

    def along(self, sweep: str, quantity: str) -> np.ndarray:
        """One of a sweep's properties at all its points.

        Raises:
            NothingToMeasure: it is not a positive number everywhere.
        """
        found = self.sweep(sweep)
        values = getattr(found, quantity, None)
        values = found[quantity] if values is None else values
        if not (np.isfinite(values) & (values > 0)).all():
            raise NothingToMeasure(
                f"in this configuration the bulk vanishes within float64 along the sweep {sweep}"
            )
        return np.asarray(values)

    def trend(self, sweep: str, quantity: str) -> float:
        """Rank correlation of one of a sweep's properties with what is varied in it."""
        return rank_correlation(self.sweep(sweep)["varied"], self.along(sweep, quantity))
