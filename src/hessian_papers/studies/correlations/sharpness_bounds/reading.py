"""The sharpness over two formulas, as figure and claims read it."""

import math

import numpy as np

from hessian_papers.ledger.bounds import NORMAL, Estimate, NothingToMeasure, wilson
from hessian_papers.studies.correlations.reading import EnsembleReading, distance_from

# The standard error of a median times √n over the quartiles' distance, if normal between these.
MEDIAN_ERROR = math.sqrt(math.pi / 2) / 1.348980
ALL_DIVERGED = "this configuration has no network whose ratio is finite"
FORMULAS = ("maximum", "sum")


class Reading(EnsembleReading):
    """Ratios of sharpness and formula: the ``maximum`` of the layers' terms, or their ``sum``.

    The measures of two matrices raise ``NothingToMeasure`` for networks of other depths, and where
    none of the networks has a ratio.
    """

    def level(self, level: float) -> int:
        """Where the quantile nearest to a level stands."""
        return int(np.argmin(np.abs(self["level"] - level)))

    def quantile(self, formula: str, level: float, parametrisation: str, time: str) -> np.ndarray:
        """A quantile of the ratios at each position, ``(x,)``."""
        ratios = self.of(parametrisation, f"ratio_{formula}")
        return np.asarray(ratios[:, self.place("time", time), self.level(level)])

    def pooled(self, formula: str, parametrisation: str, time: str) -> np.ndarray:
        """Quantiles of the ratio over the networks of all positions, one for each level.

        NaN if all of them have diverged.
        """
        return np.asarray(self.of(parametrisation, f"pooled_{formula}")[self.place("time", time)])

    @property
    def least_over_maximum(self) -> float:
        """The smallest ratio to the maximum, over all networks at both times."""
        self.require_two_layers()
        values = self["pooled_maximum"]
        if not np.isfinite(values).any():
            raise NothingToMeasure(ALL_DIVERGED)
        return float(np.nanmin(values))

    def typical_error(self, formula: str, parametrisation: str, time: str) -> Estimate:
        """|ratio − 1| of the median network at the position where it is largest.

        With the median's 95 % interval by the quartiles.
        """
        self.require_two_layers()
        self.require_finished(parametrisation, time)
        lower, middle, upper = (
            self.quantile(formula, level, parametrisation, time) for level in (0.25, 0.5, 0.75)
        )
        number = self.of(parametrisation, "used")[:, self.place("time", time)]
        finite = np.isfinite(middle)
        if not finite.any():
            raise NothingToMeasure(ALL_DIVERGED)
        half = NORMAL * MEDIAN_ERROR * (upper - lower) / np.sqrt(np.maximum(number, 1))
        rows = np.stack([middle, middle - half, middle + half], axis=1)[finite].tolist()
        return max(distance_from(1.0, Estimate(*row)) for row in rows)

    def share_closer(self, time: str) -> Estimate:
        """The share of networks for which the sum is nearer, with Wilson's 95 % interval."""
        self.require_two_layers()
        for name in self.parametrisations:
            self.require_finished(name, time)
        when = self.place("time", time)
        used = self["used"][..., when]
        closer = np.where(used > 0, self["closer"][..., when], 0.0)
        if not used.any():
            raise NothingToMeasure(ALL_DIVERGED)
        return wilson(float((closer * used).sum() / used.sum()), int(used.sum()), NORMAL)
