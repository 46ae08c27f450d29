"""Training up to the edge of stability and along it, as figure and claims read it."""

import numpy as np

from hessian_spectra.statistics import correlation, rank_correlation
from hessian_spectra.studies.trajectory import Trajectory


class Reading(Trajectory):
    """One training run.

    The edge is the first step at which the sharpness is at least 2/η, η the learning rate.
    """

    @property
    def threshold(self) -> float:
        """The sharpness 2/η above which gradient descent is unstable."""
        return float(2 / self["learning_rate"])

    @property
    def relative_sharpness(self) -> np.ndarray:
        """Sharpness over 2/η, ``(r,)``."""
        return np.asarray(self["sharpness"] * self["learning_rate"] / 2)

    @property
    def edge(self) -> int | None:
        """The row of the edge; ``None`` if the sharpness never comes that far."""
        reached = np.flatnonzero(self.relative_sharpness >= 1)
        return int(reached[0]) if len(reached) else None

    @property
    def until_edge(self) -> slice:
        """The rows up to the edge, that one included; all if there is none."""
        return slice(None) if self.edge is None else slice(self.edge + 1)

    @property
    def from_edge(self) -> slice:
        """The rows from the edge on; the last one alone if there is none."""
        return slice(-1 if self.edge is None else self.edge, None)

    def trend(self, name: str, rows: slice) -> float:
        """Rank correlation of a quantity with the step."""
        return rank_correlation(self.steps[rows].astype(float), self[name][rows])

    def rise(self, *names: str) -> float:
        """The same up to the edge, the smallest of some quantities'."""
        return min(self.trend(name, self.until_edge) for name in names)

    def changes(self, name: str) -> np.ndarray:
        """A quantity's one-step changes from the edge on."""
        return np.diff(self[name][self.from_edge])

    def changes_together(self, name: str) -> float:
        """Correlation of these with those of the sharpness."""
        return correlation(self.changes(name), self.changes("sharpness"))
