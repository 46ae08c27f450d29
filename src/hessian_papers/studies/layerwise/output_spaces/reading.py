"""Output Hessians beside what is predicted of them, as figure and claims read them."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, mean_of
from hessian_papers.studies.layerwise.reading import FIRST, LayersReading


class Reading(LayersReading):
    """Quantities of A architectures, S seeds, E epochs and at most L layers."""

    def hidden(self, name: str, network: str, epoch: int) -> np.ndarray:
        """The quantity of all layers but the last, of which everything is exact.

        Raises:
            NothingToMeasure: it is not known of all of them.
        """
        values = self.of(name, network, epoch)[:, :-1]
        if not np.isfinite(values).all():
            raise NothingToMeasure(f"{network} has layers of fewer outputs than classes")
        return values

    def printed_space(self, network: str, epoch: int) -> np.ndarray:
        """Overlaps with the rows of S without their sum, by the better of the two readings."""
        return self.hidden(self.better_reading(network, epoch), network, epoch)

    def better_reading(self, network: str, epoch: int) -> str:
        """The reading of "without their sum" that is nearer, over all layers but the last."""
        readings = ("rows", "complement")
        return max(readings, key=lambda name: self.hidden(name, network, epoch).mean())

    def initial(self, name: str, network: str) -> np.ndarray:
        """A quantity of all layers but the last before training, ``(S, layers)``.

        Raises:
            NothingToMeasure: those weights are not kept.
        """
        self.require_start()
        return self.hidden(name, network, FIRST)

    def last_layer(self) -> float:
        """How far the last layer is from what holds of it exactly, at most."""
        worst = []
        for place, layers in enumerate(self["layer"]):
            last = int((layers != "").sum()) - 1
            errors = [self[name][place, ..., last] for name in ("printed_error", "jacobian_error")]
            overlaps = [1 - self[name][place, ..., last] for name in ("rows", "jacobian")]
            worst += [np.abs(part).max() for part in (*errors, *overlaps)]
        return float(np.max(worst))


def largest(values: np.ndarray) -> Estimate:
    """The mean over seeds in the layer where it is largest, ``(S, layers)``."""
    return _of_layer(values, int(values.mean(axis=0).argmax()))


def smallest(values: np.ndarray) -> Estimate:
    """The mean over seeds in the layer where it is smallest, ``(S, layers)``."""
    return _of_layer(values, int(values.mean(axis=0).argmin()))


def _of_layer(values: np.ndarray, layer: int) -> Estimate:
    return mean_of(values[:, layer])
