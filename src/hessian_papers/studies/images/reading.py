"""What figures and claims of image networks read: one through its training, the worst of all."""

from collections.abc import Iterable
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored
from hessian_spectra.files import Arrays

# Which epochs are early: those with more than this part of the loss that training can remove.
EARLY = 0.5
GROWTH = (
    "Under gradient flow Σ‖W_l‖² changes at the rate −2L⟨f(X), f(X) − Y⟩/n. It falls while the "
    "outputs are larger than what they have in common with the labels, as random outputs of some "
    "size are; from a start so small that the labels decide the sign (balanced layers with "
    "singular values of 0.01 to 0.05, say) the weights may grow from the first epoch on."
)


class TrainedNetwork(StudyArrays):
    """The arrays of one network, with its ``t`` recorded epochs first."""

    # The recorded epochs ``(t,)``, the same on both sides.
    epoch = Stored("epoch", np.asarray, side="closed_form")
    source = Stored("source", str)  # the image set on which it was trained

    @property
    def excess_loss(self) -> np.ndarray:
        """The loss above that of least squares, below which no linear network comes, ``(t,)``."""
        return np.asarray(np.maximum(self["loss"] - self["floor"], 0.0))

    @property
    def relative_excess(self) -> np.ndarray:
        """The excess relative to the start's, ``(t,)``."""
        return quotient(self.excess_loss, self.excess_loss[0])

    @property
    def early(self) -> np.ndarray:
        """Which epochs are early, the start among them, ``(t,)``."""
        return np.asarray(self.relative_excess > EARLY)

    def early_fall(self, values: np.ndarray) -> float:
        """The lowest early value over the start's, less 1.

        Raises:
            NothingToMeasure: of the recorded epochs only the start is early.
        """
        later = self.early
        later[0] = False
        if not later.any():
            raise NothingToMeasure("this configuration records no early epoch beside the start")
        return float(quotient(values[later].min(), values[0]) - 1)


Network = TypeVar("Network", bound=TrainedNetwork)


class ThroughTraining(StudyArrays, Generic[Network]):
    """The arrays of networks that are looked at through their training, ``<number>/<name>``."""

    network: type[Network]

    @cached_property
    def networks(self) -> list[Network]:
        """Each network, in the order in which they were trained.

        Raises:
            ValueError: the sides are not of the same networks and epochs.
        """
        exact, numeric = _by_number(self.closed_form), _by_number(self.numerics)
        if exact.keys() != numeric.keys():
            raise ValueError(
                f"expected the same networks on both sides, got {len(exact)} and {len(numeric)}: "
                "run both stages of the study"
            )
        for number, item in exact.items():
            if not np.array_equal(item["epoch"], numeric[number]["epoch"]):
                raise ValueError(
                    f"network {number}: expected the same epochs on both sides, got "
                    f"{item['epoch'].tolist()} and {numeric[number]['epoch'].tolist()}"
                )
        return [
            self.network({"closed_form": exact[i], "numerics": numeric[i]}, self._folder)
            for i in sorted(exact)
        ]

    @property
    def image_sets(self) -> dict[str, list[Network]]:
        """The networks by image set, in their order."""
        sets: dict[str, list[Network]] = {}
        for network in self.networks:
            sets.setdefault(network.source, []).append(network)
        return sets


def _by_number(arrays: Arrays) -> dict[int, Arrays]:
    entries: dict[int, Arrays] = {}
    for name, array in arrays.items():
        number, _, field = name.partition("/")
        entries.setdefault(int(number), {})[field] = array
    return entries


def mean_at_each(places: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places, ascending, and the mean of the finite values at each, ``(places,)`` both.

    Example:
        >>> places, means = mean_at_each(np.array([2, 1, 2]), np.array([3.0, np.nan, 5.0]))
        >>> places.tolist(), means.tolist()
        ([2], [4.0])
    """
    groups = {at: values[(places == at) & np.isfinite(values)] for at in np.unique(places)}
    groups = {at: chosen for at, chosen in groups.items() if chosen.size}
    return np.array(list(groups)), np.array([chosen.mean() for chosen in groups.values()])


def quotient(over: np.ndarray | float, under: np.ndarray | float) -> np.ndarray:
    """One array over another, NaN where that is zero.

    Example:
        >>> quotient(np.array([1.0, 2.0]), np.array([2.0, 0.0])).tolist()
        [0.5, nan]
    """
    nothing = np.full(np.broadcast_shapes(np.shape(over), np.shape(under)), np.nan)
    return np.divide(over, under, out=nothing, where=np.asarray(under) != 0)


def worst(values: Iterable[float | np.ndarray]) -> float:
    """The largest finite value.

    Raises:
        NothingToMeasure: there is none.
    """
    return max(_finite(values))


def least(values: Iterable[float | np.ndarray]) -> float:
    """The smallest finite value.

    Raises:
        NothingToMeasure: there is none.
    """
    return min(_finite(values))


def _finite(values: Iterable[float | np.ndarray]) -> list[float]:
    finite = [float(value) for value in values if np.isfinite(value)]
    if not finite:
        raise NothingToMeasure("this configuration has no networks of which that can be said")
    return finite
