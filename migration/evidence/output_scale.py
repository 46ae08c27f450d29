"""The size of outputs against the width."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    output = np.moveaxis(sides["numerics"]["size"], (3, 4), (0, 1))
    return {**sides["closed_form"], "output": output}
