"""Overlaps of the top eigenspaces of layers in independently trained networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays

RENAMED = {"layer": "layer_name", "place": "layer"}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side; runs before variations have none."""
    kept = sides["correlation"]
    return {RENAMED.get(name, name): np.asarray(kept[name]) for name in kept}
