"""What readings have of arrays: values in plain Python, and places on axes."""

import numpy as np
import pytest

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.stored import NamedArrays, Stored, integers, texts
from hessian_spectra.files import MissingResultError


class Reading(NamedArrays):
    """A reading of both sides, one of whose names both have."""

    names = Stored("name", texts)
    sizes = Stored("size", integers)
    width = Stored("width", int)
    exact = Stored("trace", np.asarray, side="closed_form")
    numeric = Stored("trace", np.asarray, side="numerics")


@pytest.fixture
def reading():
    closed_form = {"name": np.array(["a", "b"]), "trace": np.ones(2)}
    numerics = {"size": np.array([3, 5]), "width": np.array(7), "trace": np.zeros(2)}
    return Reading({"closed_form": closed_form, "numerics": numerics})


def test_values_are_plain_python(reading):
    actual = reading.names, reading.sizes, reading.width
    assert actual == (["a", "b"], [3, 5], 7)
    kinds = {type(value) for value in (*reading.names, *reading.sizes, reading.width)}
    assert kinds == {str, int}


def test_an_array_of_both_sides_is_that_of_the_side(reading):
    assert (reading.exact.tolist(), reading.numeric.tolist()) == ([1.0, 1.0], [0.0, 0.0])


def test_an_array_that_is_missing_is_a_clear_error():
    with pytest.raises(MissingResultError, match="holds no array 'width'"):
        _ = Reading({"numerics": {}}).width


def test_a_name_has_its_place_on_its_axis(reading):
    assert (reading.place("name", "b"), reading.place("size", 3)) == (1, 0)
    with pytest.raises(NothingToMeasure, match=r"^this configuration leaves out size 4$"):
        reading.place("size", 4)
    with pytest.raises(NothingToMeasure, match=r"^this configuration leaves out depth 4$"):
        reading.place("size", 4, "depth")
