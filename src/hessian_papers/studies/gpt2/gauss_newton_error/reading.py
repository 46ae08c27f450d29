"""The relative error of the largest GGN eigenvalue, as figure and claims read it."""

import math
from typing import NamedTuple

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.gpt2.seeds import (
    ATTENTION,
    TWIN,
    Errors,
    Samples,
    compare,
    estimate,
    exactly,
    over_seeds,
)
from hessian_papers.studies.stored import NamedArrays, Stored, texts
from hessian_spectra.statistics import MeanInterval, rank_correlation


class Contrast(NamedTuple):
    """What attention adds to the error where all runs of both architectures have the same level.

    Attributes:
        level: ``(g,)``.
        mean: over the seeds, with its interval, ``(g,)`` each.
    """

    level: np.ndarray
    mean: MeanInterval


class Pairs(NamedTuple):
    """Which errors are held against which, seed by seed.

    Attributes:
        first: an architecture.
        second: the one that it is held against.
        of: ``error``, or ``first``, where a level is passed for the first time alone.
    """

    first: str = ATTENTION
    second: str = TWIN
    of: str = "error"


BY_ATTENTION = Pairs()


class Reading(NamedArrays):
    """Relative errors of language models with and without attention, at common levels.

    What compares two architectures raises ``NothingToMeasure`` where the study lacks one of them,
    or where no level is common to all their runs.
    """

    variants = Stored("variant", texts)  # the architectures
    along = Stored("along", texts)  # at what the runs are compared
    shown = Stored("shown", str)  # ``mean`` or ``runs``

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

    def contrast(
        self, along: str, compared: str = "difference", pairs: Pairs = BY_ATTENTION
    ) -> Contrast:
        """The errors of the first architecture against the second's, paired by seed.

        Args:
            along: at what they are compared.
            compared: their difference, or the logarithm of their ratio.
            pairs: which errors.
        """
        level, samples = self._common(along, compared, pairs)
        return Contrast(level, over_seeds(samples))

    def pairs(self, along: str, compared: str, pairs: Pairs = BY_ATTENTION) -> Samples:
        """What attention adds in each pair of runs, ``(S, G)``; NaN where one has no such level."""
        first, other = (
            Errors(self.runs(pairs.of, along, variant), self.runs("uncertainty", along, variant))
            for variant in (pairs.first, pairs.second)
        )
        return compare(first, other, compared)

    def _common(
        self, along: str, compared: str, pairs: Pairs = BY_ATTENTION
    ) -> tuple[np.ndarray, Samples]:
        """The levels that all runs have, ``(g,)``, and what the pairs have there, ``(S, g)``."""
        samples = self.pairs(along, compared, pairs)
        finite = ~np.isnan(samples.value).any(axis=0)
        if not finite.any():
            raise NothingToMeasure(f"in this configuration no {along} is common to all runs")
        return self.level(along)[finite], Samples(*(part[:, finite] for part in samples))

    def share(
        self, along: str, compared: str = "difference", pairs: Pairs = BY_ATTENTION
    ) -> Estimate:
        """The share of the common levels at which the first architecture's error is larger.

        Its interval goes from the share at which the whole interval of the mean is above 0 to that
        at which some of it is. Arguments are those of :meth:`contrast`.
        """
        estimate = self.contrast(along, compared, pairs).mean
        return Estimate(*(float((end > 0).mean()) for end in estimate))

    def share_of_each_pair(self, along: str) -> np.ndarray:
        """The share of each pair of runs by itself, over the levels of both, ``(S,)``."""
        samples = self.pairs(along, "difference").value
        common = np.isfinite(samples)
        if not common.any(axis=1).all():
            raise NothingToMeasure(f"in this configuration a pair of runs has no {along} in common")
        return np.asarray((samples > 0).sum(axis=1) / common.sum(axis=1))

    def late(self, along: str, compared: str) -> Estimate:
        """The mean over the lowest third of the common levels, where training ends."""
        level, samples = self._common(along, compared)
        lowest = level <= level[0] + (level[-1] - level[0]) / 3
        return estimate(Samples(*(part[:, lowest].mean(axis=1) for part in samples)))

    def at_start(self) -> Estimate:
        """The mean difference before the first step."""
        first, other = (
            Errors(self[name][place, :, 0], self["measured_uncertainty"][place, :, 0])
            for name, place in (
                ("measured", self.place("variant", variant)) for variant in (ATTENTION, TWIN)
            )
        )
        samples = compare(first, other, "difference")
        if self["step"][0] != 0 or not np.isfinite(samples.value).all():
            raise NothingToMeasure("in this configuration a run is not measured at its start")
        return estimate(samples)

    def rank_with_error(self, along: str, variant: str) -> Estimate:
        """The rank correlation of the error with what a run is compared at, its mean over seeds."""
        x, errors = self.runs("x", along, variant), self["measured"][self.place("variant", variant)]
        known = [np.isfinite(run) & np.isfinite(of) for run, of in zip(x, errors, strict=True)]
        if min(np.count_nonzero(item) for item in known) < 3:
            raise NothingToMeasure("in this configuration a run has fewer than 3 measurements")
        ranks = [
            rank_correlation(run[finite], of[finite])
            for run, of, finite in zip(x, errors, known, strict=True)
        ]
        value, low, high = estimate(exactly(np.array(ranks)))
        return Estimate(value, max(low, -1.0), min(high, 1.0))
