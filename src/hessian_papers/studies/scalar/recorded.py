"""Trainings that were recorded: what is kept of them, and the network at each of their steps."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from hessian_papers.labelled import Variables, arrays_of, assembled
from hessian_papers.studies.trainings import training
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


def recorded_trainings(axis: str, trainings: Mapping[str, Arrays], variables: Variables) -> Arrays:
    """What was recorded of trainings, along ``axis`` and ``step``, NaN where one had ended.

    Args:
        axis: the label of their names.
        trainings: by name, what was recorded of each.
        variables: what is declared of all of them.
    """
    parts = [
        {axis: np.array(name), **arrays}
        for name, recorded in trainings.items()
        for arrays in _steps(recorded)
    ]
    return arrays_of(assembled(parts, variables, (axis, "step")))


def _steps(recorded: Arrays) -> Iterator[Arrays]:
    """The arrays of one training at each of its steps."""
    for place in range(len(recorded["step"])):
        yield {
            name: np.asarray(array[place]) if array.ndim else array
            for name, array in recorded.items()
        }


def states(networks: xr.Dataset, axis: str = "") -> Iterator[State]:
    """All recorded steps of trainings, one training after another.

    Args:
        networks: what was kept of them, and the samples.
        axis: the label of their names; empty for a study's only one.
    """
    courses = networks.drop_dims("sample")
    for name in networks[axis].values.tolist() if axis else [""]:
        labels = {axis: np.array(name)} if axis else {}
        course = training(courses, **{axis: name}).drop_vars(axis) if axis else courses
        for place, facts in enumerate(_steps(arrays_of(course))):
            v, w = (torch.from_numpy(facts.pop(of)) for of in "vw")
            yield State(place, labels | {"step": facts.pop("step")}, facts, v, w)
