"""The figures of norms and sharpness show every number, and say how training ended."""

import numpy as np
import pytest
from ensemble_arrays import ensemble

from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.norm_correlation import figure, study
from hessian_papers.studies.correlations.norm_correlation.reading import Reading


def read(networks, **changes):
    fields = {
        "kind": "norm_correlation",
        "paper": "singh2026cracking",
        "artifact": "test",
        "title": "test",
        "ensemble": "test",
        "seed": 0,
        "parametrisations": ["sp", "ntp"],
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
    config = study.Config(**(fields | changes))
    return Reading({"correlation": study.correlation(config, networks)})


def along_depth(networks, *quantities):
    return read(
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
    reading = read(wide)
    panels = figure.draw(reading).axes
    assert len(panels) == 2 * 3
    for row in range(2):
        for time in range(2):
            expected = np.sort(reading["correlation"][row, :, time].ravel())
            np.testing.assert_array_equal(drawn(panels[3 * row + time]), expected)
        lead = reading["best_norm_lead"][row, 1:, :, 0]
        np.testing.assert_array_equal(drawn(panels[3 * row + 2]), np.sort(lead.ravel()))


def test_many_layers_are_lines_along_size_and_along_depth():
    networks = ensemble(depths=(2, 9), sizes=(1, 3), noise=0.2)
    along_size = read(networks, depths=[9], norms=["spectral"])
    for reading, layers in ((along_size, 9), (along_depth(networks, "matrices"), 9)):
        panel = figure.draw(reading).axes[0]
        names = [text.get_text() for text in panel.figure.legends[0].get_texts()]
        assert len([name for name in names if name.startswith("$W")]) == layers
        r = reading["correlation"][0, :, 0, :, 0]
        np.testing.assert_array_equal(drawn(panel), np.sort(r[np.isfinite(r)]))


@pytest.mark.parametrize("quantities", [("products",), ("matrices", "products")])
def test_every_layer_is_a_line(deep, quantities):
    reading = along_depth(deep, *quantities)
    panels = figure.draw(reading).axes
    first = reading["correlation"][0, :, 0, :4, 0]
    expected = np.sort(first[np.isfinite(first)])
    np.testing.assert_array_equal(drawn(panels[0]), expected)
    lead = reading["group_lead" if len(quantities) == 2 else "last_lead"][0]
    np.testing.assert_array_equal(drawn(panels[2]), np.sort(lead[np.isfinite(lead)]))


def test_alignments_are_drawn_and_compared_with_the_matrices(wide):
    reading = read(wide, quantities=["alignments", "matrices"])
    panels = figure.draw(reading).axes
    expected = np.sort(reading["correlation"][0, :, 0, 0].ravel())
    np.testing.assert_array_equal(drawn(panels[0]), expected)
    assert "best alignment" in panels[2].get_ylabel()
    assert "absolute alignments" in figure.caption(reading)


def test_nothing_lies_outside_the_axes(wide, deep):
    for reading in (read(wide), along_depth(deep, "products")):
        for axes in figure.draw(reading).axes:
            low, high = axes.get_ylim()
            left, right = axes.get_xlim()
            for line in axes.lines[:-1]:
                y, x = np.asarray(line.get_ydata(), float), np.asarray(line.get_xdata(), float)
                assert ((y >= low) & (y <= high))[np.isfinite(y)].all()
                assert ((x >= left) & (x <= right)).all()


def test_panels_are_labelled(wide):
    panels = figure.draw(read(wide)).axes
    assert [axes.get_title("left")[:3] for axes in panels] == [f"({c})" for c in "abcdef"]
    assert all(axes.get_xlabel() for axes in panels[3:])
    assert all(axes.get_ylabel() for axes in panels[::3] + panels[2::3])
    (legend,) = panels[0].figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "$W_{2}$, Frobenius" in texts
    assert "share diverged, left out" in texts


def test_the_strip_shows_how_training_ended(wide):
    reading = read(wide)
    axes = figure.draw(reading).axes[1]
    heights = [bar.get_height() for bar in axes.patches]
    # Of 12 networks one was stopped and one diverged, at each of four sizes.
    np.testing.assert_allclose(heights, [drawing.STRIP / 12] * 8)
    np.testing.assert_allclose([bar.get_y() for bar in axes.patches[4:]], heights[:4])


def test_the_caption_tells_the_setting(wide):
    reading = read(wide)
    text = figure.caption(reading)
    assert (
        "12 linear networks of width 6 a point, of one teacher; depth 2, D = K = 1, 2, 3, 10"
        in text
    )
    assert "in the right column best spectral − best other norm" in text
    relu = read(wide | {"activation": np.array("relu")})
    assert "12 ReLU networks" in figure.caption(relu)
    assert "Of 96 networks 8 were stopped by the epoch limit and 8 diverged" in text


def test_a_run_in_which_all_converged_says_so(wide):
    reading = read(wide | {"status": np.zeros_like(wide["status"])})
    assert "All 96 networks trained until" in figure.caption(reading)
    (legend,) = figure.draw(reading).legends
    assert not [text for text in legend.get_texts() if "share" in text.get_text()]


def test_points_are_hollow_where_most_networks_were_stopped(wide):
    status = np.zeros_like(wide["status"])
    status[1] = 1  # the second point's networks, all of them
    reading = read(wide | {"status": status})
    stopped = reading.unfinished(reading.parametrisations[0]).tolist()
    assert stopped == reading["position"][1:2].tolist()
    panels = figure.draw(reading).axes
    for place, expected in ((0, []), (1, stopped)):
        hollow = [line for line in panels[place].lines if line.get_markerfacecolor() == "white"]
        assert sorted({x for line in hollow for x in line.get_xdata()}) == expected


def test_each_teacher_is_a_thin_line():
    networks = ensemble(sizes=(2, 3, 10), noise=0.2, teachers=3)
    reading = read(networks)
    thin = [line for line in figure.draw(reading).axes[2].lines if line.get_alpha() == 0.5]
    assert len(thin) == 2 * 3
    assert "of 3 teachers" in figure.caption(reading)
    each = networks | {key: networks[key][..., :4] for key in ("sharpness", "teacher", "status")}
    each |= {key: networks[key][:, :, :4] for key in ("norms", "products", "alignments")}
    np.testing.assert_allclose(
        reading["each_best_norm_lead"][0], read(each)["best_norm_lead"], atol=2e-12
    )


def test_a_single_size_can_be_drawn(wide):
    reading = read(wide, sizes=[1])
    assert len(figure.draw(reading).axes) == 6


def test_a_point_where_all_diverged_can_be_drawn(wide):
    sharpness = wide["sharpness"].copy()
    sharpness[:, 1] = np.nan
    reading = read(wide | {"sharpness": sharpness})
    panels = figure.draw(reading).axes
    assert len(panels[1].lines) == 1
