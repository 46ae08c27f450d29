"""What figures and claims read of a network in training: exact at all steps, numerical at some."""

from functools import cached_property
from typing import TypeVar

import numpy as np

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.results import StudyArrays

# What a closed form and a numerical spectrum may differ by, relative to the largest eigenvalue.
EXACT = 1e-10

Kind = TypeVar("Kind", bound=StudyArrays)


class Trajectory(StudyArrays):
    """One training run, whose two sides have a ``step`` and ``eigenvalues`` of their own.

    The closed form has ``r`` recorded steps, and the numerics ``s`` of these.
    """

    @property
    def steps(self) -> np.ndarray:
        """The recorded steps, ``(r,)``."""
        return self.closed_form["step"]

    @property
    def numeric_steps(self) -> np.ndarray:
        """The steps with a numerical spectrum, ``(s,)``."""
        return self.numerics["step"]

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
        placed = {name: self.at_numeric_steps(name) for name in ("kind", "cell")}
        numeric = placed | {"eigenvalues": self.numerics["eigenvalues"]}
        return StudyArrays({"closed_form": numeric}).select(kind, cell)

    def errors(self, form: str = "eigenvalues") -> np.ndarray:
        """The error of the whole spectrum at each step with a numerical one, ``(s,)``.

        Args:
            form: the closed form's array, for those that have several.
        """
        return spectrum_error(self.at_numeric_steps(form), self.numerics["eigenvalues"])


def part(reading: StudyArrays, name: str, run: type[Kind]) -> Kind:
    """One of several runs: the arrays ``<name>/...`` of both sides, without that prefix.

    Args:
        reading: the arrays of a study.
        name: the run's.
        run: what is read from it.
    """
    prefix = f"{name}/"
    sides = {"closed_form": reading.closed_form, "numerics": reading.numerics}
    return run(
        {
            side: {
                key.removeprefix(prefix): array
                for key, array in arrays.items()
                if key.startswith(prefix)
            }
            for side, arrays in sides.items()
        }
    )
