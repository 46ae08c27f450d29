"""Mean gradients by class and score, as figure and claims read them."""

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.reading import FIRST, LAST, LayersReading


class Reading(LayersReading):
    """Quantities of A architectures, S seeds, E epochs and at most L layers."""

    @property
    def chance(self) -> float:
        """How many nearest neighbours are of the same score, or class, by chance."""
        count = int(self["classes"])
        return (count - 1) / (count**2 - 1)

    def hidden(self, name: str, network: str, epoch: int) -> np.ndarray:
        """The quantity of all layers but the last, whose outputs are the scores.

        Raises:
            NothingToMeasure: the first epoch is asked for, and those weights are not kept; or there
                is no later one.
        """
        if epoch == FIRST:
            self.require_start()
        if epoch == LAST and int(self["epoch"][LAST]) == 0:
            raise NothingToMeasure("this configuration keeps no weights from after training")
        return self.of(name, network, epoch)[:, :-1]

    def worst(self, name: str) -> float:
        """The largest of a number of all networks and layers."""
        return float(np.nanmax(self[name]))
