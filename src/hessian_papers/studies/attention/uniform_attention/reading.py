"""Distances from uniform attention against the key dimension, as figure and claims read them."""

from functools import cached_property

import numpy as np

from hessian_papers.ledger.bounds import Estimate, mean_of
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored, texts

# The bulk counts as constant where its range is no more than this share of it.
CONSTANT = 0.1


class Reading(StudyArrays):
    """Quantities of ``N`` draws at each of ``k`` key dimensions, for ``i`` initialisations."""

    @cached_property
    def order(self) -> np.ndarray:
        """The places of the key dimensions, ascending."""
        return np.argsort(self.closed_form["key_dimension"])

    @property
    def dimensions(self) -> np.ndarray:
        """d_K, ascending, ``(k,)``."""
        return np.asarray(self.closed_form["key_dimension"][self.order])

    initialisations = Stored("initialisation", texts)  # how w_Q and w_K are drawn

    def of(self, name: str, initialisation: str) -> np.ndarray:
        """A quantity of one initialisation, by ascending d_K, ``(k, ..., N)``."""
        place = self.initialisations.index(initialisation)
        return np.asarray(self.closed_form[name][place][self.order])

    def exponent(self, name: str, initialisation: str) -> Estimate:
        """The power of d_K that a quantity goes with: the mean slope of its draws' logarithms.

        A line of least squares through each draw's points; the draws are independent, the points
        of one draw are not. Student's interval, 95 %.
        """
        centred = np.log(self.dimensions) - np.log(self.dimensions).mean()
        slopes = centred @ np.log(self.of(name, initialisation)) / (centred @ centred)
        return mean_of(slopes)

    def bulk_range(self, initialisation: str) -> np.ndarray:
        """Largest over smallest |γ| of all factors, less 1, ``(k, N)``."""
        bulk = self.of("scaled_bulk", initialisation)
        return np.asarray(bulk.max(axis=1) / bulk.min(axis=1) - 1)

    def checked(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A quantity of the draws that are checked, closed form and numerical, (i, s, n) each."""
        numeric, dimensions = self.numerics[name], self.closed_form["key_dimension"]
        places = [int(np.argmax(dimensions == d)) for d in self.numerics["key_dimension"]]
        return self.closed_form[name][:, places, : numeric.shape[-1]], numeric
