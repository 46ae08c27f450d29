"""Trainings of different lengths in one data set: where each ends, and where it is compared."""

import numpy as np
import pytest

from hessian_papers.labelled import Variable, data_set
from hessian_papers.studies.trainings import compared, last_steps, training, variables

DECLARED = {
    "run": Variable("run", "the training"),
    **variables("run"),
    "numerical": Variable("run step", "an eigenvalue"),
}


@pytest.fixture
def data():
    """Two trainings at the steps 0, 2, ... 8, the second of which diverges at the step 5."""
    step = np.arange(0, 10, 2)
    loss = np.exp(-step / 4.0) * np.array([[1.0], [2.0]])
    loss[1, 3:] = np.nan
    numerical = np.full((2, 5), np.nan)
    numerical[0, [0, 4]] = 1.0
    numerical[1, 0] = 2.0
    arrays = {"run": np.array(["plain", "fast"]), "step": step, "loss": loss}
    return data_set(arrays | {"numerical": numerical, "diverged_at": np.array([-1, 5])}, DECLARED)


def test_a_training_has_the_steps_that_it_comes_to(data):
    assert training(data, run="plain")["step"].values.tolist() == [0, 2, 4, 6, 8]
    fast = training(data, run="fast")
    assert fast["step"].values.tolist() == [0, 2, 4]
    assert int(fast["diverged_at"]) == 5


def test_numbers_are_compared_where_one_training_at_least_has_them(data):
    assert compared(data)["step"].values.tolist() == [0, 8]
    assert compared(training(data, run="fast"))["step"].values.tolist() == [0]


def test_each_training_ends_where_it_ends(data):
    last = last_steps(data)
    assert last["step"].values.tolist() == [8, 4]
    np.testing.assert_allclose(last["loss"], [np.exp(-2), 2 * np.exp(-1)])


def test_a_single_training_has_no_dimension_but_the_step():
    declared = variables("")
    arrays = {"step": np.array([0, 1]), "loss": np.array([2.0, 1.0]), "diverged_at": np.array(-1)}
    single = data_set(arrays, declared)
    assert single["loss"].dims == ("step",)
    assert single["diverged_at"].dims == ()
    assert float(last_steps(single)["loss"]) == 1.0
