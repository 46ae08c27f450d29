"""What figures and claims read of closed-form spectra with the numerical ones beside them."""

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.results import StudyArrays


class SpectraReading(StudyArrays):
    """Spectra that both sides have under one name, the closed form's with kinds and cells."""

    def select_numeric(self, kind: str, cell: str | None = None, prefix: str = "") -> np.ndarray:
        """The numerical eigenvalues at the places of one kind (and one cell), ascending.

        Numerics know no kinds: which eigenvalue is which follows from the closed form's order.

        Returns:
            ``(..., count)``.
        """
        return self.select(kind, cell, prefix, of=self.numerics[f"{prefix}eigenvalues"])

    def ranks(self, kind: str, cell: str | None = None, prefix: str = "") -> np.ndarray:
        """Which of the ascending eigenvalues, counted from 1, are of one kind (and one cell).

        Returns:
            ``(..., count)``.
        """
        shape = self.closed_form[f"{prefix}eigenvalues"].shape
        ranks = np.broadcast_to(np.arange(1, shape[-1] + 1), shape)
        return self.select(kind, cell, prefix, of=ranks)

    def error(self, prefix: str = "") -> np.ndarray:
        """The error of each whole spectrum, relative to its largest eigenvalue, ``(...)``."""
        name = f"{prefix}eigenvalues"
        return spectrum_error(self.closed_form[name], self.numerics[name])
