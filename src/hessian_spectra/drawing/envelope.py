"""Curves that oscillate faster than a figure shows: the range of neighbouring steps as a band."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes


def envelope(values: np.ndarray, window: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest of the neighbouring steps of each step.

    Args:
        values: ``(r,)``.
        window: how many steps, an odd number, with the step itself in the middle; fewer at the
            ends.

    Returns:
        ``(r,)`` both.

    Example:
        >>> low, high = envelope(np.array([0.0, 2.0, 1.0, 3.0]))
        >>> low.tolist(), high.tolist()
        ([0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0])
    """
    reach = window // 2
    padded = np.pad(values.astype(float), reach, constant_values=np.nan)
    rows = np.lib.stride_tricks.sliding_window_view(padded, window)
    return np.nanmin(rows, axis=1), np.nanmax(rows, axis=1)


def draw_envelope(axes: Axes, steps: np.ndarray, values: np.ndarray, **look: Any) -> None:
    """A band from the smallest to the largest of three neighbouring steps, and a line between."""
    low, high = envelope(values)
    axes.fill_between(steps, low, high, color=look.get("color"), alpha=0.3, linewidth=0)
    axes.plot(steps, (low + high) / 2, **look)
