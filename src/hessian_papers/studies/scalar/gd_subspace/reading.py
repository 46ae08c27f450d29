"""The bulk eigenspace under several optimizers, as figure and claims read it."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.trajectory import Trajectory

# Corollary 3.1 is proved for the first. The next ones move by linear combinations of iterates and
# gradients, so that the proof carries over; Adam's and a random initial velocity's does not.
PROVED = ("gradient_descent",)
EXTENDED = ("heavy_ball", "nesterov", "sgd", "weight_decay")
STAYING = PROVED + EXTENDED


class Training(Trajectory):
    """The network trained by one optimizer."""

    def where_resolved(self, name: str) -> np.ndarray:
        """A numerical array at those steps at which the bulk can be told from the outliers."""
        return np.asarray(self.numerics[name][self["resolved"]])


class Reading(StudyArrays):
    """The trainings of a study, by optimizer."""

    @cached_property
    def optimizers(self) -> dict[str, Training]:
        """All trainings."""
        return {name: self.part(name, Training) for name in self["optimizers"].tolist()}

    def largest(self, name: str, optimizers: Iterable[str], side: str = "closed_form") -> float:
        """The largest value of an array over some optimizers and all their steps."""
        return float(max(self.optimizers[o].side(side)[name].max() for o in optimizers))

    def lost_overlap(self) -> float:
        """Largest 1 − overlap of the numerical bulk spaces with the initial one, where resolved.

        Raises:
            NothingToMeasure: they are resolved nowhere.
        """
        lost = 1 - np.concatenate([self.optimizers[o].where_resolved("overlap") for o in STAYING])
        if not len(lost):
            raise NothingToMeasure(
                "this configuration has no step at which the bulk can be told from the outliers"
            )
        return float(lost.max())

    def error(self) -> float:
        """The largest error of a whole spectrum over all optimizers and steps."""
        return float(max(training.errors().max() for training in self.optimizers.values()))
