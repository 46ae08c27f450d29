"""The spectrum of the scalar ReLU network by cell, as figure and claims read it."""

import numpy as np

from hessian_papers.studies.scalar.spectra import SpectraReading
from hessian_papers.studies.stored import Stored
from hessian_spectra.agreement import EXACT

CELLS = ("+", "-")


class Reading(SpectraReading):
    """All ``2m`` eigenvalues of both sides, and where the numerical eigenvectors live."""

    width = Stored("width", int)  # hidden units ``m``
    # How many of them belong to the positive cell, ``q``.
    positive_units = Stored("positive_units", int)

    def units(self, cell: str) -> int:
        """The hidden units of a cell."""
        return self.positive_units if cell == "+" else self.width - self.positive_units

    @property
    def errors(self) -> np.ndarray:
        """|λ_k - λ_k^numeric| / max_k |λ_k^numeric| for every eigenvalue, ``(2m,)``."""
        numeric = self.numerics["eigenvalues"]
        difference: np.ndarray = np.abs(self.closed_form["eigenvalues"] - numeric)
        return difference / np.abs(numeric).max()

    @property
    def mass_elsewhere(self) -> np.ndarray:
        """The share of each eigenvector's squared norm outside the cell it belongs to, ``(2m,)``.

        The cell is the closed form's, so that a wrong colour in the figure would show here.
        """
        mass = self["mass"]
        return np.where(self["cell"] == "+", 1 - mass, mass)

    def lives_in(self, cell: str, *, doubled: bool = False) -> np.ndarray:
        """Which numerical eigenvectors have most of their squared norm in a cell, ``(2m,)``.

        Args:
            cell: ``+`` or ``-``.
            doubled: of the data with all points x < 0 taken twice.
        """
        positive = self["doubled_mass" if doubled else "mass"] > 0.5
        return positive if cell == "+" else ~positive

    def miscounted(self, cell: str) -> int:
        """How many eigenvalues the two bulks of a cell have too many or too few.

        In theory, against q - 1 pairs for q units; and in numbers, where the eigenvalues within
        round-off of a bulk value are counted.
        """
        bulk = self.select("bulk", cell)
        wrong = abs(len(bulk) - 2 * max(self.units(cell) - 1, 0))
        exact, numeric = self.closed_form["eigenvalues"], self.numerics["eigenvalues"]
        near = EXACT * np.abs(exact).max()
        for value in (bulk.min(), bulk.max()) if len(bulk) else ():
            # Counted in the whole spectrum on both sides: two bulks may coincide.
            exactly, numerically = ((np.abs(s - value) <= near).sum() for s in (exact, numeric))
            wrong += abs(int(exactly) - int(numerically))
        return wrong
