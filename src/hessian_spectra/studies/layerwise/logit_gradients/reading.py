"""Mean gradients by class and score, as figure and claims read them."""

import numpy as np

from hessian_spectra.ledger.bounds import Estimate, NothingToMeasure, mean_of
from hessian_spectra.results import StudyArrays

FIRST, LAST = 0, -1


class Reading(StudyArrays):
    """Quantities of A architectures, S seeds, E epochs and at most L layers."""

    @property
    def networks(self) -> list[str]:
        """The architectures that have a layer before the last."""
        names = self["network"].tolist()
        return [name for name in names if len(self.layers(name)) > 1]

    def layers(self, network: str) -> list[str]:
        """The layers of an architecture, the last one last."""
        row = self["layer"][self["network"].tolist().index(network)]
        return [str(name) for name in row if name]

    @property
    def chance(self) -> float:
        """How many nearest neighbours are of the same score, or class, by chance."""
        count = int(self["classes"])
        return (count - 1) / (count**2 - 1)

    def of(self, name: str, network: str, epoch: int) -> np.ndarray:
        """A number of the layers of an architecture, ``(S, layers)``."""
        place, count = self["network"].tolist().index(network), len(self.layers(network))
        return np.asarray(self[name][place, :, epoch, :count])

    def hidden(self, name: str, network: str, epoch: int) -> np.ndarray:
        """The same of all layers but the last, whose outputs are the scores.

        Raises:
            NothingToMeasure: the first epoch is asked for, and those weights are not kept; or there
                is no later one.
        """
        if epoch == FIRST and int(self["epoch"][FIRST]) != 0:
            raise NothingToMeasure("this configuration keeps no weights from before training")
        if epoch == LAST and int(self["epoch"][LAST]) == 0:
            raise NothingToMeasure("this configuration keeps no weights from after training")
        return self.of(name, network, epoch)[:, :-1]

    def worst(self, name: str) -> float:
        """The largest of a number of all networks and layers."""
        return float(np.nanmax(self[name]))


def over_seeds(values: np.ndarray) -> Estimate:
    """The mean over seeds ``(S,)`` with Student's interval."""
    return mean_of(values)
