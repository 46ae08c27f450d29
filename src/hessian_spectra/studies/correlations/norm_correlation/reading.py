"""Correlations and differences of them, as figure and claims read them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hessian_spectra.ledger.bounds import Estimate, NothingToMeasure
from hessian_spectra.studies.correlations.reading import EnsembleReading

# Up to this ratio of their entries two matrices count as initialised with similar magnitude.
SIMILAR = 1.5


class Line(NamedTuple):
    """A statistic at each position with its interval, ``(x,)`` each; NaN where not defined."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Reading(EnsembleReading):
    """What correlates with the sharpness or the trace: factors W_b, products, alignments by norms.

    The factors of the first group are addressed by their layer b. What a configuration leaves out,
    or what is not defined in it, raises ``NothingToMeasure``.
    """

    @property
    def groups(self) -> list[str]:
        """``matrices``, ``products`` or ``alignments``: the first is held against the second."""
        return [str(name) for name in self["quantities"]]

    @property
    def norms(self) -> list[str]:
        """The norms that the study takes."""
        return [str(name) for name in self["norm"]]

    @property
    def highlighted(self) -> str:
        """The norm that the paper singles out."""
        return str(self["highlighted"])

    @property
    def layers(self) -> list[int]:
        """The layers of the first group's factors; 0 is that of the alignment."""
        return [int(layer) for layer in self["layer"][self["group"] == self.groups[0]]]

    def two_layers(self, *groups: str) -> "Reading":
        """Itself, if it is of two-layer networks over their sizes, of these groups in this order.

        Raises:
            NothingToMeasure: it is not.
        """
        self.require_two_layers()
        return self._with(groups)

    def deep(self, *groups: str) -> "Reading":
        """Itself, if it is of networks of several depths, of these groups in this order.

        Raises:
            NothingToMeasure: it is not.
        """
        if self.along != "depth":
            raise NothingToMeasure("this configuration is not one of several depths")
        return self._with(groups)

    def _with(self, groups: tuple[str, ...]) -> "Reading":
        if tuple(self.groups[: len(groups)]) != groups:
            asked = ", and then ".join(groups)
            raise NothingToMeasure(f"this configuration does not study {asked}")
        return self

    def _factor(self, layer: int | np.ndarray) -> np.ndarray:
        """Where the first group's factors of some layers stand."""
        missing = np.setdiff1d(layer, self.layers)
        if len(missing):
            raise NothingToMeasure(f"this configuration leaves out layer {missing[0]}")
        # The first group comes first, in the order of its layers.
        return np.asarray(np.searchsorted(self.layers, layer))

    def line(
        self, statistic: str, parametrisation: str, time: str, **of: int | str | np.ndarray
    ) -> Line:
        """A statistic at each position.

        Args:
            statistic: for example ``best_norm_lead``.
            parametrisation: its row.
            time: ``initialisation`` or ``trained``.
            of: what else it has: ``layer`` of the first group, or one for each position, ``(x,)``;
                ``norm`` and ``other``, the norm that it is compared with.
        """
        positions = np.arange(len(self["position"]))
        return self._line(statistic, parametrisation, positions, time, of)

    def mean(
        self, statistic: str, parametrisation: str, time: str, region: str = "all", **of: int | str
    ) -> Estimate:
        """A statistic's mean over the positions of a region; the rest as for :meth:`line`.

        Raises:
            NothingToMeasure: the region is empty, or the statistic is not defined in it, as that
                of two norms of one vector.
        """
        self._require_region(parametrisation, region)
        where = np.array([self.place("region", region)])
        return self._estimate(self._line(f"mean_{statistic}", parametrisation, where, time, of), 0)

    def _line(
        self,
        statistic: str,
        parametrisation: str,
        where: np.ndarray,
        time: str,
        of: Mapping[str, Any],
    ) -> Line:
        """A statistic with its interval, at some places of its second axis."""
        row, when = self.place("parametrisation", parametrisation), self.place("time", time)
        index: list[Any] = [row, where, when]
        index += [self._factor(of["layer"])] if "layer" in of else []
        index += [self.place("norm", of[name]) for name in ("norm", "other") if name in of]
        return Line(*(self[statistic + suffix][tuple(index)] for suffix in ("", "_low", "_high")))

    def _estimate(self, line: Line, position: int) -> Estimate:
        if not np.isfinite(line.value[position]):
            raise NothingToMeasure(f"this configuration has no {self.along} at which it is defined")
        return Estimate(*(float(numbers[position]) for numbers in line))

    def _require_region(self, parametrisation: str, region: str) -> None:
        """The regions of larger first matrices stand for the largest of all where there is none."""
        ratio = self.of(parametrisation, "magnitude_ratio")
        if "larger" in region and not (ratio > SIMILAR).any():
            raise NothingToMeasure(
                f"this configuration has no {self.along} at which the entries of the first matrix "
                f"are more than {SIMILAR} times those of the last"
            )
        if "less" in region and len(ratio) == 1:
            raise NothingToMeasure(f"this configuration has no second {self.along} to compare with")

    def by_norm(self, parametrisation: str, time: str, region: str = "all") -> list[Estimate]:
        """The mean correlation of the first group's best factor, by each norm."""
        return [
            self.mean("best_correlation", parametrisation, time, region=region, norm=norm)
            for norm in self.norms
        ]

    def by_layer(self, parametrisation: str, time: str, norm: str) -> list[Estimate]:
        """The mean correlation of each of the first group's factors."""
        return [
            self.mean("correlation", parametrisation, time, norm=norm, layer=layer)
            for layer in self.layers
        ]

    def of_the_last(self, parametrisation: str, time: str, norm: str) -> list[Estimate]:
        """The correlation of the last layer's factor, at each depth."""
        depths = self["position"]
        line = self.line("correlation", parametrisation, time, norm=norm, layer=depths)
        return [self._estimate(line, position) for position in range(len(depths))]

    def leads_of_the_last(self, time: str, norm: str) -> list[Estimate]:
        """By how much the last layer's factor leads, at all positions where that is defined."""
        lines = [self.line("last_lead", name, time, norm=norm) for name in self.parametrisations]
        found = [
            self._estimate(line, position)
            for line in lines
            for position in np.flatnonzero(np.isfinite(line.value)).tolist()
        ]
        if not found:
            raise NothingToMeasure(f"this configuration has no {self.along} at which it is defined")
        return found

    def two_layer_difference(self) -> float:
        """How far r of a matrix and r of the product without the other are apart at depth 2."""
        r = self["correlation"][:, self.place("position", 2)]
        matrices, products = (
            r[:, :, [self._of_group(group, layer) for layer in layers]]
            for group, layers in (("matrices", (1, 2)), ("products", (2, 1)))
        )
        errors = np.abs(matrices - products)
        if not np.isfinite(errors).any():
            raise NothingToMeasure("this configuration has no correlations at depth 2")
        return float(np.nanmax(errors))

    def _of_group(self, group: str, layer: int) -> int:
        return int(np.flatnonzero((self["group"] == group) & (self["layer"] == layer))[0])


def smallest(estimates: list[Estimate]) -> Estimate:
    """The estimate with the smallest value, the first of equal ones."""
    return min(estimates, key=lambda estimate: estimate.value)


def largest(estimates: list[Estimate]) -> Estimate:
    """The estimate with the largest value, the first of equal ones."""
    return max(estimates, key=lambda estimate: estimate.value)


def distance_from(centre: float, estimate: Estimate) -> Estimate:
    """How far an estimate is from a value, with the interval of that distance."""
    nearest, furthest = sorted((abs(estimate.low - centre), abs(estimate.high - centre)))
    inside = estimate.low <= centre <= estimate.high
    return Estimate(abs(estimate.value - centre), 0.0 if inside else nearest, furthest)
