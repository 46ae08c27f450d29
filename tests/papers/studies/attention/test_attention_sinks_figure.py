"""The figure of sinks with vector tokens: every eigenvalue that repeats is drawn."""

import numpy as np
import pytest
from attention_arrays import sinks_sides
from claims_contract import planted_data

from hessian_papers.studies.attention.attention_sinks import figure as figures
from hessian_papers.studies.attention.attention_sinks.study import VARIABLES


@pytest.fixture(scope="module")
def data():
    return planted_data(sinks_sides(), VARIABLES)


def test_figure_shows_every_eigenvalue_that_repeats(data):
    bulk, outliers = figures.draw(data).axes[:2]
    points = [line for line in bulk.lines if line.get_marker() == "s"]
    assert [len(line.get_xdata()) for line in points] == [6, 6, 6]
    shown = [line for line in outliers.lines if line.get_marker() == "o"]
    # 5 d^2 - 2 d = 39 eigenvalues do not repeat, a fifth of them is shown.
    assert [len(line.get_xdata()) for line in shown] == [8, 8, 8]


def test_outliers_of_a_group_stand_beside_each_other():
    values = np.array([0.5, 1.0, 1.001, 1.002])
    np.testing.assert_allclose(figures._beside(values), figures.WIDE * np.array([0, -1, 0, 1]))


def test_caption_counts_the_bulk(data):
    caption = figures.caption(data)
    assert "81 parameters" in caption
    assert "6 values, each occurring 7 times" in caption
    assert "dashed: 1e-10" in figures.controls(data)[1]
