"""The figure of the identities shows every instance of every theorem."""

import numpy as np
import pytest
from identities_arrays import both_sides

from hessian_papers.studies.identities.identities import figure as identities
from hessian_papers.studies.identities.identities.reading import Reading


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
    drawn = [
        (dots(left, "closed form − brute force"), [row.errors for row in reading.identities]),
        (dots(right, "corrected"), [row.errors for row in reading.errata]),
        (dots(right, "as printed"), [row.printed_errors for row in reading.errata]),
    ]
    for shown, expected in drawn:
        for line, errors in zip(shown, expected, strict=True):
            np.testing.assert_array_equal(line, np.maximum(errors, identities.ZERO))


def test_rows_and_axes_are_labelled_and_nothing_lies_outside(reading, panels):
    assert [axes.get_title("left")[:3] for axes in panels] == ["(a)", "(b)"]
    assert all(axes.get_xlabel() == "relative error (dimensionless)" for axes in panels)
    shown = [len(axes.get_yticklabels()) for axes in panels]
    assert shown == [len(reading.identities), len(reading.errata)]
    for axes in panels:
        low, high = axes.get_xlim()
        assert all(
            ((low <= x) & (x <= high)).all() for x in (line.get_xdata() for line in axes.lines)
        )


def test_the_caption_counts_what_is_drawn(reading):
    text = identities.caption(reading)
    assert f"(a) {len(reading.identities)} statements" in text
    assert f"(b) {len(reading.errata)} errata" in text
    assert f"on {reading.numerics['instances']} random networks" in text
