"""The lead of the product without the last matrix, at two sizes, on planted networks."""

import numpy as np
import pytest
from low_dimension_arrays import deep, sides

from hessian_papers.studies.correlations.low_dimension.reading import Reading


def test_a_lead_is_the_correlation_less_the_best_other_of_each_teacher():
    actual = sides(deep())["correlation"]
    (point,) = np.flatnonzero(
        (deep()["parametrisation"] == "mup") & (deep()["depth"] == 3) & (deep()["size"] == 3)
    )
    each = []
    for teacher in range(3):
        chosen = deep()["teacher"] == teacher
        target = deep()["sharpness"][point, 0, chosen]
        r = [
            np.corrcoef(target, deep()["products"][point, 0, chosen, layer, 0] ** 2)[0, 1]
            for layer in range(3)
        ]
        each.append(r)
    mean = np.mean(each, axis=0)
    assert actual["lead"][1, 1, 1, 0] == pytest.approx(mean[2] - max(mean[:2]), abs=1e-11)


def test_the_difference_is_the_mean_lead_at_the_smaller_size_less_that_at_the_larger():
    actual = sides(deep())["correlation"]
    lead = actual["lead"].mean(axis=1)
    np.testing.assert_allclose(actual["mean_lead"], lead, atol=1e-11)
    np.testing.assert_allclose(actual["mean_difference"], lead[:, 0] - lead[:, 1], atol=1e-11)
    assert (actual["mean_difference_low"] <= actual["mean_difference"]).all()
    assert (actual["mean_difference"] <= actual["mean_difference_high"]).all()


def test_the_worse_of_two_sizes_counts_as_unfinished():
    status = deep()["status"].copy()
    status[deep()["size"] == 3] = 1
    reading = Reading(sides(deep() | {"status": status}))
    assert reading["epoch_limit"].tolist() == [[36, 36]] * 2
    assert reading.unfinished("sp").tolist() == [2, 3]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sizes": [1]}, "sizes: expected two, the smaller one first"),
        ({"sizes": [3, 1]}, "sizes: expected two, the smaller one first"),
        ({"confidence": 1.0}, "confidence: expected a number between 0 and 1"),
        ({"resamples": 5}, "resamples: expected at least 100"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, expected):
    with pytest.raises(ValueError, match=expected):
        sides(deep(), **changes)


def test_a_size_that_the_ensemble_lacks_is_named():
    with pytest.raises(ValueError, match="some of the ensemble's, 1, 3"):
        sides(deep(), sizes=[1, 7])
