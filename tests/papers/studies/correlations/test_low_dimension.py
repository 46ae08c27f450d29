"""The lead of the product without the last matrix, at two sizes, on planted networks."""

import numpy as np
import pytest
from low_dimension_arrays import deep, study_data

from hessian_papers.studies.correlations.ensembles import unfinished


def test_a_lead_is_the_correlation_less_the_best_other_of_each_teacher():
    actual = study_data(deep())
    place = {"parametrisation": "mup", "depth": 3, "size": 3, "time": "initialisation"}
    point = deep().sel(norm="spectral", **place)
    each = []
    for teacher in range(3):
        own = point.isel(network=point["teacher"].values == teacher)
        r = [
            np.corrcoef(own["sharpness"], own["products"].sel(layer=layer) ** 2)[0, 1]
            for layer in (1, 2, 3)
        ]
        each.append(r)
    mean = np.mean(each, axis=0)
    lead = actual["lead"].sel(place)
    assert float(lead.sel(estimate="value")) == pytest.approx(mean[2] - max(mean[:2]), abs=1e-11)


def test_the_difference_is_the_mean_lead_at_the_smaller_size_less_that_at_the_larger():
    actual = study_data(deep())
    lead = actual["lead"].mean("depth").sel(estimate="value")
    np.testing.assert_allclose(actual["mean_lead"].sel(estimate="value"), lead, atol=1e-11)
    value, low, high = actual["mean_difference"].transpose("estimate", ...)
    np.testing.assert_allclose(value, lead.sel(size=1) - lead.sel(size=3), atol=1e-11)
    assert ((low <= value) & (value <= high)).all()


def test_the_worse_of_two_sizes_counts_as_unfinished():
    status = deep()["status"].copy()
    status.loc[{"size": 3}] = 1
    actual = study_data(deep().assign(status=status))
    assert actual["epoch_limit"].values.tolist() == [[36, 36]] * 2
    assert unfinished(actual.sel(parametrisation="sp")).tolist() == [2, 3]


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
        study_data(deep(), **changes)


def test_a_size_that_the_ensemble_lacks_is_named():
    with pytest.raises(ValueError, match="some of the ensemble's, 1, 3"):
        study_data(deep(), sizes=[1, 7])
