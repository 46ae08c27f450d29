"""The figure of the identities shows every instance of every check."""

import numpy as np
import pytest
from identities_arrays import both_sides

from hessian_papers.studies.identities.identities import figure as identities
from hessian_papers.studies.identities.identities.reading import CHECKS, ERRATA, IDENTITIES, Reading


@pytest.fixture(scope="module")
def reading():
    return Reading(both_sides())


@pytest.fixture(scope="module")
def panels(reading):
    return identities.draw(reading).axes


def dots(axes, label):
    """The drawn errors of one colour, row by row."""
    (first,) = [line for line in axes.lines if line.get_label() == label]
    same = [line for line in axes.lines if line.get_color() == first.get_color()]
    return [line.get_xdata() for line in same if line.get_marker() == "o"]


def test_every_instance_is_a_dot(reading, panels):
    left, right = panels
    for name, drawn in zip(IDENTITIES, dots(left, "closed form − brute force"), strict=True):
        errors = reading.errors(name)
        np.testing.assert_array_equal(drawn, np.maximum(errors, identities.ZERO))
    for name, drawn in zip(ERRATA, dots(right, "as printed"), strict=True):
        errors = reading.printed_errors(name)
        np.testing.assert_array_equal(drawn, np.maximum(errors, identities.ZERO))
    assert len(dots(right, "corrected")) == len(ERRATA)


def test_nothing_lies_outside_the_axes(panels):
    for axes in panels:
        low, high = axes.get_xlim()
        for line in axes.lines:
            assert (line.get_xdata() >= low).all()
            assert (line.get_xdata() <= high).all()


def test_rows_and_axes_are_labelled(panels):
    assert [axes.get_title("left")[:3] for axes in panels] == ["(a)", "(b)"]
    assert all(axes.get_xlabel() == "relative error (dimensionless)" for axes in panels)
    shown = sum(len(axes.get_yticklabels()) for axes in panels)
    assert shown == len(CHECKS)


def test_the_caption_counts_what_is_drawn(reading):
    text = identities.caption(reading)
    assert f"(a) {len(IDENTITIES)} statements" in text
    assert f"(b) {len(ERRATA)} errata" in text
    instances = sum(len(values) for name, values in reading.numerics.items() if "loss" in name) // 2
    assert f"on {instances} random networks" in text
