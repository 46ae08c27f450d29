"""The figure of the identities shows every instance of every theorem."""

import numpy as np
import pytest
from identities_arrays import both_sides

from hessian_papers.labelled import joined
from hessian_papers.studies.identities.identities import figure as identities
from hessian_papers.studies.identities.identities.derived import errors


@pytest.fixture(scope="module")
def data():
    return joined([*both_sides().values()])


@pytest.fixture(scope="module")
def panels(data):
    return identities.draw(data).axes


def named(data, *, wrong):
    """The theorems that are right in print, or not."""
    chosen = (data["printed"] != "") if wrong else (data["printed"] == "") & ~data["needed"]
    return data["theorem"].values[chosen].tolist()


def dots(axes, label):
    """The drawn errors of one colour, row by row."""
    (first,) = [line for line in axes.lines if line.get_label() == label]
    same = [line for line in axes.lines if line.get_color() == first.get_color()]
    return [line.get_xdata() for line in same if line.get_marker() == "o"]


def test_every_instance_is_a_dot(data, panels):
    left, right = panels
    identity, erratum = named(data, wrong=False), named(data, wrong=True)
    drawn = [
        (dots(left, "closed form − brute force"), [errors(data, name) for name in identity]),
        (dots(right, "corrected"), [errors(data, name) for name in erratum]),
        (dots(right, "as printed"), [errors(data, name, "printed") for name in erratum]),
    ]
    for shown, expected in drawn:
        for line, values in zip(shown, expected, strict=True):
            np.testing.assert_array_equal(line, np.maximum(values, identities.ZERO))


def test_rows_and_axes_are_labelled_and_nothing_lies_outside(data, panels):
    assert [axes.get_title("left")[:3] for axes in panels] == ["(a)", "(b)"]
    assert all(axes.get_xlabel() == "relative error (dimensionless)" for axes in panels)
    shown = [len(axes.get_yticklabels()) for axes in panels]
    assert shown == [len(named(data, wrong=wrong)) for wrong in (False, True)]
    for axes in panels:
        low, high = axes.get_xlim()
        assert all(
            ((low <= x) & (x <= high)).all() for x in (line.get_xdata() for line in axes.lines)
        )


def test_the_caption_counts_what_is_drawn(data):
    text = identities.caption(data)
    assert f"(a) {len(named(data, wrong=False))} statements" in text
    assert f"(b) {len(named(data, wrong=True))} errata" in text
    assert f"on {data['networks'].item()} random networks" in text
