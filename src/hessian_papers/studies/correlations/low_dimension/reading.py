"""The leads at two sizes, as figure and claims read them."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.correlations.reading import EnsembleReading
from hessian_papers.studies.stored import Stored, integers


class Reading(EnsembleReading):
    """Leads of the product without the last matrix over the other products."""

    sizes = Stored("size", integers)  # the smaller D and the larger one

    def lead(self, parametrisation: str, size: int, time: str) -> tuple[np.ndarray, ...]:
        """The lead at each depth and the ends of its interval, three of ``(x,)``."""
        index = (
            self.place("parametrisation", parametrisation),
            slice(None),
            self.place("size", size),
            self.place("time", time),
        )
        return tuple(np.asarray(self[f"lead{end}"][index]) for end in ("", "_low", "_high"))

    def difference(self, parametrisation: str, time: str) -> Estimate:
        """The mean lead over the depths at the smaller D less that at the larger one.

        Raises:
            NothingToMeasure: it is not defined, or most networks are not trained to their plateau.
        """
        index = self.place("parametrisation", parametrisation), self.place("time", time)
        self.require_finished(parametrisation, time)
        ends = (float(self[f"mean_difference{end}"][index]) for end in ("", "_low", "_high"))
        estimate = Estimate(*ends)
        if not np.isfinite(estimate.value):
            raise NothingToMeasure("this configuration has a depth without correlations")
        return estimate
