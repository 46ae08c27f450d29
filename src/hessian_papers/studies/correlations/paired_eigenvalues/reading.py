"""Pairs of eigenvalues that sum to nearly tr(H)/D, as figure and claims read them."""

import math
from functools import cached_property

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, wilson
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored

ASSUMED = "orthogonal-decorrelated"  # the theorem's case
# Jittered spectra that come at least as close, in at most this share of them: hardly chance.
LEVEL = 0.05
CONFIDENCE = 2.5758  # standard deviations: 99 %
FLAT = "this configuration has no network with a Hessian other than zero"
ONE_PAIR = "this configuration has no network with two pairs of eigenvalues"


def median(values: np.ndarray) -> Estimate:
    """The median of values ``(k,)``, between two of them in order (99 %).

    Example:
        >>> median(np.array([3.0, 1.0, 2.0]))
        Estimate(value=2.0, low=1.0, high=3.0)
    """
    ordered = np.sort(values)
    half_width = CONFIDENCE * math.sqrt(len(ordered)) / 2
    low = max(math.floor(len(ordered) / 2 - half_width), 0)
    high = min(math.ceil(len(ordered) / 2 + half_width), len(ordered) - 1)
    return Estimate(float(np.median(ordered)), float(ordered[low]), float(ordered[high]))


class Reading(StudyArrays):
    """The distances |λ_i + λ_j − tr(H)/D| of ``P`` points (case, width, D) of ``N`` networks each.

    A case is ``<parametrisation>-<data>``. What a configuration leaves out raises
    ``NothingToMeasure``. A flat network, whose ReLUs are all off and whose Hessian is zero, has no
    distances.
    """

    depth = Stored("depth", int)  # the networks' number of layers
    activation = Stored("activation", str)  # ``linear`` or ``relu``

    @cached_property
    def case(self) -> np.ndarray:
        """The case of each point, ``(P,)``."""
        return np.char.add(np.char.add(self["parametrisation"], "-"), self["data"])

    @property
    def cases(self) -> list[str]:
        """The cases, in the order of the points."""
        return list(dict.fromkeys(self.case.tolist()))

    @property
    def beyond(self) -> list[str]:
        """The cases of which no theorem says that a pair sums to tr(H)/D."""
        proved = self.activation == "linear" and self.depth == 2
        return [case for case in self.cases if not (proved and case == ASSUMED)]

    @property
    def widths(self) -> list[int]:
        """The widths, in the order of the points."""
        return list(dict.fromkeys(self["width"].tolist()))

    def at(self, points: np.ndarray, what: str) -> "Reading":
        """The quantities of some points.

        Args:
            points: ``(P,)`` which.
            what: they are, for the message.

        Raises:
            NothingToMeasure: there are none.
        """
        if not points.any():
            raise NothingToMeasure(f"this configuration leaves out {what}")
        sides = {
            name: {key: array[points] if array.ndim else array for key, array in arrays.items()}
            for name, arrays in (("closed_form", self.closed_form), ("numerics", self.numerics))
        }
        return Reading(sides)

    def of(self, *cases: str, least: int = 1) -> "Reading":
        """The points of some cases that have at least so many inputs."""
        points = np.isin(self.case, cases) & (self["size"] >= least)
        inputs = f" with D of at least {least}" if least > 1 else ""
        return self.at(points, f"{' and '.join(cases) or 'what is beyond the assumptions'}{inputs}")

    def panel(self, case: str, width: int) -> "Reading":
        """The points of one case and width."""
        points = (self.case == case) & (self["width"] == width)
        return self.at(points, f"{case} at width {width}")

    @property
    def curved(self) -> np.ndarray:
        """The networks that are not flat, ``(P, N)``."""
        return np.asarray(self["largest"] > 0)

    @property
    def rounding(self) -> np.ndarray:
        """Float64's unit of the largest eigenvalue, ``(P, N)``."""
        return np.asarray(np.finfo(np.float64).eps * self["largest"])

    @property
    def distances(self) -> np.ndarray:
        """The smallest and the second smallest, no smaller than rounding, ``(P, N, 2)``.

        Neither an axis in logarithms nor a ratio has a place for a distance of zero. NaN for flat
        networks, infinite where there is no second pair.
        """
        values = np.maximum(self.numerics["distance"], self.rounding[..., None])
        return np.where(self.curved[..., None], values, np.nan)

    @property
    def ratios(self) -> np.ndarray:
        """The second smallest distance over the smallest, ``(k,)`` of those that have both."""
        smallest, second = np.moveaxis(self.distances, -1, 0)
        both = np.isfinite(second)
        if not both.any():
            raise NothingToMeasure(ONE_PAIR)
        return np.asarray(second[both] / smallest[both])

    @property
    def known(self) -> np.ndarray:
        """The points whose spectrum is known, ``(P,)``."""
        return ~np.isnan(self.closed_form["distance"]).any(axis=(1, 2))

    def worst(self, errors: np.ndarray) -> float:
        """The largest of errors ``(P, N)`` over the network's largest eigenvalue, if it has one."""
        return float(np.max(errors / np.where(self.curved, self["largest"], 1.0)))

    def furthest(self, yardstick: str) -> Estimate:
        """The median of the smallest distance, at the point where it is largest.

        Args:
            yardstick: what it is divided by, ``target``, that is tr(H)/D, or ``mean``, the mean
                eigenvalue.

        Raises:
            NothingToMeasure: all Hessians are zero.
        """
        if not self.curved.any():
            raise NothingToMeasure(FLAT)
        distance, unit = self.numerics["distance"][..., 0], self.numerics[yardstick]
        rows = zip(distance, unit, self.curved, strict=True)
        return max(median(d[some] / u[some]) for d, u, some in rows if some.any())

    def share_beyond_chance(self) -> Estimate:
        """The share of networks whose best pair is beyond chance, with Wilson's 99 % interval.

        Few jittered spectra match it; of flat networks nothing is said.
        """
        if not self.curved.any():
            raise NothingToMeasure(FLAT)
        distance, chance = self.numerics["distance"][self.curved, 0], self["chance"][self.curved]
        matched = np.count_nonzero(chance <= distance[..., None], axis=-1)
        closer = (1 + matched) / (1 + chance.shape[-1]) <= LEVEL
        return wilson(float(closer.mean()), closer.size, CONFIDENCE)
