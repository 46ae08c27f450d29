"""The figure of the outlier pair in training, and its caption."""

import numpy as np
from trainings import outlier_pair_config, outlier_pair_sides, wedge

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.outlier_pair import figure, study
from hessian_papers.studies.trainings import compared


def data_of(**changes):
    return joined([*outlier_pair_sides(**changes).values()])


def test_the_figure_shows_every_numerical_spectrum():
    data = data_of(high_learning_rate=0.4, high_initial_scale=2.0)
    panels = figure.draw(data).axes
    assert len(panels) == 12
    assert all(panel.get_ylabel() for panel in panels[::3])
    # The bottom row: one point per numerical spectrum.
    for panel in panels[9:]:
        assert len(panel.lines[0].get_xdata()) == len(compared(data)["step"])


def test_phases_are_strips_below_the_axes():
    data = data_of(networks=["linear"])
    for panel in figure.draw(data).axes[:3]:
        tops = [strip.get_y() + strip.get_height() for strip in panel.patches]
        assert tops, "no phase"
        assert max(tops) < 0
        ends = [strip.get_x() + strip.get_width() for strip in panel.patches]
        assert max(ends) <= panel.get_xlim()[1]


def test_where_the_small_outlier_oscillates_a_line_goes_through_its_maxima():
    data = data_of(networks=["linear"], momentum=0.9, learning_rate=0.18)
    steps, tops = figure.draw(data).axes[2].lines
    assert len(tops.get_xdata()) < len(steps.get_xdata()) / 2
    assert set(tops.get_ydata()) <= set(steps.get_ydata())


def test_the_caption_tells_when_a_run_diverged():
    data = data_of(learning_rate=30.0, networks=["linear"])
    assert f"diverged at step {int(data['diverged_at'].sel(run='linear'))}" in figure.caption(data)


def test_the_caption_tells_when_units_change_cell():
    config = outlier_pair_config(networks=["relu"], steps=2)
    trained = study.train(config, wedge())
    weights = trained["v"].sel(run="relu")
    moved = int(np.flatnonzero(weights.isel(step=0) < 0)[0])
    weights.isel(step=slice(1, None), unit=moved).values[:] *= -1
    data = joined([study.closed_form(config, trained), study.numerics(config, trained)])
    assert np.diff(data["units"].sel(run="relu")).tolist() == [1, 0]
    assert (
        "hidden units enter or leave the positive cell, and the curves may jump, at step 1."
        in figure.caption(data)
    )
