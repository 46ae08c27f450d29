"""What readings of studies share: single values and names in plain Python, places on axes."""

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays

Plain = TypeVar("Plain")


class Stored(Generic[Plain]):
    """An attribute of a reading: one of its arrays as it stands, or in plain Python.

    Args:
        name: of the array.
        plain: what is made of it, for example ``int`` or :func:`texts`.
        side: whose array it is, where both sides have one of that name.

    Example:
        >>> class Reading(StudyArrays):
        ...     networks = Stored("network", texts)
        >>> Reading({"numerics": {"network": np.array(["first", "second"])}}).networks
        ['first', 'second']
    """

    def __init__(self, name: str, plain: Callable[[np.ndarray], Plain], side: str = "") -> None:
        self._name, self._plain, self._side = name, plain, side

    def __get__(self, reading: StudyArrays, owner: type[StudyArrays]) -> Plain:
        held = reading.side(self._side) if self._side else reading
        return self._plain(held[self._name])


def texts(names: np.ndarray) -> list[str]:
    """Names ``(k,)`` as a list."""
    return [str(name) for name in names]


def integers(numbers: np.ndarray) -> list[int]:
    """Integers ``(k,)`` as a list."""
    return [int(number) for number in numbers]


class NamedArrays(StudyArrays):
    """Arrays with axes whose entries have names, which an array of the axis's own name holds."""

    def place(self, axis: str, name: str | int, what: str = "") -> int:
        """Where a name stands on an axis.

        Args:
            axis: its own name.
            name: of the entry.
            what: it is called in the message, if not as the axis.

        Raises:
            NothingToMeasure: it does not; the study leaves it out.
        """
        names = self[axis].tolist()
        if name not in names:
            raise NothingToMeasure(f"this configuration leaves out {what or axis} {name}")
        return int(names.index(name))
