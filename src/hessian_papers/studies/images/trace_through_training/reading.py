"""The trace through training, by formula and by random probes, as figure and claims read it."""

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.images.reading import ThroughTraining, TrainedNetwork, quotient
from hessian_papers.studies.stored import Stored


class Network(TrainedNetwork):
    """The trace of one network's Hessian at its recorded epochs."""

    trace = Stored("trace", np.asarray, side="closed_form")  # by equation (7), ``(t,)``
    estimate = Stored("trace", np.asarray, side="numerics")  # by Hutchinson's method, ``(t,)``

    @property
    def standardised(self) -> np.ndarray:
        """(Hutchinson − equation (7)) / standard error, ``(t,)``; NaN without an error."""
        return quotient(self.estimate - self.trace, self["standard_error"])


class Reading(ThroughTraining[Network]):
    """The traces of all networks."""

    network = Network


def standardised(networks: list[Network]) -> np.ndarray:
    """The differences in standard errors at all epochs of some networks, where there is an error.

    Raises:
        NothingToMeasure: nowhere.
    """
    values = np.concatenate([network.standardised for network in networks])
    values = values[np.isfinite(values)]
    if not values.size:
        raise NothingToMeasure("in this configuration all random probes give the same trace")
    return values


def root_mean_square(differences: np.ndarray) -> float:
    """√(mean of the squares)."""
    return float(np.sqrt(np.mean(differences**2)))
