"""The figure of the outlier pair in training, and its caption."""

import numpy as np
import pytest
from spectrum_in_training_sides import (
    COORDINATES,
    EIGENSPACE,
    PAIR,
    config,
    data_of,
    linear,
    pair_sides,
    sides,
    wedge,
)

from hessian_papers.labelled import joined
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.scalar.spectrum_in_training import figure, study
from hessian_papers.studies.trainings import compared
from tests.pipelines.marks import undrawn


def test_the_figure_draws_the_pair_and_the_controls_every_numerical_spectrum():
    data = data_of(pair_sides(high={"learning_rate": 0.4, "initial_scale": 2.0}))
    drawn = figure.draw(data)
    panels = drawn.axes
    assert len(panels) == 9
    assert all(panel.get_ylabel() for panel in panels[::3])
    errors, text = figure.controls(data)
    assert len(errors.axes) == 3
    for panel in errors.axes:
        assert len(panel.lines[0].get_xdata()) == len(compared(data)["step"])
    for picture, said in ((drawn, figure.caption(data)), (errors, text)):
        assert undrawn(picture, said) == []


@pytest.mark.parametrize("settings", [EIGENSPACE, COORDINATES])
def test_what_a_study_follows_is_drawn_in_place_of_the_pair(settings):
    data = data_of(sides(settings))
    names = {line.get_label() for axes in figure.draw(data).axes for line in axes.lines}
    assert names & {"adam", "with the correlations"}
    with pytest.raises(NothingToMeasure):
        figure.controls(data)


def test_phases_are_strips_below_the_axes():
    data = data_of(sides(PAIR, runs=linear()))
    for panel in figure.draw(data).axes[:3]:
        tops = [strip.get_y() + strip.get_height() for strip in panel.patches]
        assert tops, "no phase"
        assert max(tops) < 0
        ends = [strip.get_x() + strip.get_width() for strip in panel.patches]
        assert max(ends) <= panel.get_xlim()[1]


def test_where_the_small_outlier_oscillates_a_line_goes_through_its_maxima():
    data = data_of(sides(PAIR, runs=linear(0.9), learning_rate=0.18))
    steps, tops = figure.draw(data).axes[2].lines
    assert len(tops.get_xdata()) < len(steps.get_xdata()) / 2
    assert set(tops.get_ydata()) <= set(steps.get_ydata())


def test_the_caption_tells_when_a_run_diverged():
    data = data_of(sides(PAIR, runs=linear(), learning_rate=30.0))
    assert f"diverged at step {int(data['diverged_at'].sel(run='linear'))}" in figure.caption(data)


def test_the_caption_tells_when_units_change_cell():
    settings = config(PAIR, steps=2)
    trained = study.train(settings, wedge())
    weights = trained["v"].sel(run="relu")
    moved = int(np.flatnonzero(weights.isel(step=0) < 0)[0])
    weights.isel(step=slice(1, None), unit=moved).values[:] *= -1
    data = joined([study.closed_form(settings, trained), study.numerics(settings, trained)])
    assert np.diff(data["units"].sel(run="relu")).tolist() == [1, 0]
    assert "units change cell, with jumps, at step 1." in figure.caption(data)
