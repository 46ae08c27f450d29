"""Numbers on the page."""

import pytest

from hessian_papers.report.verdicts import number


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-3.0, "−3"),
        (999999.0, "999999"),
        (1e6, "1 × 10<sup>6</sup>"),
        (-1.5e-10, "−1.5 × 10<sup>−10</sup>"),
        (0.123456, "0.123"),
        (float("inf"), "inf"),
        (None, "–"),
    ],
)
def test_numbers(value, shown):
    assert number(value) == shown
