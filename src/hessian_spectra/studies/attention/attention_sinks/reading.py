"""Spectra with vector tokens against the strength of a sink, as figure and claims read them."""

import numpy as np

from hessian_spectra.agreement import distinct_error
from hessian_spectra.results import StudyArrays


class Reading(StudyArrays):
    """``n`` sinks with a numerical spectrum each, whose bulk are the eigenvalues that repeat."""

    @property
    def attention(self) -> np.ndarray:
        """The strength of the sinks: the mean attention on the first token, ``(n,)``."""
        return self.numerics["attention"]

    def _chosen(self, mask: np.ndarray) -> list[np.ndarray]:
        """Some eigenvalues of each numerical spectrum, ascending."""
        return [row[chosen] for row, chosen in zip(self["eigenvalues"], mask, strict=True)]

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
        """Error of the bulk relative to the largest eigenvalue, ``(n,)``."""
        errors = []
        for exact, bulk, spectrum in zip(
            self["numeric_bulk"], self.repeated, self["eigenvalues"], strict=True
        ):
            share = np.abs(bulk).max() / np.abs(spectrum).max()
            errors.append(distinct_error(exact, bulk) * share)
        return np.array(errors)

    @property
    def mean_bulk(self) -> np.ndarray:
        """Mean magnitude of the numerical eigenvalues that repeat, ``(n,)``."""
        return np.array([np.abs(values).mean() for values in self._chosen(self.repeats)])

    @property
    def largest_outliers(self) -> np.ndarray:
        """The largest share of the eigenvalues that do not repeat, ascending, ``(n, c)``."""
        single = self._chosen(~self.repeats)
        count = max(1, round(float(self["outlier_share"]) * min(map(len, single))))
        return np.array([row[-count:] for row in single])
