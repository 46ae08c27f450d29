"""The sharpness and the share of the largest class."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    columns = {**sides["closed_form"], **sides["numerics"]}
    columns["features"] = columns.pop("rank")
    number = np.arange(len(columns["share"]))
    time = np.array(["start", "end"])
    return columns | {"network": number, "time": time, "edge": columns["edge"][0]}
