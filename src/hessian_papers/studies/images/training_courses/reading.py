"""Courses of training, as figure and claims read them."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, share_of
from hessian_papers.results import StudyArrays
from hessian_papers.studies.images.reading import quotient

LABELS = {"one": "one class", "uniform": "equal shares"}
# The runs whose sharpness is measured, in the order of the array.
MEASURED = ("one-whitened", "one-raw", "uniform-whitened", "uniform-raw")


class Reading(StudyArrays):
    """Ten runs of ``R`` replicates each, ``t`` recorded epochs."""

    def of(self, name: str, run: str) -> np.ndarray:
        """An array of one run, ``(R, ...)``.

        Raises:
            NothingToMeasure: this configuration has no such run.
        """
        runs = list(MEASURED) if name in ("sharpness", "residual") else self["run"].tolist()
        if run not in runs:
            raise NothingToMeasure(f"this configuration has no run {run}")
        return np.asarray(self[name][runs.index(run)])

    def clean(self, *runs: str) -> np.ndarray:
        """The replicates of which none of some runs diverged, ``(R,)``.

        Raises:
            NothingToMeasure: there is none.
        """
        values = ~np.any([self.of("diverged", run) for run in runs], axis=0)
        if not values.any():
            raise NothingToMeasure("in this configuration training diverges")
        return np.asarray(values)

    def share(self, holds: np.ndarray, *runs: str, among: np.ndarray | None = None) -> Estimate:
        """The share of the clean replicates of which something holds; Wilson's interval, 95 %.

        Raises:
            NothingToMeasure: there are none, or none among those that are asked for.
        """
        clean = self.clean(*runs)
        chosen = holds[clean if among is None else clean & among]
        if not len(chosen):
            raise NothingToMeasure("in this configuration neither of the two gets that far")
        return share_of(chosen)

    def epochs_until(self, done: str, run: str) -> np.ndarray:
        """How many epochs until so much of the loss is gone, ∞ for never, ``(R,)``."""
        return np.nan_to_num(self.of(done, run), nan=np.inf)

    def peak(self, run: str) -> np.ndarray:
        """The largest sharpness at the recorded epochs, ``(R,)``."""
        return np.asarray(self.of("sharpness", run).max(axis=1))

    def kept(self, run: str) -> np.ndarray:
        """Imbalance over that at the start, ``(R, t)``."""
        unbalance = self.numerics["unbalance"][self["run"].tolist().index(run)]
        return quotient(unbalance, unbalance[:, :1])

    def predicted(self, run: str) -> np.ndarray:
        """The quantities under gradient flow, ``(R, t)``."""
        unbalance = self.closed_form["unbalance"][self["run"].tolist().index(run)]
        return quotient(unbalance, unbalance[:, :1])

    def spread(self, run: str) -> np.ndarray:
        """How far the layers' largest singular values are apart, squared, ``(R, t)``.

        (max_l σ₁²(W_l) − min_l σ₁²(W_l)) over the mean of the σ₁²(W_l).
        """
        squares = self.of("top", run) ** 2
        return quotient(np.ptp(squares, axis=-1), squares.mean(axis=-1))
