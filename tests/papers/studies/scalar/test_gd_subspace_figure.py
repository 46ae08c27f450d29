"""The figure of the bulk eigenspace under several optimizers, and its caption."""

from trainings import gd_subspace_sides

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.gd_subspace import figure
from hessian_papers.studies.scalar.trainings import compared


def data_of(**changes):
    return joined([*gd_subspace_sides(**changes).values()])


def test_the_figure_shows_every_optimizer():
    data = data_of()
    trainings = data.sizes["optimizer"]
    iterate, rotation, invariance, error = figure.draw(data).axes
    assert len(iterate.lines) == len(rotation.lines) == 2 * trainings
    assert len(invariance.lines) == trainings
    points = sum(len(line.get_xdata()) for line in error.lines[:-1])
    assert points == trainings * compared(data).sizes["step"]


def test_the_caption_tells_when_a_run_diverged():
    data = data_of(steps=2)
    assert "diverged" not in figure.caption(data)
    data["diverged_at"].loc["sgd"] = 2
    assert figure.caption(data).endswith(" SGD diverged at step 2.")
