"""The relative error of the largest GGN eigenvalue, as figure and claims read it."""

import math
from typing import NamedTuple

import numpy as np

from hessian_spectra.ledger.bounds import Estimate, NothingToMeasure
from hessian_spectra.results import StudyArrays
from hessian_spectra.statistics import rank_correlation
from hessian_spectra.studies.gpt2.seeds import ATTENTION, TWIN, interval, mean_over_seeds


class Difference(NamedTuple):
    """What attention adds to the error where all runs of both architectures have the same level.

    Attributes:
        level: ``(g,)``.
        mean: over the seeds, ``(g,)``.
        low: end of its 95 % interval, with what the eigenvalues' residuals leave open.
        high: the other end.
    """

    level: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Reading(StudyArrays):
    """Relative errors of language models with and without attention, at common levels.

    What compares two architectures raises ``NothingToMeasure`` where the study lacks one of them,
    or where no level is common to all their runs.
    """

    @property
    def variants(self) -> list[str]:
        """The architectures."""
        return [str(name) for name in self["variant"]]

    @property
    def along(self) -> list[str]:
        """At what the runs are compared."""
        return [str(name) for name in self["along"]]

    @property
    def shown(self) -> str:
        """``mean`` or ``runs``."""
        return str(self["shown"])

    def place(self, axis: str, name: str) -> int:
        """Where a name stands on an axis.

        Raises:
            NothingToMeasure: it does not; the study leaves it out.
        """
        names = self[axis].tolist()
        if name not in names:
            raise NothingToMeasure(f"this configuration leaves out {axis} {name}")
        return int(names.index(name))

    def level(self, along: str) -> np.ndarray:
        """The levels at which the runs are compared, ``(G,)``."""
        return np.asarray(self["level"][self.place("along", along)])

    def runs(self, name: str, along: str, variant: str) -> np.ndarray:
        """An array of one architecture along one quantity, ``(S, G)`` or ``(S, m)``."""
        return np.asarray(self[name][self.place("along", along), self.place("variant", variant)])

    def mean(self, along: str, variant: str) -> tuple[np.ndarray, np.ndarray]:
        """The error's mean over the seeds and its standard error, ``(G,)``; NaN outside a run."""
        errors = self.runs("error", along, variant)
        spread = errors.std(axis=0, ddof=1) if len(errors) > 1 else np.full(errors.shape[1], np.nan)
        return errors.mean(axis=0), spread / math.sqrt(len(errors))

    def difference(
        self, along: str, first: str = ATTENTION, second: str = TWIN, of: str = "error"
    ) -> Difference:
        """The error of the first architecture less the second's, paired by seed."""
        samples, open_ = self._paired(along, first, second, of)
        common = np.isfinite(samples).all(axis=0)
        if not common.any():
            raise NothingToMeasure(f"in this configuration no {along} is common to all runs")
        samples, open_ = samples[:, common], open_[:, common].mean(axis=0)
        low, high = interval(samples)
        return Difference(
            self.level(along)[common], samples.mean(axis=0), low - open_, high + open_
        )

    def _paired(
        self, along: str, first: str, second: str, of: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Differences of each pair of runs, and what their eigenvalues' residuals leave open."""
        one, other = (self.runs(of, along, variant) for variant in (first, second))
        both = sum(self.runs("uncertainty", along, variant) for variant in (first, second))
        return one - other, np.asarray(both)

    def share(
        self, along: str, first: str = ATTENTION, second: str = TWIN, of: str = "error"
    ) -> Estimate:
        """The share of the common levels at which the first architecture's error is larger.

        Its interval goes from the share at which the whole interval of the difference is above 0 to
        that at which some of it is.
        """
        found = self.difference(along, first, second, of)
        return Estimate(*(float((end > 0).mean()) for end in (found.mean, found.low, found.high)))

    def share_of_each_pair(self, along: str) -> np.ndarray:
        """The same of each pair of runs by itself, over the levels that the two share, ``(S,)``."""
        samples, _ = self._paired(along, ATTENTION, TWIN, "error")
        common = np.isfinite(samples)
        if not common.any(axis=1).all():
            raise NothingToMeasure(f"in this configuration a pair of runs has no {along} in common")
        return np.asarray((samples > 0).sum(axis=1) / common.sum(axis=1))

    def late(self, along: str) -> Estimate:
        """The mean difference over the lowest third of the common levels, where training ends."""
        samples, open_ = self._paired(along, ATTENTION, TWIN, "error")
        level = self.difference(along).level
        lowest = level[0] + (level[-1] - level[0]) / 3
        chosen = np.isfinite(samples).all(axis=0) & (self.level(along) <= lowest)
        return mean_over_seeds(samples[:, chosen].mean(axis=1), open_[:, chosen].mean(axis=1))

    def at_start(self) -> Estimate:
        """The mean difference before the first step."""
        one, other = (self.place("variant", variant) for variant in (ATTENTION, TWIN))
        errors, open_ = self["measured"][..., 0], self["measured_uncertainty"][..., 0]
        if self["step"][0] != 0 or not np.isfinite(errors[[one, other]]).all():
            raise NothingToMeasure("in this configuration a run is not measured at its start")
        return mean_over_seeds(errors[one] - errors[other], open_[one] + open_[other])

    def rank_with_error(self, along: str, variant: str) -> Estimate:
        """The rank correlation of the error with what a run is compared at, its mean over seeds."""
        x, errors = self.runs("x", along, variant), self["measured"][self.place("variant", variant)]
        known = [np.isfinite(run) & np.isfinite(of) for run, of in zip(x, errors, strict=True)]
        if min(np.count_nonzero(one) for one in known) < 3:
            raise NothingToMeasure("in this configuration a run has fewer than 3 measurements")
        found = [
            rank_correlation(run[there], of[there])
            for run, of, there in zip(x, errors, known, strict=True)
        ]
        value, low, high = mean_over_seeds(np.array(found), np.zeros(len(found)))
        return Estimate(value, max(low, -1.0), min(high, 1.0))
