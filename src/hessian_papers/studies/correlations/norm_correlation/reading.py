"""Correlations and differences of them, as figure and claims read them."""

from typing import Any, NamedTuple

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.correlations.norm_correlation.regions import SIMILAR
from hessian_papers.studies.correlations.reading import EnsembleReading
from hessian_papers.studies.stored import Stored, texts

# Stands for the last layer of each depth.
LAST = -1
COMPARED = {"norm": "norms", "group": "groups of factors", "lead": "factors"}  # by a part of a name


class Line(NamedTuple):
    """A statistic with its interval, at the positions where it is defined, ``(d,)`` each."""

    position: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Reading(EnsembleReading):
    """What correlates with the sharpness or the trace: factors W_b, products, alignments by norms.

    The factors of the first group are addressed by their layer b. What a configuration leaves out,
    or what is not defined in it, raises ``NothingToMeasure``.
    """

    # ``matrices``, ``products`` or ``alignments``: the first is held against the second.
    groups = Stored("quantities", texts)
    norms = Stored("norm", texts)  # the norms that the study takes
    highlighted = Stored("highlighted", str)  # the norm that the paper singles out

    @property
    def layers(self) -> list[int]:
        """The layers of the first group's factors; 0 is that of the alignment."""
        return [int(layer) for layer in self["layer"][self["group"] == self.groups[0]]]

    def two_layers(self, *groups: str, target: str | None = "sharpness") -> "Reading":
        """Itself, if of two layers over sizes, of these groups first, held against that target."""
        self.require_two_layers()
        return self._with(groups, target)

    def deep(self, *groups: str, target: str | None = "sharpness") -> "Reading":
        """Itself, if of networks of several depths, of these groups first, against that target."""
        if self.along != "depth":
            raise NothingToMeasure("this configuration is not one of several depths")
        return self._with(groups, target)

    def _with(self, groups: tuple[str, ...], target: str | None) -> "Reading":
        if target not in (None, self["target"]):
            raise NothingToMeasure(f"this configuration studies the {self['target']} instead")
        if tuple(self.groups[: len(groups)]) != groups:
            raise NothingToMeasure(f"this configuration does not study {', then '.join(groups)}")
        return self

    def _factor(self, layer: int) -> np.ndarray:
        """Where the first group's factor of a layer stands; of ``LAST``, at each position."""
        wanted = self["position"] if layer == LAST else layer
        missing = np.setdiff1d(wanted, self.layers)
        if len(missing):
            raise NothingToMeasure(f"this configuration leaves out layer {missing[0]}")
        # The first group comes first, in the order of its layers.
        return np.asarray(np.searchsorted(self.layers, wanted))

    def _index(
        self, parametrisation: str, time: str, layer: int | None, norms: dict[str, str]
    ) -> list[Any]:
        return [
            self.place("parametrisation", parametrisation),
            np.arange(len(self["position"])),
            self.place("time", time),
            *([] if layer is None else [self._factor(layer)]),
            *(self.place("norm", norm) for norm in norms.values()),
        ]

    def _statistic(
        self, name: str, parametrisation: str, time: str, layer: int | None = None, **norms: str
    ) -> np.ndarray:
        """A statistic and the ends of its interval at each position or, of a mean, each region."""
        index = self._index(parametrisation, time, layer, norms)
        index[1] = np.arange(self[name].shape[1])
        return np.stack([self[name + suffix][tuple(index)] for suffix in ("", "_low", "_high")])

    def line(self, statistic: str, parametrisation: str, time: str, **of: Any) -> Line:
        """A statistic along the positions.

        Args:
            statistic: for example ``best_norm_lead``.
            parametrisation: its row.
            time: ``initialisation`` or ``trained``.
            of: what else it has: ``layer`` of the first group, or ``LAST``; ``norm``, and
                ``other``, the norm that it is compared with, in this order.
        """
        statistics = self._statistic(statistic, parametrisation, time, **of)
        defined = np.isfinite(statistics[0])
        return Line(self["position"][defined], *statistics[:, defined])

    def each_teacher(self, lead: str, parametrisation: str, time: str, **norm: str) -> np.ndarray:
        """A lead over the networks of each teacher alone, ``(T, x)``."""
        index = self._index(parametrisation, time, None, norm)
        return np.asarray(self[f"each_{lead}"][(slice(None), *index)])

    def along_positions(self, statistic: str, *cases: str, time: str, **of: Any) -> list[Estimate]:
        """A statistic at all positions where it is defined, under some parametrisations."""
        lines = [self.line(statistic, name, time, **of) for name in cases]
        estimate = [
            Estimate(*map(float, each)) for _, *line in lines for each in np.transpose(line)
        ]
        if not estimate:
            raise self._undefined(statistic)
        for name in cases:
            self.require_finished(name, time)
        return estimate

    def mean(
        self, statistic: str, parametrisation: str, time: str, region: str = "all", **of: Any
    ) -> Estimate:
        """A statistic's mean over the positions of a region; the rest as for :meth:`line`.

        Raises:
            NothingToMeasure: the region is empty, or the statistic is not defined in it, as that
                of two norms of one vector.
        """
        self._require_region(parametrisation, region)
        self.require_finished(parametrisation, time)
        statistics = self._statistic(f"mean_{statistic}", parametrisation, time, **of)
        mean = Estimate(*statistics[:, self.place("region", region)].tolist())
        if not np.isfinite(mean.value):
            raise self._undefined(statistic)
        return mean

    def _undefined(self, statistic: str) -> NothingToMeasure:
        compared = [text for part, text in COMPARED.items() if part in statistic]
        what = f"correlations of two {compared[0]} differ" if compared else "one is defined"
        return NothingToMeasure(f"this configuration has no {self.along} at which {what}")

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
        of = "best_correlation", parametrisation, time, region
        return [self.mean(*of, norm=norm) for norm in self.norms]
