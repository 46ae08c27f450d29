"""The figure of a multi-input network in training, and its caption."""

from trainings import multi_input_sides

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.multi_input_training import figure


def data_of(**changes):
    return joined([*multi_input_sides(**changes).values()])


def test_the_figure_shows_every_numerical_spectrum():
    data = data_of()
    upper, lower, bulk, error = figure.draw(data).axes
    for panel, curves in ((upper, 3), (lower, 3), (bulk, 12)):
        # Points and closed-form lines, and the line at zero.
        assert len(panel.lines) == 2 * curves + 1
    assert all(len(line.get_xdata()) == 3 for line in error.lines[:2])
    assert "The 6 outliers" in figure.caption(data)


def test_width_one_draws_an_empty_bulk():
    *_, bulk, _ = figure.draw(data_of(width=1)).axes
    assert len(bulk.lines) == 1


def test_the_caption_tells_when_the_run_diverged():
    data = data_of(learning_rate=20.0)
    assert f"diverged at step {int(data['diverged_at'])}" in figure.caption(data)
