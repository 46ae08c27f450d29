"""Figures of the loss: what is drawn is what was given, whatever its scale."""

from types import SimpleNamespace

import numpy as np
import pytest

from hessian_spectra.pictures.landscape import draw_curve, draw_plane


def curve(loss=None):
    x = np.linspace(-2, 2, 9)
    return SimpleNamespace(
        distances=x, loss=x**2 + x**4 if loss is None else loss, quadratic=x**2, curvature=2.0
    )


def plane(loss):
    return SimpleNamespace(first=[-1.0, 0.0, 2.0], second=[-1.0, 1.0], loss=loss)


def test_a_curve_shows_loss_parabola_and_network():
    figure = draw_curve(curve(), "an eigenvector")
    (axes,) = figure.axes
    loss, parabola, network = axes.lines
    np.testing.assert_array_equal(loss.get_ydata(), curve().loss)
    np.testing.assert_array_equal(parabola.get_ydata(), curve().quadratic)
    assert list(network.get_xdata()) == [0.0]
    assert axes.get_xlabel() == "distance along an eigenvector"
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["loss", "quadratic, curvature 2", "the network"]


def test_the_loss_sets_the_scale_of_a_curve():
    """Not a parabola that leaves it behind, nor an infinite loss."""
    loss = np.full(9, 1.0)
    loss[4], loss[8] = 0.0, np.inf
    steep = curve(loss)
    steep.quadratic = 1e6 * steep.distances**2
    low, high = draw_curve(steep).axes[0].get_ylim()
    assert -0.5 < low < 0
    assert 1 < high < 1.5


def test_the_network_is_marked_only_where_it_is():
    one_side = SimpleNamespace(distances=[1.0, 2.0], loss=[1.0, 4.0], quadratic=[1, 4], curvature=2)
    assert len(draw_curve(one_side).axes[0].lines) == 2


@pytest.mark.parametrize(
    ("low", "high", "logarithmic"), [(1.0, 3.0, False), (1e-3, 10.0, True), (-1.0, 100.0, False)]
)
def test_the_scale_of_a_plane_follows_its_losses(low, high, logarithmic):
    figure = draw_plane(plane(np.linspace(low, high, 6).reshape(3, 2)), ("a", "b"))
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("distance along a", "distance along b")
    assert axes.get_xlim() == (-1, 2)
    assert axes.get_ylim() == (-1, 1)
    assert axes.get_aspect() == 1
    assert (bar.get_yscale() == "log") == logarithmic
    ticks = [tick for tick in bar.get_yticks() if low <= tick <= high]
    assert 2 <= len(ticks) <= 9


def test_the_first_axis_of_a_plane_is_drawn_across():
    figure = draw_plane(plane([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]))
    lines = [path for path in figure.axes[0].collections[1].get_paths() if len(path.vertices)]
    assert lines
    for path in lines:
        assert np.ptp(path.vertices[:, 0]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("loss", [np.ones((3, 2)), np.zeros((3, 2)), [[1, np.nan], [2, 3], [4, 5]]])
def test_flat_planes_and_holes_can_be_drawn(loss, tmp_path):
    draw_plane(plane(loss)).savefig(tmp_path / "plane.png")


@pytest.mark.parametrize(("low", "high"), [(1e-30, 1.0), (0.9, 30.0), (1.0, 31.0)])
def test_wide_scales_have_few_ticks(low, high, tmp_path):
    figure = draw_plane(plane(np.geomspace(low, high, 6).reshape(3, 2)))
    figure.savefig(tmp_path / "plane.png")
    assert len(figure.axes[1].get_yticks()) <= 12


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="loss: expected a finite number somewhere, got none"):
        draw_curve(curve(np.full(9, np.nan)))
    with pytest.raises(ValueError, match=r"two distances or more along each axis, got \(1, 3\)"):
        draw_plane(SimpleNamespace(first=[0, 1, 2], second=[0], loss=np.ones((3, 1))))
