"""Pictures of spectra: what is drawn is what was given, and nothing that is no spectrum."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.pictures import draw_density, draw_spectrum, style
from hessian_spectra.spectrum import Spectrum

MATRIX = torch.diag(torch.cat([torch.linspace(-1, 1, 150), torch.tensor([5.0, 8.0])]).double())
DENSITY = cv.spectral_density(MATRIX, probes=3, steps=20)
POSITIVE = cv.spectral_density(MATRIX @ MATRIX, probes=3, steps=20)
EXACT = cf.two_layer_relu(
    [1.0, 0.5, -0.3], [0.5, 1.0, 0.2], [1.0, -1.0, 2.0, -0.5], [2.0, -1.0, 1.0, 0.3]
)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def of_line(line):
    return np.array(line.get_xdata()), np.array(line.get_ydata())


def band(axes, number=0):
    """The lower and the upper end of a band, by its places."""
    (path,) = axes.collections[number].get_paths()
    ends = {}
    for x, y in path.vertices:
        ends.setdefault(x, []).append(y)
    return np.array(sorted(ends)), *(
        np.array([end(ends[x]) for x in sorted(ends)]) for end in (min, max)
    )


def test_a_density_is_drawn_with_its_interval_down_to_five_decades():
    (axes,) = draw_density(DENSITY, level=0.9).axes
    (line,) = axes.lines
    x, y = of_line(line)
    floor = 1e-5 * float(DENSITY.density.max())
    shown = DENSITY.density.numpy() > floor
    np.testing.assert_array_equal(x, DENSITY.grid)
    np.testing.assert_array_equal(y[shown], DENSITY.density[shown])
    assert np.isnan(y[~shown]).all()
    assert (~shown).any()
    places, low, high = band(axes)
    np.testing.assert_array_equal(places, DENSITY.grid)
    for drawn, end in zip((low, high), DENSITY.interval(0.9), strict=True):
        np.testing.assert_allclose(drawn, end.clamp(min=floor), rtol=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("eigenvalue", "density (integral 1)")
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] == pytest.approx(floor)
    assert axes.get_ylim()[1] > high.max()
    assert axes.get_legend() is None


def test_outliers_are_marked_where_they_are():
    (axes,) = draw_density(DENSITY, outliers=torch.tensor([5.0, 8.0])).axes
    _, marks = axes.lines
    np.testing.assert_array_equal(of_line(marks)[0], [5.0, 8.0])
    assert legend(axes) == ["top 2"]


def test_densities_side_by_side_share_axes_that_show_all_of_them():
    axes = Figure().subplots()
    for factor in (1.0, 100.0):
        density = replace(DENSITY, density=DENSITY.density * factor)
        figure = draw_density(density, axes, color=style.GREEN, label=f"{factor:g}")
    assert figure is axes.get_figure()
    assert legend(axes) == ["1", "100"]
    low, high = axes.get_ylim()
    assert low == pytest.approx(1e-5 * float(DENSITY.density.max()))
    assert high > 100 * float(DENSITY.density.max())
    assert {line.get_color() for line in axes.lines} == {style.GREEN}


def test_the_eigenvalues_may_be_on_logarithmic_axes():
    (axes,) = draw_density(DENSITY, scale="symlog").axes
    assert axes.get_xscale() == "symlog"
    (axes,) = draw_density(POSITIVE, scale="log").axes
    assert axes.get_xscale() == "log"
    assert axes.get_xlim()[0] == pytest.approx(POSITIVE.width)
    with pytest.raises(ValueError, match=r"negative eigenvalues, got 'log' .* to -0\.9\d+$"):
        draw_density(DENSITY, scale="log")
    with pytest.raises(ValueError, match=r"scale: expected 'linear', 'symlog' or 'log', got 'ln'"):
        draw_density(DENSITY, scale="ln")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"density": torch.full((1000,), torch.nan)}, "density: expected finite numbers, got nan a"
         "t 1000 of 1000"),
        ({"grid": torch.zeros(0)}, "grid: expected numbers, got none"),
        ({"density": torch.zeros(1000)}, "density: expected a positive number somewhere, got none"),
    ],
)  # fmt: skip
def test_what_is_no_density_is_refused(change, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        draw_density(replace(DENSITY, **change))


def test_eigenvalues_are_drawn_from_the_largest_on_by_kind_and_cell():
    (axes,) = draw_spectrum(EXACT).axes
    ranks, values = (np.concatenate(part) for part in zip(*map(of_line, axes.lines), strict=True))
    order = np.argsort(ranks)
    np.testing.assert_array_equal(ranks[order], np.arange(1, len(EXACT.eigenvalues) + 1))
    np.testing.assert_array_equal(values[order], EXACT.eigenvalues.flip(0))
    for line in axes.lines:
        name, _, count = line.get_label().partition(" (")
        kind, _, cell = name.partition(" ")
        own = EXACT.select(kind, cell)
        np.testing.assert_array_equal(of_line(line)[1], own.flip(0))
        assert count == f"{len(own)})"
        assert (line.get_color() == style.VERMILION) == (kind == "outlier")
    assert len({line.get_marker() for line in axes.lines}) == len({*EXACT.cells})
    assert legend(axes) == [line.get_label() for line in axes.lines]


def test_bars_are_the_residuals_in_units_of_the_largest_eigenvalue():
    top = Spectrum(
        values=torch.tensor([2.0, -4.0, 1.0]),
        multiplicities=(1, 1, 1),
        kinds=("numeric",) * 3,
        method="Lanczos",
        residuals=torch.tensor([0.1, 0.2, 1e-12]),
    )
    (axes,) = draw_spectrum(top).axes
    (segments,) = (lines.get_segments() for lines in axes.collections)
    np.testing.assert_allclose(segments, [[[1, 1.6], [1, 2.4]], [[3, -4.8], [3, -3.2]]], rtol=1e-6)


def test_another_spectrum_stands_below_as_points():
    numerical = cv.dense_spectrum(torch.diag(EXACT.eigenvalues))
    (axes,) = draw_spectrum(EXACT, beside=numerical).axes
    points, *rings = axes.lines
    np.testing.assert_allclose(of_line(points)[1], EXACT.eigenvalues.flip(0), atol=1e-14)
    assert legend(axes)[0] == numerical.method
    assert {ring.get_markerfacecolor() for ring in rings} == {"none"}
    assert sum(len(of_line(ring)[0]) for ring in rings) == len(EXACT.eigenvalues)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "spectrum: expected numbers, got none"),
        ([1.0, np.inf], "spectrum: .*, got inf at 1 of"),
    ],
)
def test_what_is_no_spectrum_is_refused(values, message):
    spectrum = SimpleNamespace(
        values=values, multiplicities=[1] * len(values), kinds=["bulk"] * len(values), cells=None,
        residuals=None, method="none",
    )  # fmt: skip
    with pytest.raises(ValueError, match=message):
        draw_spectrum(spectrum)
