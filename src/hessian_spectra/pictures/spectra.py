"""A spectrum as a density, and as its eigenvalues one by one."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_spectra.pictures import style
from hessian_spectra.pictures.style import COLUMN_WIDTH
from hessian_spectra.validation import require_word

SCALES = ("linear", "symlog", "log")
# Decades below the highest point: a smooth density falls off without end, and nothing is resolved
# further down.
_DECADES = 5
# The share of the axis that a bar has to be long.
_SEEN = 1e-3
_KINDS = {"bulk": style.GREY, "outlier": style.VERMILION, "zero": style.SKY}
# Those of the parts of a network that a closed form tells apart.
_MARKERS = "osD^vP"


@runtime_checkable
class Density(Protocol):
    """The values that :func:`draw_density` reads, arrays of anything that NumPy can convert."""

    @property
    def grid(self) -> Any:
        """``(g,)``, ascending."""

    @property
    def density(self) -> Any:
        """``(g,)``."""

    @property
    def width(self) -> float:
        """The standard deviation of the kernel."""

    def interval(self, level: float) -> tuple[Any, Any]:
        """``(g,)`` and ``(g,)``."""


@runtime_checkable
class Eigenvalues(Protocol):
    """The values that :func:`draw_spectrum` reads, arrays of anything that NumPy can convert.

    A :class:`hessian_spectra.spectrum.Spectrum` has them, one entry per group of equal eigenvalues.
    """

    @property
    def values(self) -> Any:
        """``(g,)`` one eigenvalue per group, in any order."""

    @property
    def multiplicities(self) -> Sequence[int]:
        """``(g,)``."""

    @property
    def kinds(self) -> Sequence[str]:
        """``(g,)``."""

    @property
    def cells(self) -> Sequence[str] | None:
        """``(g,)`` or ``None``."""

    @property
    def residuals(self) -> Any:
        """``(g,)`` relative to the largest eigenvalue, or ``None``."""

    @property
    def method(self) -> str:
        """The theorem or the algorithm that made it."""


def draw_density(
    density: Density,
    axes: Axes | None = None,
    *,
    outliers: Any = None,
    scale: str = "linear",
    level: float = 0.95,
    color: Any = style.BLUE,
    label: str | None = None,
) -> Figure:
    """The density of the eigenvalues on a logarithmic axis, with its band over the probes.

    It shows the five decades below the highest point of all densities on the axes.

    Args:
        density: as ``curvature.spectral_density`` gives it.
        axes: where to draw it, beside what is there; by default a figure of its own.
        outliers: eigenvalues ``(k,)`` that are marked below, such as those of ``top_eigenpairs``:
            the density alone does not tell a single one from a small bump.
        scale: of the eigenvalues: ``"linear"``; ``"symlog"``, logarithmic on both sides beyond the
            kernel's width, below which nothing is resolved; or ``"log"`` of a matrix without
            negative eigenvalues, from that width on.
        level: of the intervals that the band is made of, for each point by itself.
        color: of line and band.
        label: of the line, for a legend.

    Returns:
        The figure; ``figure.savefig("density.png")`` writes it.

    Raises:
        ValueError: there is no density, a number of it is not finite, or it has negative
            eigenvalues on a logarithmic axis.

    Example:
        >>> import torch
        >>> from hessian_spectra import curvature as cv
        >>> density = cv.spectral_density(torch.diag(torch.linspace(-1.0, 4.0, 200)))
        >>> (axes,) = draw_density(density, outliers=[4.0]).axes
        >>> axes.get_yscale(), [text.get_text() for text in axes.get_legend().get_texts()]
        ('log', ['top 1'])
    """
    require_word("scale", scale, SCALES)
    grid, values = _finite("grid", density.grid), _finite("density", density.density)
    low, high = (_finite("interval", end) for end in density.interval(level))
    if not values.max() > 0:
        raise ValueError("density: expected a positive number somewhere, got none")
    # The grid begins four kernel widths below the smallest eigenvalue.
    if scale == "log" and (smallest := grid[0] + 4 * density.width) < -density.width:
        raise ValueError(
            "scale: expected linear or symlog of a density with negative eigenvalues, got 'log' "
            f"and eigenvalues down to {smallest:.3g}"
        )
    figure, axes = _place(axes)
    floor, top = values.max() * 10.0**-_DECADES, high.max() * 3
    if axes.lines:
        floor, top = min(floor, axes.get_ylim()[0]), max(top, axes.get_ylim()[1])
    band = (np.maximum(end, floor) for end in (low, high))
    axes.fill_between(grid, *band, color=color, alpha=0.25, linewidth=0)
    axes.plot(grid, np.where(values > floor, values, np.nan), **style.look(color, label=label))
    if outliers is not None and len(marked := _finite("outliers", outliers)):
        where = axes.get_xaxis_transform()
        look: dict[str, Any] = {"color": style.VERMILION, "markersize": 7, "transform": where}
        axes.plot(marked, np.full(len(marked), 0.03), "|", label=f"top {len(marked)}", **look)
    if scale == "log":
        axes.set_xscale("log")
        axes.set_xlim(density.width, grid[-1])
    elif scale == "symlog":
        # From a power of ten on, since ticks within the linear part lie over each other.
        axes.set_xscale("symlog", linthresh=10 ** np.ceil(np.log10(density.width)))
    axes.set(yscale="log", ylim=(floor, top), xlabel="eigenvalue", ylabel="density (integral 1)")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="best")
    return figure


def draw_spectrum(
    spectrum: Eigenvalues,
    axes: Axes | None = None,
    *,
    beside: Eigenvalues | None = None,
) -> Figure:
    """The eigenvalues from the largest on, each kind in its colour, with bars of their residuals.

    A bar reaches as far as the residual allows: ``‖H z − λ z‖`` on either side of λ there is an
    eigenvalue. The part of a network that eigenvalues belong to is told by the marker.

    Args:
        spectrum: of a closed form, or numerical.
        axes: where to draw it, beside what is there; by default a figure of its own.
        beside: another one of the same matrix, as brute force beside a closed form, which is drawn
            below as points; this one is then drawn as rings around them.

    Returns:
        The figure; ``figure.savefig("spectrum.png")`` writes it.

    Raises:
        ValueError: there is no eigenvalue, or one is not finite.

    Example:
        >>> import torch
        >>> from hessian_spectra import closed_form as cf
        >>> exact = cf.two_layer_linear([1.0, 0.5], [0.5, 1.0], [1.0, -1.0], [2.0, -1.0])
        >>> (axes,) = draw_spectrum(exact).axes
        >>> [text.get_text() for text in axes.get_legend().get_texts()]
        ['outlier (2)', 'bulk (2)']
    """
    figure, axes = _place(axes)
    if beside is not None:
        _points(axes, beside, style.NUMERIC, beside.method)
        _points(axes, spectrum, style.EXACT_RING)
    else:
        _points(axes, spectrum, {"linestyle": "none", "markersize": 4})
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set(xlabel="rank of the eigenvalue", ylabel="eigenvalue")
    axes.legend(loc="best")
    return figure


def _points(axes: Axes, spectrum: Eigenvalues, look: dict[str, Any], name: str = "") -> None:
    """The eigenvalues by rank, those of each kind and cell together unless all have one name."""
    values = _finite("spectrum", spectrum.values)
    order = np.argsort(-values, kind="stable")
    groups = np.repeat(order, np.asarray(spectrum.multiplicities)[order])
    if not groups.size:
        raise ValueError("spectrum: expected an eigenvalue or more, got none")
    ranks, sizes = np.arange(1, groups.size + 1), values[groups]
    bars = np.zeros_like(sizes)
    if spectrum.residuals is not None:
        bars = _finite("residuals", spectrum.residuals)[groups] * np.abs(values).max()
    cells = spectrum.cells or [""] * len(values)
    names = [f"{kind} {cell}".strip() for kind, cell in zip(spectrum.kinds, cells, strict=True)]
    known = [name or names[group] for group in groups]
    markers = {cell: _MARKERS[place % len(_MARKERS)] for place, cell in enumerate(sorted({*cells}))}
    for label, count in Counter(known).items():
        own = np.array([each == label for each in known])
        group = int(groups[own.argmax()])
        color = style.BLUE if name else _KINDS.get(spectrum.kinds[group], style.BLUE)
        place = {"color": color, "marker": "o" if name else markers[cells[group]]}
        text = label if name else f"{label} ({count})"
        axes.plot(ranks[own], sizes[own], **look | place, label=text)
        # Those of a dense solver are round-off.
        if (seen := own & (bars > _SEEN * np.ptp(sizes))).any():
            bar: dict[str, Any] = {"fmt": "none", "color": color, "capsize": 2}
            axes.errorbar(ranks[seen], sizes[seen], bars[seen], **bar)


def _place(axes: Axes | None) -> tuple[Figure, Axes]:
    """Axes and their figure, a new one where there are none."""
    if axes is None:
        return style.panels(height=2.3, width=COLUMN_WIDTH)
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure, axes


def _finite(field: str, numbers: Any) -> np.ndarray:
    """Numbers ``(n,)`` as an array, float64.

    Raises:
        ValueError: there are none, or one is not finite.
    """
    array = np.asarray(numbers.detach().cpu() if hasattr(numbers, "detach") else numbers, float)
    if not array.size:
        raise ValueError(f"{field}: expected numbers, got none")
    if (bad := ~np.isfinite(array)).any():
        raise ValueError(
            f"{field}: expected finite numbers, got {array[bad][0]} at {bad.sum()} of {array.size}"
        )
    return array
