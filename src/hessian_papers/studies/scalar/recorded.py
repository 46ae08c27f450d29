"""What studies read of a training that was recorded: the network at each of its steps."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.files import Arrays


class State(NamedTuple):
    """A network at a recorded step of its training.

    Attributes:
        place: of the step among those of the training.
        labels: the name of the training and ``step``.
        facts: ``loss``, and what was kept of the training as a whole, by name.
        v: the weights of the first layer.
        w: the weights of the second layer.
    """

    place: int
    labels: Arrays
    facts: Arrays
    v: Tensor
    w: Tensor


def states_of_trainings(networks: Arrays, axis: str, names: list[str]) -> Iterator[State]:
    """All recorded steps of trainings, one training after another.

    Args:
        networks: what was kept of each, ``<name>/...``.
        axis: the label of its name.
        names: of the trainings.
    """
    for name in names:
        arrays = {
            key.removeprefix(f"{name}/"): array
            for key, array in networks.items()
            if key.startswith(f"{name}/")
        }
        yield from states_of_training({axis: np.array(name)}, arrays)


def states_of_training(labels: Arrays, arrays: Arrays) -> Iterator[State]:
    """All recorded steps of one training.

    Args:
        labels: of the training; empty for a study's only one.
        arrays: what was kept of it.
    """
    for place in range(len(arrays["step"])):
        facts = {
            name: np.asarray(array[place]) if array.ndim else array
            for name, array in arrays.items()
        }
        v, w = (torch.from_numpy(facts.pop(name)) for name in "vw")
        yield State(place, labels | {"step": facts.pop("step")}, facts, v, w)
