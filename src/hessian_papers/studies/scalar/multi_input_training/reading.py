"""A multi-input network in training, as figure and claims read it."""

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.trajectory import Trajectory

# The closed forms of the whole spectrum, by their arrays: for correlated inputs, and as if the
# inputs were not correlated.
CORRELATED, DECORRELATED = "eigenvalues", "decorrelated"


class Reading(Trajectory):
    """The spectrum of one network, and both closed forms' errors."""

    @property
    def coordinates(self) -> int:
        """Number of inputs, D."""
        return len(self["covariance"])

    def bulk_error(self) -> float:
        """Largest error of the bulk alone, relative to the largest eigenvalue.

        Raises:
            NothingToMeasure: with a single hidden unit for each input there is no bulk.
        """
        exact = self.select("bulk")[self.numeric_rows]
        if not exact.shape[1]:
            raise NothingToMeasure("this configuration has width 1, with which there is no bulk")
        scale = np.abs(self.numerics["eigenvalues"]).max(axis=1, keepdims=True)
        return float((np.abs(exact - self.select_numeric("bulk")) / scale).max())
