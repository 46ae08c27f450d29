"""Curves that oscillate faster than a figure shows: the range of neighbouring steps as a band."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes


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
