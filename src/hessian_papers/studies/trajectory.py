"""What figures and claims read of a network in training: exact at all steps, numerical at some."""

from functools import cached_property

import numpy as np

from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored
from hessian_spectra.agreement import spectrum_error


class Trajectory(StudyArrays):
    """One training run, whose two sides have a ``step`` and ``eigenvalues`` of their own.

    The closed form has ``r`` recorded steps, and the numerics ``s`` of these.
    """

    steps = Stored("step", np.asarray, side="closed_form")  # the recorded steps, ``(r,)``
    # The steps with a numerical spectrum, ``(s,)``.
    numeric_steps = Stored("step", np.asarray, side="numerics")

    @property
    def diverged_at(self) -> int | None:
        """The step at which the run diverged; ``None`` if it did not."""
        step = int(self.closed_form["diverged_at"])
        return step if step >= 0 else None

    @cached_property
    def numeric_rows(self) -> np.ndarray:
        """Where the steps with a numerical spectrum stand among the recorded ones, ``(s,)``."""
        return np.searchsorted(self.steps, self.numeric_steps)

    def at_numeric_steps(self, name: str) -> np.ndarray:
        """An array of the closed form at the steps with a numerical spectrum, ``(s, ...)``."""
        return np.asarray(self.closed_form[name][self.numeric_rows])

    def select_numeric(self, kind: str, cell: str | None = None) -> np.ndarray:
        """The numerical eigenvalues where the closed form has those of a kind (and a cell).

        A closed form tells the kind of each eigenvalue by its place in the spectrum; the numerical
        one has the same places.

        Returns:
            ``(s, count)`` ascending.
        """
        placed = np.full(self.closed_form["eigenvalues"].shape, np.nan)
        placed[self.numeric_rows] = self.numerics["eigenvalues"]
        return self.select(kind, cell, of=placed)[self.numeric_rows]

    def errors(self, form: str = "eigenvalues") -> np.ndarray:
        """The error of the whole spectrum at each step with a numerical one, ``(s,)``.

        Args:
            form: the closed form's array, for those that have several.
        """
        return spectrum_error(self.at_numeric_steps(form), self.numerics["eigenvalues"])
