"""What figures and claims of layer-wise studies read: architectures and their layers."""

from typing import Any

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays

# Of which epochs figures and claims speak.
FIRST, LAST = 0, -1


class LayersReading(StudyArrays):
    """Quantities of A architectures, S seeds, E epochs and at most L layers."""

    @property
    def networks(self) -> list[str]:
        """The architectures that have a layer before the last which is spoken of."""
        return [name for name in self["network"].tolist() if len(self.layers(name)) > 1]

    def layers(self, network: str) -> list[str]:
        """The layers of an architecture, the last one last."""
        row = self["layer"][self["network"].tolist().index(network)]
        return [str(name) for name in row if name]

    def of(self, name: str, network: str, epoch: int) -> np.ndarray:
        """A quantity of the layers of an architecture, ``(S, layers)``."""
        place, count = self["network"].tolist().index(network), len(self.layers(network))
        return np.asarray(self[name][place, :, epoch, :count])

    def when(self, epoch: int) -> str:
        """How texts say an epoch."""
        number = int(self["epoch"][epoch])
        return f"after {number} epochs" if number else "before training"

    def require_start(self) -> None:
        """Require that the first epoch is that before training.

        Raises:
            NothingToMeasure: those weights are not kept.
        """
        if int(self["epoch"][FIRST]) != 0:
            raise NothingToMeasure("this configuration keeps no weights from before training")


def each_network(reading: Any) -> list[dict[str, str]]:
    """A case for each architecture."""
    return [{"network": name} for name in reading.networks]
