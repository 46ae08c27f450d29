"""The sharpness over depths and label norms, as figure and claims read it."""

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored

# A step that changes the sharpness by less neither raises nor lowers it.
STEADY = 1e-9


class Reading(StudyArrays):
    """The sharpness at ``d`` depths 1, 2, ... and ``s`` norms, in theory and in numbers."""

    depths = Stored("depths", np.asarray)  # the numbers of layers L, ``(d,)``
    norms = Stored("norms", np.asarray)  # the values of ‖Y‖₂/√n, ``(s,)``
    predicted = Stored("predicted", np.asarray)  # the largest eigenvalue by eq. (14), ``(d, s)``
    sharpness = Stored("sharpness", np.asarray)  # the numerical largest eigenvalue, ``(d, s)``

    @property
    def error(self) -> np.ndarray:
        """The relative error of eq. (14), ``(d, s)``."""
        return np.asarray(np.abs(self.predicted / self.sharpness - 1))

    @property
    def steps(self) -> np.ndarray:
        """Logarithm of the factor with which one layer more multiplies λ_max, ``(d − 1, s)``."""
        return np.asarray(np.diff(np.log(self.sharpness), axis=0))

    @property
    def falls(self) -> np.ndarray:
        """At which steps one layer more makes the solution flatter, ``(d − 1, s)``."""
        return self.steps < -STEADY

    @property
    def later_steps(self) -> np.ndarray:
        """The steps from two layers on, ``(d − 2, s)``.

        Raises:
            NothingToMeasure: no network has three layers.
        """
        if len(self.depths) < 3:
            raise NothingToMeasure("this configuration has no network of three layers")
        return self.steps[1:]

    @property
    def growths(self) -> np.ndarray:
        """The growths ln(λ_max(L)/λ_max(2)) > 0 at the largest depth, at most ``(s,)``.

        Raises:
            NothingToMeasure: no network has three layers, or the sharpness grows at no norm.
        """
        growth = self.later_steps.sum(axis=0)
        if not (growth > 0).any():
            raise NothingToMeasure("this configuration has no norm at which the sharpness grows")
        return np.asarray(growth[growth > 0])

    def shares(self, *, at_least: float) -> np.ndarray:
        """At which norms the largest class share ‖Y‖₂²/(n σ_x²) is large enough, ``(s,)``.

        Raises:
            NothingToMeasure: at none.
        """
        chosen = (self.norms / self["input_scale"]) ** 2 >= at_least
        if not chosen.any():
            raise NothingToMeasure(
                f"this configuration has no norm with ‖Y‖₂²/(n σ_x²) ≥ {at_least:.3g}"
            )
        return np.asarray(chosen)
