"""Sizes of outputs against the width, as figure and claims read them."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, mean_of
from hessian_papers.results import StudyArrays

# The maximal-update parametrisation with the variance that is printed.
PRINTED = "mup_printed"


class Reading(StudyArrays):
    """Outputs of ``N`` networks at each of ``k`` widths, by scale, activation and depth."""

    def _place(self, axis: str, value: str | int) -> int:
        values = np.flatnonzero(self.closed_form[axis] == value)
        if not len(values):
            raise NothingToMeasure(f"this configuration has no {axis} {value}")
        return int(values[0])

    def size(self, scale: str, activation: str, depth: int) -> np.ndarray:
        """The root of the mean squared output, ``(k, N)``."""
        place = (
            self._place("scale", scale),
            self._place("activation", activation),
            self._place("depth", depth),
        )
        return np.asarray(self.numerics["size"][place])

    def exponent(self, scale: str, activation: str, depth: int) -> Estimate:
        """The power of the width that the outputs go with.

        The mean slope of a line of least squares through the logarithms of one network at each
        width; the networks are all independent. Student's interval, 95 %.
        """
        width = np.log(self.closed_form["width"])
        if len(width) < 2:
            raise NothingToMeasure("a single width has no exponent")
        centred = width - width.mean()
        slopes = centred @ np.log(self.size(scale, activation, depth)) / (centred @ centred)
        return mean_of(slopes)

    def largest_exponent(self, scale: str, activation: str) -> Estimate:
        """The largest one over the depths."""
        exponents = [
            self.exponent(scale, activation, depth) for depth in self.closed_form["depth"].tolist()
        ]
        return max(exponents, key=lambda estimate: estimate.value)
