"""The sharpness against depth and the norm of the labels."""

from collections.abc import Mapping
from typing import Any

from hessian_spectra.files import Arrays

NAMES = {
    "depths": "depth",
    "norms": "norm",
    "label_norms": "label_norm",
    "contour_depths": "real_depth",
    "curves": "curve",
    "flattest_depths": "flattest_depth",
    "contour_norms": "contour_norm",
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    both = {**sides["closed_form"], **sides["numerics"]}
    return {NAMES.get(name, name): values for name, values in both.items()}
