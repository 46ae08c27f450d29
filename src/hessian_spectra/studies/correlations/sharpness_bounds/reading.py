"""The sharpness over two formulas, as figure and claims read it."""

import numpy as np

from hessian_spectra.ledger.bounds import Estimate
from hessian_spectra.studies.correlations.reading import EnsembleReading

NORMAL = 1.959964  # the 97.5 % quantile of the standard normal distribution


class Reading(EnsembleReading):
    """Ratios of sharpness and formula: the ``maximum`` of the layers' terms, or their ``sum``."""

    def quantile(self, formula: str, level: float) -> np.ndarray:
        """A quantile of the ratios at each point, ``(p, x, 2)``."""
        column = int(np.argmin(np.abs(self["level"] - level)))
        return np.asarray(self[f"ratio_{formula}"][..., column])

    def pooled(self, formula: str, parametrisation: str, time: str) -> np.ndarray:
        """Quantiles of the ratio over the networks of all sizes, one for each level."""
        row, when = self.place("parametrisation", parametrisation), self.place("time", time)
        return np.asarray(self[f"pooled_{formula}"][row, when])

    def typical_error(self, formula: str, parametrisation: str, time: str) -> Estimate:
        """|ratio − 1| at the median network, and the range in which 95 % of the networks lie."""
        level = self["level"].tolist()
        quantiles = self.pooled(formula, parametrisation, time)
        low, middle, high = (quantiles[level.index(q)] for q in (0.025, 0.5, 0.975))
        nearest = 0.0 if low <= 1 <= high else min(abs(low - 1), abs(high - 1))
        return Estimate(abs(middle - 1), nearest, max(abs(low - 1), abs(high - 1)))

    def share_closer(self, time: str) -> Estimate:
        """The share of networks for which the sum is nearer, with Wilson's 95 % interval."""
        when = self.place("time", time)
        used = self["used"][..., when]
        closer = np.where(used > 0, self["closer"][..., when], 0.0)
        number = float(used.sum())
        share = float((closer * used).sum()) / number
        centre, scale = share + NORMAL**2 / (2 * number), 1 + NORMAL**2 / number
        half = NORMAL * float(np.sqrt(share * (1 - share) / number + (NORMAL / (2 * number)) ** 2))
        return Estimate(share, (centre - half) / scale, (centre + half) / scale)
