"""Output Hessians beside what is predicted of them, as figure and claims read them."""

import numpy as np

from hessian_spectra.ledger.bounds import Estimate, NothingToMeasure, mean_of
from hessian_spectra.results import StudyArrays

# Of which epochs figure and claims speak.
FIRST, LAST = 0, -1


class Reading(StudyArrays):
    """Quantities of A architectures, S seeds, E epochs and at most L layers."""

    @property
    def networks(self) -> list[str]:
        """The architectures that have a layer before the last which is spoken of."""
        names = self["network"].tolist()
        return [
            name for name, layers in zip(names, self["layer"], strict=True) if layers[1:2].any()
        ]

    def layers(self, network: str) -> list[str]:
        """The layers of an architecture, the last one last."""
        row = self["layer"][self["network"].tolist().index(network)]
        return [str(name) for name in row if name]

    def of(self, name: str, network: str, epoch: int) -> np.ndarray:
        """A quantity of the layers of an architecture, ``(S, layers)``."""
        place, count = self["network"].tolist().index(network), len(self.layers(network))
        return np.asarray(self[name][place, :, epoch, :count])

    def hidden(self, name: str, network: str, epoch: int) -> np.ndarray:
        """The same of all layers but the last, of which everything is exact.

        Raises:
            NothingToMeasure: it is not known of all of them.
        """
        found = self.of(name, network, epoch)[:, :-1]
        if not np.isfinite(found).all():
            raise NothingToMeasure(f"{network} has layers of fewer outputs than classes")
        return found

    def printed_space(self, network: str, epoch: int) -> np.ndarray:
        """Overlaps with the rows of S without their sum, by the better of the two readings."""
        both = [self.hidden(name, network, epoch) for name in ("rows", "complement")]
        return np.asarray(both[int(both[1].mean() > both[0].mean())])

    def initial(self, name: str, network: str) -> np.ndarray:
        """A quantity of all layers but the last before training, ``(S, layers)``.

        Raises:
            NothingToMeasure: those weights are not kept.
        """
        if int(self["epoch"][FIRST]) != 0:
            raise NothingToMeasure("this configuration keeps no weights from before training")
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
