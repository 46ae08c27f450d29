"""The figure of the outlier pair in training, and its caption."""

import numpy as np
from trainings import outlier_pair_config, outlier_pair_sides, wedge

from hessian_papers.studies.scalar.outlier_pair import figure, study
from hessian_papers.studies.scalar.outlier_pair.reading import Reading


def test_the_figure_shows_every_numerical_spectrum():
    reading = Reading(outlier_pair_sides(high_learning_rate=0.4, high_initial_scale=2.0))
    panels = figure.draw(reading).axes
    assert len(panels) == 12
    assert all(panel.get_ylabel() for panel in panels[::3])
    # The bottom row: one point per numerical spectrum.
    for panel, run in zip(panels[9:], reading.runs.values(), strict=True):
        assert len(panel.lines[0].get_xdata()) == len(run.numeric_steps)


def test_phases_are_strips_below_the_axes():
    reading = Reading(outlier_pair_sides(networks=["linear"]))
    for panel in figure.draw(reading).axes[:3]:
        tops = [strip.get_y() + strip.get_height() for strip in panel.patches]
        assert tops, "no phase"
        assert max(tops) < 0
        ends = [strip.get_x() + strip.get_width() for strip in panel.patches]
        assert max(ends) <= panel.get_xlim()[1]


def test_where_the_small_outlier_oscillates_a_line_goes_through_its_maxima():
    reading = Reading(outlier_pair_sides(networks=["linear"], momentum=0.9, learning_rate=0.18))
    steps, tops = figure.draw(reading).axes[2].lines
    assert len(tops.get_xdata()) < len(steps.get_xdata()) / 2
    assert set(tops.get_ydata()) <= set(steps.get_ydata())


def test_the_caption_tells_when_a_run_diverged():
    reading = Reading(outlier_pair_sides(learning_rate=30.0, networks=["linear"]))
    assert f"diverged at step {reading.linear.diverged_at}" in figure.caption(reading)


def test_the_caption_tells_when_units_change_cell():
    config = outlier_pair_config(networks=["relu"], steps=2)
    trained = study.train(config, wedge())
    moved = int(np.flatnonzero(trained["relu/v"][0] < 0)[0])
    trained["relu/v"][1:, moved] *= -1
    reading = Reading(
        {
            "closed_form": study.closed_form(config, trained),
            "numerics": study.numerics(config, trained),
        }
    )
    assert np.diff(reading.runs["relu"]["units"]).tolist() == [1, 0]
    assert (
        "hidden units enter or leave the positive cell, and the curves may jump, at step 1."
        in figure.caption(reading)
    )
