"""The axis of relative errors: how small ones are drawn, and where round-off ends."""

import numpy as np
from matplotlib.axes import Axes

from hessian_spectra.agreement import EXACT
from hessian_spectra.drawing import style

# The bottom of an axis of errors, at which one that is zero is drawn.
FLOOR = 1e-18


def visible(error: np.ndarray) -> np.ndarray:
    """Errors as they are drawn on a logarithmic axis, so that none at all still shows."""
    return np.maximum(error, FLOOR)


def error_axis(axes: Axes, bottom: float = FLOOR, top: float = 1e-8) -> None:
    """The axis of relative errors, with a dashed line up to which they are round-off."""
    axes.axhline(EXACT, color=style.VERMILION, linewidth=0.8, linestyle="--")
    axes.set_ylim(bottom, top)
