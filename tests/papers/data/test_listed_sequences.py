"""Listed sequences come out as they were listed, and backwards as targets."""

import numpy as np
import pytest

from hessian_papers.data import listed_sequences


def config(sequences):
    return listed_sequences.Config(kind="listed_sequences", seed=0, sequences=sequences)


def test_targets_are_the_sequences_backwards():
    arrays = listed_sequences.make(config([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert arrays["x"].dtype == np.float64
    np.testing.assert_array_equal(arrays["x"], [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(arrays["y"], [[3, 2, 1], [6, 5, 4]])


def test_integers_are_numbers():
    np.testing.assert_array_equal(listed_sequences.make(config([[1, -2]]))["x"], [[1.0, -2.0]])


@pytest.mark.parametrize(
    "sequences",
    [[], [[]], [[1.0], [1.0, 2.0]], [[1.0, float("nan")]], [[1.0, "a"]], [1.0, 2.0]],
)
def test_other_lists_are_refused(sequences):
    with pytest.raises(ValueError, match=r"^sequences: expected .*, got .*$"):
        config(sequences)
