"""The spectra of two networks over the scale of their inputs, as figure and claims read them."""

import itertools
from functools import cached_property
from typing import Literal

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.scalar.spectra import SpectraReading
from hessian_papers.studies.stored import Stored, integers

NETWORKS = ("first", "second")
TARGETS = ("fixed", "scaled")

Group = Literal["bulk", "outlier 1", "outlier 2"]
# What would be proportional to σ_x²; λ_2 is small and changes its sign.
PROPORTIONAL: tuple[Group, ...] = ("bulk", "outlier 1")
# The least share of λ_1 that a bulk may have for its own digits to count, and the least share of
# the sum of all |λ| that a trace may have.
LEAST_BULK, LEAST_TRACE = 1e-6, 1e-5


class Spectra(SpectraReading):
    """The spectra ``(s, 2m)`` of one network at all scales, with one way to treat the targets."""

    def group(self, name: Group, *, numeric: bool = False) -> np.ndarray:
        """Some of the eigenvalues: the bulk, λ_1 (the large outlier) or λ_2.

        Returns:
            ``(s, 2m − 2)`` for the bulk, else ``(s, 1)``.
        """
        select = self.select_numeric if numeric else self.select
        if name == "bulk":
            return select("bulk")
        small, large = np.hsplit(select("outlier"), 2)
        return np.asarray(large if name == "outlier 1" else small)


class Reading(StudyArrays):
    """Both networks, with the targets left alone (``fixed``) or scaled along with the inputs."""

    moments = Stored("second_moments", np.asarray)  # the values of σ_x², ``(s,)``, ascending
    widths = Stored("widths", integers)  # hidden units of both networks

    @cached_property
    def _spectra(self) -> dict[tuple[str, str], Spectra]:
        return {
            (network, targets): self.part(f"{network}_{targets}", Spectra)
            for network, targets in itertools.product(NETWORKS, TARGETS)
        }

    @property
    def everything(self) -> list[Spectra]:
        """The spectra of both networks and of both ways to treat the targets."""
        return list(self._spectra.values())

    def spectra(self, network: str, targets: str) -> Spectra:
        """The spectra of one network and one way to treat the targets."""
        return self._spectra[network, targets]

    def departure(self, name: Group, targets: str, *, numeric: bool = False) -> np.ndarray:
        """How far a group of eigenvalues is from proportional to σ_x², ``(s,)``.

        |(λ/σ_x²) / (λ/σ_x² at the largest σ_x²) - 1|, whichever of the networks gives more.
        """
        values = [self.spectra(n, targets).group(name, numeric=numeric)[:, 0] for n in NETWORKS]
        slopes = np.array(values) / self.moments
        return np.asarray(np.abs(slopes / slopes[:, -1:] - 1).max(axis=0))

    def trace_error(self) -> float:
        """The largest relative error of the trace σ_x²(‖w‖² + ‖v‖²), of all spectra.

        Raises:
            NothingToMeasure: each trace is the small difference of large eigenvalues.
        """
        errors = []
        for (network, _), spectra in self._spectra.items():
            trace = self.moments * self["squared_norms"][NETWORKS.index(network)]
            numeric = spectra.numerics["eigenvalues"]
            kept = trace > LEAST_TRACE * np.abs(numeric).sum(axis=1)
            errors.append(np.abs((numeric.sum(axis=1) / trace - 1)[kept]))
        values = np.concatenate(errors)
        if not values.size:
            raise NothingToMeasure(
                "this configuration has no network whose trace stands out of the rounding of its "
                "eigenvalues: the weights are too small beside E[yx]"
            )
        return float(values.max())

    def proportional_departure(self) -> float:
        """The largest departure with targets scaled along.

        Raises:
            NothingToMeasure: rounding hides how a bulk scales.
        """
        for network in NETWORKS:
            bulk, large = (
                np.abs(self.spectra(network, "scaled").group(name, numeric=True)[:, -1])
                for name in PROPORTIONAL
            )
            if not (bulk > LEAST_BULK * large).all():
                raise NothingToMeasure(
                    "this configuration has a bulk below 1e-6 of λ_1, whose rounding hides how it "
                    "scales"
                )
        return self.largest_departure("scaled")

    def largest_departure(self, targets: str) -> float:
        """The largest departure from proportionality of the numerical λ_1 and bulk."""
        values = [self.departure(name, targets, numeric=True) for name in PROPORTIONAL]
        return float(np.max(values))
