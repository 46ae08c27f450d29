"""Random regression with several features."""

import numpy as np
import pytest

from hessian_papers.data.gaussian_features import Config, make


def config(**changes):
    fields = {"kind": "gaussian_features", "seed": 1, "size": 4000, "features": 3}
    return Config(**(fields | changes))


def test_features_and_target_are_standard_and_independent():
    arrays = make(config())
    table = np.column_stack([arrays["x"], arrays["y"]])
    assert table.shape == (4000, 4)
    # Four standard errors of a second moment.
    np.testing.assert_allclose(table.T @ table / 4000, np.eye(4), atol=4 * np.sqrt(2 / 4000))


def test_a_seed_changes_the_draw():
    first, second = make(config()), make(config(seed=2))
    assert not np.isclose(first["x"], second["x"]).all()
    assert not np.isclose(first["y"], second["y"]).all()


@pytest.mark.parametrize("change", [{"size": 0}, {"features": 0}, {"features": -2}])
def test_bad_settings_are_refused_in_one_line(change):
    (field, value), *_ = change.items()
    with pytest.raises(ValueError, match=f"^{field}: expected at least 1, got {value}$"):
        config(**change)
