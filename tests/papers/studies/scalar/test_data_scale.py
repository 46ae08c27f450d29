"""The spectrum against the data scale: structured, proportional only where it should be."""

import numpy as np
import pytest
from data_scale_sides import both, config, sample
from samples import samples

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.data_scale import study
from hessian_papers.studies.scalar.data_scale.derived import departure, eigenvalues
from hessian_papers.studies.scalar.data_scale.figure import caption, controls, draw
from hessian_papers.studies.spectra import ranks, spectra


def data_of(*networks, **changes):
    return joined([*both(*networks, **changes).values()])


@pytest.fixture(scope="module")
def data():
    return data_of()


def test_second_moments_lie_inside_the_interval():
    np.testing.assert_allclose(study.second_moments(config()), [2.5, 7.5, 12.5, 17.5])


def test_the_bulk_of_the_wider_network_stands_around_the_small_outlier(data):
    chosen = spectra(data, network="second", targets="fixed")
    np.testing.assert_array_equal(ranks(chosen, "bulk"), np.tile([1, 2, 3, 5, 6, 7], (4, 1)))
    np.testing.assert_array_equal(ranks(chosen, "outlier"), np.tile([4, 8], (4, 1)))


def test_proportional_with_fixed_targets_if_they_are_uncorrelated(data):
    networks = sample()
    x, y = networks["x"], networks["y"]
    uncorrelated = data_of(samples(x, y - (x @ y) / (x @ x) * x))
    assert departure(uncorrelated.sel(targets="fixed"), "bulk", "numerical").max() < 1e-12
    assert departure(data.sel(targets="fixed"), "bulk", "numerical").max() > 0.1


def test_bulk_departs_as_its_formula_says(data):
    # |δx| / σ_x² = |⟨w, v⟩ - r / σ_x| with r = mean(x y) / rms(x), so its slope against 1 / σ_x is
    # |r| between neighbouring scales on either side of a change of sign.
    networks, moments = sample(), data["second_moment"].values
    correlation = np.mean(networks["x"] * networks["y"]) / np.sqrt(np.mean(networks["x"] ** 2))
    bulk = eigenvalues(spectra(data, network="first", targets="fixed"), "bulk")
    slopes = np.abs(np.diff(np.abs(bulk.values[:, 0]) / moments) / np.diff(1 / np.sqrt(moments)))
    np.testing.assert_allclose(slopes[-1], abs(correlation), rtol=1e-9)


def test_weights_of_one_network_do_not_depend_on_the_other_width(data):
    wide = data_of(width=3)
    second, first = (
        [spectra(each, network=name, targets="fixed") for each in (data, wide)]
        for name in ("second", "first")
    )
    np.testing.assert_allclose(*(eigenvalues(chosen, "bulk") for chosen in second), rtol=1e-13)
    assert eigenvalues(first[1], "bulk").shape == (4, 4)


def test_the_figure_draws_every_spectrum_in_order(data):
    first, second = draw(data).axes[:2]
    moments = data.sizes["second_moment"]
    for panel, network, ranks_of_one in ((first, "first", 4), (second, "second", 8)):
        points = [line for line in panel.lines if len(line.get_ydata()) == ranks_of_one]
        numerical = spectra(data, network=network, targets="fixed")["numerical"]
        np.testing.assert_array_equal([line.get_ydata() for line in points], numerical)
        assert len(points) == moments
        assert panel.get_xlabel()
    assert "width 2 and 4" in caption(data)


def test_the_controls_draw_every_error_and_each_eigenvalue_along_the_scale(data):
    panels = controls(data)[0].axes
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in panels)
    errors = [line.get_ydata() for line in panels[2].lines if line.get_linestyle() == "None"]
    assert sum(map(len, errors)) == 4 * data.sizes["second_moment"]
    drawn = {tuple(line.get_ydata()) for line in panels[0].lines}
    large = eigenvalues(spectra(data, network="first", targets="fixed"), "outlier 1")
    assert tuple(large.values[:, 0]) in drawn
