"""The spectra of balanced networks, network by network, as figure and claims read them."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored, integers
from hessian_spectra.agreement import spectrum_error

# Relative to the largest eigenvalue: rounding leaves less where an eigenvalue is zero.
ZERO = 1e-13
# Within this of each other, relative to the largest, eigenvalues belong to one eigenspace.
CLOSE = 1e-6

# The largest error, relative to the largest eigenvalue, that the rounding of the labels may cause
# where eigenvalues are compared with those that the labels give.
MAGNIFIED = 1e-9

LABELS = ("exact", "least_squares", "unfitted")


class Network(StudyArrays):
    """One network with its ``p`` eigenvalues, ascending, from theory and from numbers."""

    sizes = Stored("sizes", integers)  # the widths d_0, ..., d_L

    @property
    def ends_are_narrowest(self) -> bool:
        """Whether no layer is narrower than the first and the last: then the print is right."""
        return max(self.sizes[0], self.sizes[-1]) == min(self.sizes)

    # How many eigenvalues are not zero, r d_0 + r d_L − r² with r = min(d_0, ..., d_L).
    count = Stored("count", int)
    printed_count = Stored("printed_count", int)  # how many these are in print, r²

    def beyond(self, count: int) -> int:
        """By how many the numerical eigenvalues that are not zero exceed a count."""
        numeric = self["hessian_exact"]
        return max(0, int((numeric > ZERO * numeric[-1]).sum()) - count)

    @property
    def magnified(self) -> float:
        """What the rounding of the labels makes of their smallest singular value's eigenvalues.

        The labels' singular values σ have an error of ε times the largest, σ_1, and an eigenvalue
        that goes with σ^{2/L} one of ε (σ/σ_1)^{2/L − 1}. That quotient follows from the smallest
        eigenvalue that is not zero, (σ/σ_1)^{2(1 − 1/L)} of the largest.
        """
        depth = len(self.sizes) - 1
        if depth <= 2:
            return float(np.finfo(float).eps)
        spectrum = self["from_weights"]
        smallest = max(float(spectrum[-self.count] / spectrum[-1]), np.finfo(float).tiny)
        return float(np.finfo(float).eps * smallest ** ((2 - depth) / (2 * depth - 2)))

    def error(self, exact: str, numeric: str) -> float:
        """The error of a whole spectrum, relative to its largest eigenvalue.

        Args:
            exact: the array of the closed form.
            numeric: the array of the numerical side.
        """
        return float(spectrum_error(self[exact], self[numeric]))

    def sharpness_error(self, exact: str, numeric: str) -> float:
        """The relative error of a prediction of the largest eigenvalue of a numerical spectrum."""
        return abs(float(self[exact] / self[numeric][-1]) - 1)

    @property
    def trace_error(self) -> float:
        """The largest relative error of the trace, of three kinds of labels."""
        return max(abs(float(self[f"trace_{kind}"] / self["trace"]) - 1) for kind in LABELS)

    @property
    def outside_eigenspace(self) -> float:
        """How much of a top eigenvector by Lanczos' method is outside its eigenspace, at most.

        1 − ‖Vᵀ q‖, with V the closed form's eigenvectors whose eigenvalues are close to q's.
        """
        vectors = self.closed_form["top_vectors"]
        values = self["from_weights"][-vectors.shape[1] :]
        worst = 0.0
        for value, vector in zip(self["top"], self.numerics["top_vectors"].T, strict=True):
            near = np.abs(values - value) < CLOSE * values[-1]
            worst = max(worst, 1 - float(np.linalg.norm(vectors[:, near].T @ vector)))
        return worst


class Reading(StudyArrays):
    """The networks of a study, in the order of its configuration."""

    @cached_property
    def networks(self) -> list[Network]:
        """All networks."""
        numbers = sorted(int(name.split("/")[0]) for name in self.closed_form if "/sizes" in name)
        return [self.part(str(number), Network) for number in numbers]

    @cached_property
    def with_clear_labels(self) -> "Reading":
        """The networks whose labels tell all their singular values.

        Raises:
            NothingToMeasure: there is none.
        """
        suited = [network for network in self.networks if network.magnified <= MAGNIFIED]
        if not suited:
            raise NothingToMeasure(
                "this configuration has no network whose labels tell its smallest singular values: "
                "their powers with the depth are lost in rounding"
            )
        reading = Reading(self.sides, self._folder)
        reading.networks = suited
        return reading

    @property
    def with_narrowest_ends(self) -> list[Network]:
        """The networks for which the indices in print are all there are.

        Raises:
            NothingToMeasure: there is none.
        """
        suited = [network for network in self.networks if network.ends_are_narrowest]
        if not suited:
            raise NothingToMeasure(
                "this configuration has no network whose first and last layers are the narrowest"
            )
        return suited

    def worst(self, quantity: Callable[[Network], Any]) -> float:
        """The largest value that a quantity has for one of the networks."""
        return max(float(quantity(network)) for network in self.networks)

    def error(self, exact: str, numeric: str) -> float:
        """The largest error of a whole spectrum over the networks, see :meth:`Network.error`."""
        return self.worst(lambda network: network.error(exact, numeric))

    def sharpness_error(self, exact: str, numeric: str) -> float:
        """The largest error over the networks, see :meth:`Network.sharpness_error`."""
        return self.worst(lambda network: network.sharpness_error(exact, numeric))
