"""Lines with bands: means of draws, and curves that oscillate faster than a figure shows."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hessian_spectra.statistics import student_mean


def draw_mean(axes: Axes, values: xr.DataArray, along: str, **look: Any) -> None:
    """The mean of draws along a dimension, with a band: Student's interval of 95 %.

    Args:
        axes: where it is drawn.
        values: along that dimension, whose labels are numbers, and along the draws.
        along: that dimension.
        look: of the line; it has a ``color``.
    """
    mean, low, high = student_mean(values.transpose(..., along).values)
    axes.plot(values[along], mean, **look)
    axes.fill_between(values[along], low, high, color=look["color"], alpha=0.14, linewidth=0)


def envelope(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest of three neighbouring steps around each step, two at the ends.

    Args:
        values: ``(r,)``.

    Returns:
        ``(r,)`` both.

    Example:
        >>> low, high = envelope(np.array([0.0, 2.0, 1.0, 3.0]))
        >>> low.tolist(), high.tolist()
        ([0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0])
    """
    padded = np.pad(values.astype(float), 1, constant_values=np.nan)
    rows = np.lib.stride_tricks.sliding_window_view(padded, 3)
    return np.nanmin(rows, axis=1), np.nanmax(rows, axis=1)


def draw_envelope(axes: Axes, steps: np.ndarray, values: np.ndarray, **look: Any) -> None:
    """A band from the smallest to the largest of three neighbouring steps, and a line between."""
    low, high = envelope(values)
    axes.fill_between(steps, low, high, color=look.get("color"), alpha=0.3, linewidth=0)
    axes.plot(steps, (low + high) / 2, **look)
