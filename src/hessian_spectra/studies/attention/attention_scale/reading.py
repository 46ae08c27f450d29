"""Spectra along sweeps of weight norms and of attention sinks, as figure and claims read them."""

from collections.abc import Callable, Iterator

import numpy as np

from hessian_spectra.agreement import distinct_error, spectrum_error
from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.results import StudyArrays
from hessian_spectra.statistics import rank_correlation


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

    def part_error(self, kind: str) -> np.ndarray:
        """Error of the outliers, or of the bulk, relative to the largest eigenvalue, ``(n,)``."""
        errors = []
        largest = np.nanmax(np.abs(self["values"]), axis=-1)
        for exact, found, top in zip(
            self.select(kind)[self["index"]], self.numerical(kind), largest, strict=True
        ):
            scale = np.abs(found).max() / top
            errors.append(distinct_error(exact, found) * scale)
        return np.array(errors)

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

    def worst(self, error: Callable[[Sweep], float]) -> float:
        """The largest value that an error has in one of the sweeps."""
        return max(float(error(sweep)) for sweep in self.sweeps())

    def trend(self, sweep: str, quantity: str) -> float:
        """Rank correlation of one of a sweep's properties with what is varied in it."""
        found = self.sweep(sweep)
        return rank_correlation(found["varied"], getattr(found, quantity))

    def dense_error(self) -> float:
        """The largest error of a whole spectrum.

        Raises:
            NothingToMeasure: no spectrum is known as a whole.
        """
        errors = np.concatenate([sweep.dense_error for sweep in self.sweeps()])
        if not errors.size:
            raise NothingToMeasure("this configuration computes no whole spectrum numerically")
        return float(errors.max())
