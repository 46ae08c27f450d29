"""The loss along a direction and in a plane, as figures."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, MaxNLocator

from hessian_spectra.pictures import style
from hessian_spectra.pictures.style import COLUMN_WIDTH

# Losses that differ by more are told apart on a logarithmic scale only.
_WIDE = 30.0
# How many levels a contour plot has, about.
_LEVELS = 24
_HERE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 5,
    "markeredgecolor": "white",
    "markeredgewidth": 0.8,
}


@runtime_checkable
class Curve(Protocol):
    """The values that :func:`draw_curve` reads; the arrays are anything that NumPy can convert."""

    @property
    def distances(self) -> Any:
        """``(n,)``."""

    @property
    def loss(self) -> Any:
        """``(n,)``."""

    @property
    def quadratic(self) -> Any:
        """``(n,)``."""

    @property
    def curvature(self) -> float:
        """The second derivative at zero."""


@runtime_checkable
class Plane(Protocol):
    """The values that :func:`draw_plane` reads; the arrays are anything that NumPy can convert."""

    @property
    def first(self) -> Any:
        """``(a,)``."""

    @property
    def second(self) -> Any:
        """``(b,)``."""

    @property
    def loss(self) -> Any:
        """``(a, b)``."""


def draw_curve(curve: Curve, direction: str = "the direction") -> Figure:
    """The loss along a direction, and the parabola that touches it at the network.

    Args:
        curve: distances, loss and quadratic approximation, as ``curvature.loss_along`` gives them.
        direction: what the axis is called, such as "the top eigenvector".

    Raises:
        ValueError: no loss is finite.
    """
    x, loss = np.asarray(curve.distances, float), np.asarray(curve.loss, float)
    quadratic = np.asarray(curve.quadratic, float)
    low, high = _range(loss)
    figure, axes = style.panels(height=2.3, width=COLUMN_WIDTH)
    axes.plot(x, loss, color=style.COLOURS["loss"], linewidth=1.6, label="loss")
    label = f"quadratic, curvature {curve.curvature:.3g}"
    axes.plot(x, quadratic, color=style.VERMILION, linestyle="--", label=label)
    if x[0] <= 0 <= x[-1]:
        height = np.interp(0.0, x, quadratic)
        axes.plot(0.0, height, color=style.BLUE, zorder=4, label="the network", **_HERE)
    # Where the parabola leaves the loss far behind it goes on outside.
    margin = 0.08 * (high - low or 1.0)
    axes.set_ylim(low - margin, high + margin)
    if len(x) > 1:
        axes.set_xlim(x[0], x[-1])
    axes.set(xlabel=f"distance along {direction}", ylabel="loss")
    axes.legend(loc="best")
    return figure


def draw_plane(
    plane: Plane, directions: tuple[str, str] = ("the first direction", "the second direction")
) -> Figure:
    """The loss in a plane, as lines of equal loss; distances have one scale on both axes.

    Losses that differ by much are drawn on a logarithmic scale; where the loss is not finite the
    plane stays white.

    Args:
        plane: distances and losses, as ``curvature.loss_plane`` gives them.
        directions: what the axes are called.

    Raises:
        ValueError: no loss is finite, or there are fewer than two distances along an axis.
    """
    x, y = np.asarray(plane.first, float), np.asarray(plane.second, float)
    loss = np.ma.masked_invalid(np.asarray(plane.loss, float).T)
    if min(loss.shape) < 2:
        raise ValueError(f"plane: expected two distances or more along each axis, got {loss.shape}")
    low, high = _range(loss.compressed())
    levels, norm = _levels(low, high)
    # What the labels take beside the plane itself, in inches.
    height = (COLUMN_WIDTH - 1.1) * float(np.ptp(y) / np.ptp(x)) + 0.5
    figure, axes = style.panels(height=float(np.clip(height, 1.9, 5.0)), width=COLUMN_WIDTH)
    figure.set_layout_engine("compressed")
    filled = axes.contourf(x, y, loss, levels, norm=norm, cmap=style.COLOURMAP)
    axes.contour(x, y, loss, levels, colors="white", linewidths=0.3, alpha=0.7)
    if x[0] <= 0 <= x[-1] and y[0] <= 0 <= y[-1]:
        axes.plot(0.0, 0.0, color=style.VERMILION, zorder=4, clip_on=False, **_HERE)
    _finish(figure, axes, filled, isinstance(norm, LogNorm))
    first, second = (f"distance along {direction}" for direction in directions)
    axes.set(xlabel=first, ylabel=second)
    return figure


def _finish(figure: Figure, axes: Axes, filled: Any, logarithmic: bool) -> None:
    axes.set_aspect("equal")
    axes.grid(visible=False)
    bar = figure.colorbar(filled, ax=axes, label="loss", pad=0.02, aspect=25)
    numbers = _round_numbers(*bar.mappable.get_clim()) if logarithmic else []
    bar.set_ticks(FixedLocator(numbers) if logarithmic else MaxNLocator(6))
    bar.formatter = FormatStrFormatter("%g")
    bar.update_ticks()
    bar.ax.minorticks_off()


def _round_numbers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two losses, or powers alone where these are many."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for factors in ([1, 2, 5], [1, 3], [1]):
        numbers = (decades[:, None] * factors).ravel()
        numbers = numbers[(low <= numbers) & (numbers <= high)]
        if len(numbers) <= 8:
            break
    return numbers[:: 1 + len(numbers) // 9].tolist()


def _levels(low: float, high: float) -> tuple[np.ndarray, Normalize]:
    """Levels between two losses, and the scale of their colours."""
    if low > 0 and high / low > _WIDE:
        return np.geomspace(low, high, _LEVELS), LogNorm(low, high)
    if high == low:
        high = low + (abs(low) or 1.0) * 1e-6
    return np.linspace(low, high, _LEVELS), Normalize(low, high)


def _range(loss: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest finite loss."""
    finite = loss[np.isfinite(loss)]
    if not finite.size:
        raise ValueError("loss: expected a finite number somewhere, got none")
    return float(finite.min()), float(finite.max())
