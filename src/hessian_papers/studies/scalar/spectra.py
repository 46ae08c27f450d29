"""What figures and claims read of closed-form spectra with the numerical ones beside them."""

import numpy as np

from hessian_papers.results import StudyArrays
from hessian_spectra.agreement import spectrum_error


class SpectraReading(StudyArrays):
    """``eigenvalues`` of both sides, ``(..., k)``, the closed form's with kinds and cells."""

    def select_numeric(self, kind: str, cell: str | None = None) -> np.ndarray:
        """The numerical eigenvalues at the places of one kind (and one cell), ascending.

        Numerics know no kinds: which eigenvalue is which follows from the closed form's order.

        Returns:
            ``(..., count)``.
        """
        return self.select(kind, cell, of=self.numerics["eigenvalues"])

    def ranks(self, kind: str, cell: str | None = None) -> np.ndarray:
        """Which of the ascending eigenvalues, from 1 on, are of a kind (and a cell), as above."""
        shape = self.closed_form["eigenvalues"].shape
        return self.select(kind, cell, of=np.broadcast_to(np.arange(1, shape[-1] + 1), shape))

    def error(self) -> np.ndarray:
        """The error of each whole spectrum, relative to its largest eigenvalue, ``(...)``."""
        return spectrum_error(self.closed_form["eigenvalues"], self.numerics["eigenvalues"])
