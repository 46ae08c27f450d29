"""The trace through training, by formula and by random probes, as figure and claims read it."""

import numpy as np

from hessian_spectra.studies.images.reading import ThroughTraining, TrainedNetwork


class Network(TrainedNetwork):
    """The trace of one network's Hessian at its recorded epochs."""

    @property
    def trace(self) -> np.ndarray:
        """By equation (7), ``(t,)``."""
        return self.closed_form["trace"]

    @property
    def estimate(self) -> np.ndarray:
        """By Hutchinson's method, ``(t,)``."""
        return self.numerics["trace"]

    @property
    def standardised(self) -> np.ndarray:
        """(Hutchinson − equation (7)) / standard error, ``(t,)``."""
        return np.asarray((self.estimate - self.trace) / self["standard_error"])


class Reading(ThroughTraining[Network]):
    """The traces of all networks."""

    network = Network


def standardised(networks: list[Network]) -> np.ndarray:
    """The differences in standard errors at all epochs of some networks."""
    return np.concatenate([network.standardised for network in networks])


def root_mean_square(differences: np.ndarray) -> float:
    """√(mean of the squares)."""
    return float(np.sqrt(np.mean(differences**2)))
