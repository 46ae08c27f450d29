"""The spectrum against the data scale: structured, proportional only where it should be."""

import numpy as np
import pytest
from data_scale_sides import both, config, sample

from hessian_papers.studies.scalar.data_scale import study
from hessian_papers.studies.scalar.data_scale.figure import caption, draw
from hessian_papers.studies.scalar.data_scale.reading import Reading


@pytest.fixture(scope="module")
def reading():
    return Reading(both())


def test_second_moments_lie_inside_the_interval():
    np.testing.assert_allclose(study.second_moments(config()), [2.5, 7.5, 12.5, 17.5])


def test_spectra_have_one_row_a_scale(reading):
    assert reading.widths == [2, 4]
    for targets in ("fixed", "scaled"):
        for network, width in (("first", 2), ("second", 4)):
            spectra = reading.spectra(network, targets)
            for numeric in (False, True):
                assert spectra.group("bulk", numeric=numeric).shape == (4, 2 * width - 2)
                assert spectra.group("outlier 2", numeric=numeric).shape == (4, 1)


def test_the_bulk_of_the_wider_network_stands_around_the_small_outlier(reading):
    ranks = reading.spectra("second", "fixed").ranks
    np.testing.assert_array_equal(ranks("bulk"), np.tile([1, 2, 3, 5, 6, 7], (4, 1)))
    np.testing.assert_array_equal(ranks("outlier"), np.tile([4, 8], (4, 1)))


def test_proportional_with_fixed_targets_if_they_are_uncorrelated(reading):
    networks = sample()
    x, y = networks["x"], networks["y"]
    uncorrelated = {"x": x, "y": y - (x @ y) / (x @ x) * x}
    assert Reading(both(uncorrelated)).largest_departure("fixed") < 1e-12
    assert reading.largest_departure("fixed") > 0.1


def test_bulk_departs_as_its_formula_says(reading):
    # |δx| / σ_x² = |⟨w, v⟩ - r / σ_x| with r = mean(x y) / rms(x), so its slope against 1 / σ_x is
    # |r| between neighbouring scales on either side of a change of sign.
    networks = sample()
    correlation = np.mean(networks["x"] * networks["y"]) / np.sqrt(np.mean(networks["x"] ** 2))
    bulk = np.abs(reading.spectra("first", "fixed").group("bulk")[:, 0]) / reading.moments
    slopes = np.abs(np.diff(bulk) / np.diff(1 / np.sqrt(reading.moments)))
    np.testing.assert_allclose(slopes[-1], abs(correlation), rtol=1e-9)


def test_weights_of_one_network_do_not_depend_on_the_other_width(reading):
    wide = Reading(both(width=3))
    for actual, alone in ((reading, wide), (wide, reading)):
        np.testing.assert_allclose(
            actual.spectra("second", "fixed").group("bulk"),
            alone.spectra("second", "fixed").group("bulk"),
            rtol=1e-13,
        )
    assert wide.spectra("first", "fixed").group("bulk").shape == (4, 4)


def test_figure_shows_every_number(reading):
    panels = [axes for axes in draw(reading).axes if axes.get_title(loc="left")]
    assert len(panels) == 6
    assert all(axes.get_xlabel() for axes in panels)
    assert all(axes.get_ylabel() for axes in panels[2:])
    errors = [line.get_ydata() for line in panels[4].lines if line.get_linestyle() == "None"]
    assert sum(map(len, errors)) == 4 * len(reading.moments)
    drawn = {tuple(line.get_ydata()) for line in panels[2].lines}
    assert tuple(reading.spectra("first", "fixed").group("outlier 1")[:, 0]) in drawn
    assert "width 2 and 4" in caption(reading)


@pytest.mark.parametrize(
    "change",
    [
        {"width": 1},
        {"second_width": -3},
        {"variance_times_fan_in": 0.0},
        {"variance_times_fan_in": float("nan")},
        {"largest_second_moment": -1.0},
        {"scales": 1},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)
