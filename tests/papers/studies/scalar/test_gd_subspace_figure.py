"""The figure of the bulk eigenspace under several optimizers, and its caption."""

import numpy as np
from claims_contract import changed
from trainings import gd_subspace_sides

from hessian_papers.studies.scalar.gd_subspace import figure
from hessian_papers.studies.scalar.gd_subspace.reading import Reading


def test_the_figure_shows_every_optimizer():
    reading = Reading(gd_subspace_sides())
    trainings = reading.optimizers.values()
    iterate, rotation, invariance, error = figure.draw(reading).axes
    assert len(iterate.lines) == len(rotation.lines) == 2 * len(trainings)
    assert len(invariance.lines) == len(trainings)
    points = sum(len(line.get_xdata()) for line in error.lines[:-1])
    assert points == sum(len(training.numeric_steps) for training in trainings)


def test_the_caption_tells_when_a_run_diverged():
    sides = gd_subspace_sides(steps=2)
    assert "diverged" not in figure.caption(Reading(sides))
    sides = changed(sides, "closed_form", **{"sgd/diverged_at": np.array(2)})
    assert figure.caption(Reading(sides)).endswith(" SGD diverged at step 2.")
