"""What tends to what with growing width, as figure and claims read it."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored, texts
from hessian_spectra.statistics import (
    MeanInterval,
    bootstrap_interval,
    leave_one_out,
    resample_counts,
    student_mean,
)

RECTIFIED, GAUSSIAN = "rectified", "gaussian"
LEVEL = 0.95
RESAMPLES = 2000


def over_draws(samples: np.ndarray) -> MeanInterval:
    """The mean over the last axis, of independent draws, with its interval."""
    return student_mean(np.moveaxis(samples, -1, 0), skewed=True)


class Reading(StudyArrays):
    """Quantities ``(l, w, r)`` of networks of l laws of the inputs, w widths and r draws.

    A law that the study leaves out raises ``NothingToMeasure``.
    """

    laws = Stored("law", texts)  # how the inputs are distributed

    @property
    def widths(self) -> np.ndarray:
        """The numbers n of hidden units, ascending."""
        return np.sort(self["width"])

    def place(self, law: str) -> int:
        """Where a law stands on the first axis."""
        if law not in self.laws:
            raise NothingToMeasure(f"this configuration leaves out {law} inputs")
        return self.laws.index(law)

    def of(self, name: str, law: str) -> np.ndarray:
        """A quantity under one law, ``(w, r)``, by ascending width."""
        values = self.numerics[name][self.place(law)][np.argsort(self["width"])]
        if not np.isfinite(values).all():
            raise NothingToMeasure(f"of {law} inputs this is not measured")
        return np.asarray(values)

    def limit(self, name: str, law: str) -> float:
        """What a quantity of the closed form is under one law."""
        return float(self.closed_form[name][self.place(law)])

    def widest(self, name: str, law: str, less: float = 0.0) -> Estimate:
        """The mean over draws of a quantity at the largest width, less some number."""
        return Estimate(*(float(end) - less for end in over_draws(self.of(name, law)[-1])))

    def overlap(self, name: str, law: str) -> Estimate:
        """The mean overlap at the largest width, of a quantity that is one less an overlap."""
        value, low, high = self.widest(name, law)
        return Estimate(1 - value, 1 - high, 1 - low)

    def error(self, name: str, law: str) -> Estimate:
        """The root of a mean square at the largest width; what is estimated below 0 is 0."""
        return Estimate(*(float(np.sqrt(max(end, 0.0))) for end in self.widest(name, law)))

    def left(self, name: str, law: str) -> Estimate:
        """What is left at the largest width of a quantity's mean at the smallest: their ratio.

        Its interval is by the bootstrap over draws.
        """
        if len(self.widths) < 2:
            raise NothingToMeasure("this configuration has a single width")
        small, large = self.of(name, law)[[0, -1]]
        if not small.mean() > 0:
            raise NothingToMeasure("the sampling hides this quantity at the smallest width")
        count = len(small)

        def ratio(counts: np.ndarray) -> np.ndarray:
            above, below = counts @ large[:, None], counts @ small[:, None]
            # A resample without a positive mean has no ratio.
            return np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)

        (value,) = ratio(np.ones((1, count)))
        resampled = ratio(resample_counts(count, RESAMPLES, seed=0))
        ends = bootstrap_interval(value, resampled, ratio(leave_one_out(count)), LEVEL)
        return Estimate(float(value[0]), *(float(end[0]) for end in ends))

    def row_sums(self) -> Estimate:
        """The mean square of Σ_j W_ij over all laws, widths, draws and classes."""
        return Estimate(*map(float, over_draws(self["row_sum"].reshape(-1))))
