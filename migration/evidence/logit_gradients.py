"""How mean gradients by class and score lie together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    kept = dict(sides["correlation"])
    names, count, embedding = (kept.pop(name) for name in ("layer", "classes", "embedding"))
    return {
        **kept,
        "layer_name": names,
        "class": np.arange(count),
        "score": np.arange(count),
        "axis": np.array(["x", "y"]),
        "embedding": embedding.reshape(len(embedding), count, count, 2),
    }
