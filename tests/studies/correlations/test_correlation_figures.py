"""Figures of the correlation studies show every number, and say how training ended."""

import numpy as np
import pytest
from ensemble_arrays import ensemble

from hessian_spectra.studies.correlations import drawing as ensembles
from hessian_spectra.studies.correlations.norm_correlation import figure as norm_correlation
from hessian_spectra.studies.correlations.norm_correlation import study as correlations
from hessian_spectra.studies.correlations.sharpness_bounds import figure as sharpness_bounds
from hessian_spectra.studies.correlations.sharpness_bounds import study as bounds

COMMON = {
    "paper": "singh2026cracking",
    "artifact": "test",
    "title": "test",
    "ensemble": "test",
    "seed": 0,
    "parametrisations": ["sp", "ntp"],
}


def study(networks, **changes):
    fields = {
        "kind": "norm_correlation",
        "target": "sharpness",
        "quantities": ["matrices"],
        "norms": ["spectral", "frobenius", "nuclear"],
        "highlighted": "spectral",
        "along": "size",
        "depths": [2],
        "sizes": [],
        "resamples": 100,
        "confidence": 0.95,
    }
    return correlations.correlation(correlations.Config(**(COMMON | fields | changes)), networks)


def along_depth(networks, *quantities):
    return study(
        networks,
        quantities=list(quantities),
        norms=["spectral"],
        along="depth",
        depths=[],
        sizes=[3],
    )


@pytest.fixture(scope="module")
def wide():
    return ensemble(sizes=(1, 2, 3, 10), noise=0.2)


@pytest.fixture(scope="module")
def deep():
    return ensemble(depths=(2, 3, 4), sizes=(3,), noise=0.2)


def drawn(axes):
    """All finite heights of the lines of a panel, less the line at zero."""
    lines = [line for line in axes.lines if len(line.get_xdata()) > 0]
    heights = [np.asarray(line.get_ydata(), dtype=float) for line in lines[:-1]]
    return np.sort(np.concatenate([h[np.isfinite(h)] for h in heights]))


def test_every_correlation_is_a_point(wide):
    arrays = study(wide)
    figure = norm_correlation.draw(arrays)
    assert len(figure.axes) == 2 * 3
    for row in range(2):
        for time in range(2):
            expected = np.sort(arrays["correlation"][row, :, time].ravel())
            np.testing.assert_array_equal(drawn(figure.axes[3 * row + time]), expected)
        lead = arrays["best_norm_lead"][row, 1:, :, 0]
        np.testing.assert_array_equal(drawn(figure.axes[3 * row + 2]), np.sort(lead.ravel()))


@pytest.mark.parametrize("quantities", [("products",), ("matrices", "products")])
def test_every_layer_is_a_line(deep, quantities):
    arrays = along_depth(deep, *quantities)
    figure = norm_correlation.draw(arrays)
    first = arrays["correlation"][0, :, 0, :4, 0]
    expected = np.sort(first[np.isfinite(first)])
    np.testing.assert_array_equal(drawn(figure.axes[0]), expected)
    lead = arrays["group_lead" if len(quantities) == 2 else "last_lead"][0]
    np.testing.assert_array_equal(drawn(figure.axes[2]), np.sort(lead[np.isfinite(lead)]))


def test_alignments_are_drawn_and_compared_with_the_matrices(wide):
    arrays = study(wide, quantities=["alignments", "matrices"])
    figure = norm_correlation.draw(arrays)
    expected = np.sort(arrays["correlation"][0, :, 0, 0].ravel())
    np.testing.assert_array_equal(drawn(figure.axes[0]), expected)
    assert "best alignment" in figure.axes[2].get_ylabel()
    assert "absolute alignments" in norm_correlation.caption(arrays)


def test_nothing_lies_outside_the_axes(wide, deep):
    for arrays in (study(wide), along_depth(deep, "products")):
        for axes in norm_correlation.draw(arrays).axes:
            low, high = axes.get_ylim()
            left, right = axes.get_xlim()
            for line in axes.lines[:-1]:
                y, x = np.asarray(line.get_ydata(), float), np.asarray(line.get_xdata(), float)
                assert ((y >= low) & (y <= high))[np.isfinite(y)].all()
                assert ((x >= left) & (x <= right)).all()


def test_panels_are_labelled(wide):
    figure = norm_correlation.draw(study(wide))
    assert [axes.get_title("left")[:3] for axes in figure.axes] == [f"({c})" for c in "abcdef"]
    assert all(axes.get_xlabel() for axes in figure.axes[3:])
    assert all(axes.get_ylabel() for axes in figure.axes[::3] + figure.axes[2::3])
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "$W_{2}$, Frobenius" in texts
    assert "share diverged, left out" in texts


def test_the_strip_shows_how_training_ended(wide):
    arrays = study(wide)
    axes = norm_correlation.draw(arrays).axes[1]
    heights = [bar.get_height() for bar in axes.patches]
    # Of 12 networks one was stopped and one diverged, at each of four sizes.
    np.testing.assert_allclose(heights, [ensembles.STRIP / 12] * 8)
    np.testing.assert_allclose([bar.get_y() for bar in axes.patches[4:]], heights[:4])


def test_the_caption_holds_the_numbers(wide):
    arrays = study(wide)
    text = norm_correlation.caption(arrays)
    value, low, high = (
        arrays[f"mean_best_norm_lead{s}"][1, 0, 1, 0] for s in ("", "_low", "_high")
    )
    assert f"NTP after training {value:+.2f} [{low:+.2f}, {high:+.2f}]" in text
    assert "over 12 linear networks of width 6 a point; depth 2, D = K = 1, 2, 3, 10" in text
    assert "Of 96 networks 8 were stopped by the epoch limit and 8 diverged" in text


def test_a_run_in_which_all_converged_says_so(wide):
    arrays = study(wide | {"status": np.zeros_like(wide["status"])})
    assert "All 96 networks trained until" in norm_correlation.caption(arrays)
    (legend,) = norm_correlation.draw(arrays).legends
    assert not [text for text in legend.get_texts() if "share" in text.get_text()]


def test_a_single_size_can_be_drawn(wide):
    arrays = study(wide, sizes=[1])
    assert len(norm_correlation.draw(arrays).axes) == 6
    assert "not defined" in norm_correlation.caption(arrays)


def test_a_point_where_all_diverged_can_be_drawn(wide):
    sharpness = wide["sharpness"].copy()
    sharpness[:, 1] = np.nan
    arrays = study(wide | {"sharpness": sharpness})
    figure = norm_correlation.draw(arrays)
    assert len(figure.axes[1].lines) == 1


def ratios(networks):
    fields = {"kind": "sharpness_bounds", "along": "size", "depths": [2], "sizes": []}
    return bounds.correlation(bounds.Config(**(COMMON | fields)), networks)


def test_both_formulas_are_drawn(wide):
    arrays = ratios(wide)
    figure = sharpness_bounds.draw(arrays)
    assert len(figure.axes) == 4
    median = bounds.LEVELS.index(0.5)
    for column in range(2):
        for time in range(2):
            lines = [tuple(line.get_ydata()) for line in figure.axes[2 * time + column].lines]
            for name in ("maximum", "sum"):
                assert tuple(arrays[f"ratio_{name}"][column, :, time, median]) in lines
    low, high = figure.axes[0].get_ylim()
    assert low < min(arrays["ratio_sum"].min(), 1)
    assert high > arrays["ratio_maximum"].max()


def test_the_caption_of_the_bounds_holds_the_numbers(wide):
    arrays = ratios(wide)
    quantiles = arrays["pooled_maximum"][0, 1]
    text = sharpness_bounds.caption(arrays)
    assert f"after training SP {quantiles[3]:.2f} [{quantiles[0]:.2f}, {quantiles[-1]:.2f}]" in text


def test_bounds_along_depth_can_be_drawn(deep):
    fields = {"kind": "sharpness_bounds", "along": "depth", "depths": [], "sizes": [3]}
    arrays = bounds.correlation(bounds.Config(**(COMMON | fields)), deep)
    figure = sharpness_bounds.draw(arrays)
    assert figure.axes[-1].get_xlabel() == "depth $B$ (layers)"
    assert "D = K = 3, depths 2, 3, 4" in sharpness_bounds.caption(arrays)
