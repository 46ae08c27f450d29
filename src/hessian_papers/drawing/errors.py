"""The axis of relative errors: how small ones are drawn, and where round-off ends."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

# Where an error that is zero is drawn, near the bottom of its axis.
FLOOR = 1e-18
BOTTOM = FLOOR / 4
# Half the distance from 1 to the next number of float64: a smaller relative error is a rounded one.
ROUNDING = 2.0**-53
ROUNDED: dict[str, Any] = {"facecolor": style.GREY, "alpha": 0.15, "linewidth": 0, "zorder": 0}


def visible(error: np.ndarray) -> np.ndarray:
    """Errors as they are drawn on a logarithmic axis, so that none at all still shows."""
    return np.maximum(error, FLOOR)


def rounding_band(axes: Axes) -> None:
    """Mark, in words too, what is below the rounding of a number of size 1."""
    axes.axhspan(BOTTOM, ROUNDING, **ROUNDED)
    axes.text(
        0.99, (FLOOR * ROUNDING) ** 0.5, "below the rounding of one number", ha="right",
        va="center", transform=axes.get_yaxis_transform(), fontsize=5, color=style.GREY,
    )  # fmt: skip


def error_axis(axes: Axes, top: float = 1e-8) -> None:
    """The axis of relative errors, with a dashed line up to which they are round-off."""
    axes.axhline(EXACT, color=style.VERMILION, linewidth=0.8, linestyle="--")
    rounding_band(axes)
    axes.set_ylim(BOTTOM, top)
