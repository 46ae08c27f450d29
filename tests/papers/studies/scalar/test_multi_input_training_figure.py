"""The figure of a multi-input network in training, and its caption."""

from trainings import multi_input_sides

from hessian_papers.studies.scalar.multi_input_training import figure
from hessian_papers.studies.scalar.multi_input_training.reading import Reading


def test_the_figure_shows_every_numerical_spectrum():
    reading = Reading(multi_input_sides())
    upper, lower, bulk, error = figure.draw(reading).axes
    for panel, curves in ((upper, 3), (lower, 3), (bulk, 12)):
        # Points and closed-form lines, and the line at zero.
        assert len(panel.lines) == 2 * curves + 1
    assert all(len(line.get_xdata()) == 3 for line in error.lines[:2])
    assert "The 6 outliers" in figure.caption(reading)


def test_width_one_draws_an_empty_bulk():
    *_, bulk, _ = figure.draw(Reading(multi_input_sides(width=1))).axes
    assert len(bulk.lines) == 1


def test_the_caption_tells_when_the_run_diverged():
    reading = Reading(multi_input_sides(learning_rate=20.0))
    assert f"diverged at step {reading.diverged_at}" in figure.caption(reading)
