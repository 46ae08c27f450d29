"""Spectra with vector tokens against the strength of a sink, as figure and claims read them."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, share_of
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored
from hessian_spectra.agreement import distinct_error

# Shares of the largest eigenvalue: two that are closer than the first are equal but for rounding,
# two that are further apart than the second are not, and a bulk below the third is too small to be
# told from outliers that go to zero with it.
EQUAL, APART, FAINT = 1e-13, 1e-9, 1e-6


class Reading(StudyArrays):
    """``n`` sinks with a numerical spectrum each, whose bulk are the eigenvalues that repeat."""

    # The strength of the sinks: the mean attention on the first token, ``(n,)``.
    attention = Stored("attention", np.asarray, side="numerics")

    def _chosen(self, mask: np.ndarray) -> list[np.ndarray]:
        """Some eigenvalues of each numerical spectrum, ascending."""
        return [row[chosen] for row, chosen in zip(self["eigenvalues"], mask, strict=True)]

    @property
    def resolved(self) -> np.ndarray:
        """At which sinks it can be told which numerical eigenvalues repeat, ``(n,)``.

        Where the attention is nearly all on one token, or the weights are small, eigenvalues come
        so close to each other, and the bulk to zero, that rounding decides.
        """
        spectra, bulk = self["eigenvalues"], self["numeric_bulk"]
        largest = np.abs(spectra).max(axis=1, keepdims=True)
        gaps = np.diff(spectra) / largest
        clear = ((gaps < EQUAL) | (gaps > APART)).all(axis=1)
        apart = (np.diff(bulk) > APART * largest).all(axis=1)
        return np.asarray(clear & apart & (np.abs(bulk) > FAINT * largest).all(axis=1))

    def where_resolved(self, values: np.ndarray) -> np.ndarray:
        """What is measured of the eigenvalues that repeat, at the sinks at which that can be told.

        Raises:
            NothingToMeasure: at none.
        """
        if not self.resolved.any():
            raise NothingToMeasure(
                "this configuration has no sink at which float64 tells the bulk's values from each "
                "other, from zero and from the outliers"
            )
        return np.asarray(values[self.resolved])

    @property
    def repeats(self) -> np.ndarray:
        """Which numerical eigenvalues occur more than once, ``(n, p)``."""
        return self.numerics["copies"] > 1

    @property
    def repeated(self) -> list[np.ndarray]:
        """The values that repeat, each of them once, for each sink."""
        return self._chosen(self.repeats & self["first"])

    @property
    def bulk_error(self) -> np.ndarray:
        """Error of the bulk relative to the largest eigenvalue, ``(n,)``, NaN if not resolved."""
        errors = np.full(len(self.attention), np.nan)
        for sink in np.flatnonzero(self.resolved):
            bulk = self.repeated[sink]
            share = np.abs(bulk).max() / np.abs(self["eigenvalues"][sink]).max()
            errors[sink] = distinct_error(self["numeric_bulk"][sink], bulk) * share
        return errors

    @property
    def largest_outliers(self) -> np.ndarray:
        """The largest share of the eigenvalues that do not repeat, ascending, ``(n, c)``.

        Of all eigenvalues, where it cannot be told which of them repeat.
        """
        single = self._chosen(~self.repeats | ~self.resolved[:, None])
        count = max(1, round(float(self["outlier_share"]) * min(map(len, single))))
        return np.array([row[-count:] for row in single])

    def draw_bulk(self, place: int) -> np.ndarray:
        """The mean magnitude of the draws' bulk at one pair of norms, ``(2, N)``.

        Without and with the largest sink.

        Raises:
            NothingToMeasure: all of them are zero.
        """
        bulk = self["draw_bulk"][place]
        if not bulk.any():
            raise NothingToMeasure("in this configuration the draws have no bulk but zeros")
        return np.asarray(bulk.T)

    def share_that_grows(self, place: int) -> Estimate:
        """The share of the draws whose largest eigenvalue a sink raises, at one pair of norms.

        Eigenvalues are known to within their residuals. Draws of which that leaves it open are
        among those that are raised at the upper end of the interval, and not at the lower.
        """
        without, with_sink = self["draw_largest"][place].T
        margin = self["draw_residual"][place].sum(axis=1)
        share, surely, perhaps = (
            share_of(with_sink - without > least) for least in (0.0, margin, -margin)
        )
        return Estimate(share.value, surely.low, perhaps.high)
