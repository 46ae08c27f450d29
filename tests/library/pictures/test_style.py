"""Figures share a style."""

import logging

import numpy as np
import pytest

from hessian_spectra.pictures import rendered, style


@pytest.mark.parametrize("span", [5.0, 9.0, 11.0, 30.0, 90.0, 110.0, 1e3, 1e5])
@pytest.mark.parametrize("least", [1.3e-4, 0.17, 3.0])
def test_a_logarithmic_axis_has_few_numbers_and_never_none(least, span):
    figure, axes = style.panels(height=1.5, width=2.0)
    axes.plot([0, 1], [least, least * span])
    style.logarithmic(axes)
    figure.draw_without_rendering()
    low, high = axes.get_ylim()
    ticks = zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    ticks = [(place, label.get_text()) for place, label in ticks]
    minor = [label.get_text() for label in axes.get_yticklabels(minor=True)]
    shown = np.array([place for place, text in ticks if text and low <= place <= high])
    assert 1 <= len(shown) <= 6
    assert not any(minor)


def test_fonts_that_matplotlib_ships_are_no_news(caplog):
    """Computer Modern, of formulas, has dates of another century."""
    figure, axes = style.panels(height=1.5, width=2.0)
    axes.set_title(r"$\lambda_{\max} = \int x$", math_fontfamily="cm")
    with caplog.at_level(logging.WARNING):
        rendered(figure, ["pdf"])
    assert caplog.messages == []
