"""The study of the identities: the texts and errors of the catalogue, as arrays."""

import numpy as np
import pytest
from identities_arrays import both_sides, config

from hessian_papers.studies.identities.identities.reading import Reading
from hessian_papers.theorems import THEOREMS


def test_the_catalogue_comes_back_from_the_arrays():
    rows = Reading(both_sides()).rows
    assert list(rows) == list(THEOREMS)
    for name, row in rows.items():
        theorem = THEOREMS[name]
        for field in ("label", "statement", "places", "printed", "remark", "source", "tolerance"):
            assert getattr(row, field) == getattr(theorem, field)
        assert row.needed == (theorem.assumption is not None)
        assert (row.printed_errors is not None) == bool(theorem.printed)


def test_errors_are_those_of_single_instances():
    errors = {name: len(values) for name, values in both_sides()["numerics"].items() if values.ndim}
    assert min(errors.values()) > 0
    assert errors["error/linear-spectrum"] == 13 + config().instances
    assert errors["error/linear-zero-vector"] == errors["printed_error/linear-zero-vector"] < 13
    assert errors["error/attention-monotone"] < errors["printed_error/attention-monotone"]
    assert errors["error/bias-assumptions"] == 5
    assert all(np.isfinite(values).all() for values in both_sides()["numerics"].values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instances": 5}, "instances: expected at least 6, got 5"),
        ({"width": 1}, "width: expected 2 to 50, got 1"),
        ({"width": 51}, "width: expected 2 to 50, got 51"),
        ({"points": 1}, "points: expected at least 2, got 1"),
    ],
)
def test_bad_values_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)
