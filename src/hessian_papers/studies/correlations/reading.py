"""What figures and claims of all studies of ensembles read: names on axes, how training ended."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.stored import NamedArrays, Stored, texts

# How texts say the names on the arrays' axes.
PARAMETRISATIONS = {"sp": "SP", "mup": "μP", "ntp": "NTP"}
TIMES = {"initialisation": "at initialisation", "trained": "after training"}
NORMS = {"spectral": "spectral", "frobenius": "Frobenius", "nuclear": "nuclear"}
ACTIVATIONS = {"linear": "linear", "relu": "ReLU"}


class EnsembleReading(NamedArrays):
    """The arrays of a study of an ensemble, addressed by names instead of indices.

    Their axes are ``p`` parametrisations, ``x`` positions (sizes or depths) and 2 times.
    """

    parametrisations = Stored("parametrisation", texts)  # the names on the first axis
    times = Stored("time", texts)  # ``initialisation`` and ``trained``
    along = Stored("along", str)  # what varies, ``size`` or ``depth``
    activation = Stored("activation", str)  # ``linear`` or ``relu``
    fixed = Stored("fixed", int)  # the depth along size, the size along depth

    def place(self, axis: str, name: str | int, what: str = "") -> int:
        """Where a name stands on an axis; positions are called sizes or depths."""
        return super().place(axis, name, self.along if axis == "position" else what)

    def of(self, parametrisation: str, name: str) -> np.ndarray:
        """One parametrisation's part of an array."""
        return np.asarray(self[name][self.place("parametrisation", parametrisation)])

    def unfinished(self, parametrisation: str) -> np.ndarray:
        """The positions where the epoch limit stopped more than half of the networks."""
        stopped = self.of(parametrisation, "epoch_limit") / self["networks"]
        return np.asarray(self["position"][stopped > 0.5])

    def require_finished(self, parametrisation: str, time: str) -> None:
        """Require that after training most networks of every position are at their plateau.

        Raises:
            NothingToMeasure: what the paper says after training is not about networks on the way.
        """
        stopped = self.unfinished(parametrisation)
        if time == "trained" and len(stopped):
            name = "D" if self.along == "size" else "depth"
            raise NothingToMeasure(
                f"the epochs end before most networks reach their plateau, at {name} = "
                f"{', '.join(map(str, stopped))}"
            )

    def require_two_layers(self) -> None:
        """Require that the networks have two layers and their size varies.

        Raises:
            NothingToMeasure: a claim about two matrices is not about others.
        """
        if self.along != "size" or self.fixed != 2:
            raise NothingToMeasure("this configuration is not one of two layers and their sizes")


def distance_from(centre: float, estimate: Estimate) -> Estimate:
    """How far an estimate is from a value, with the interval of that distance.

    Example:
        >>> tuple(distance_from(1.0, Estimate(1.5, 0.75, 2.0)))
        (0.5, 0.0, 1.0)
    """
    nearest, furthest = sorted((abs(estimate.low - centre), abs(estimate.high - centre)))
    inside = estimate.low <= centre <= estimate.high
    return Estimate(abs(estimate.value - centre), 0.0 if inside else nearest, furthest)
