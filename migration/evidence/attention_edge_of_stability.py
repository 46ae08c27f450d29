"""Self-attention at the edge of stability."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.studies.attention.attention_edge_of_stability.study import TERMS
from hessian_spectra.files import Arrays

PREFIXES = {"norm/": "norm_", "draws/": "draw_"}
NAMES = {"eigenvalues": "exact", "draws/rate": "rate"}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numerics = sides["closed_form"], sides["numerics"]
    found = {NAMES.get(name, name): values for name, values in exact.items()}
    for old, new in PREFIXES.items():
        found = {name.replace(old, new): values for name, values in found.items()}
    shape = found["exact"].shape
    found |= {name: np.broadcast_to(found[name], shape) for name in ("kind", "cell")}
    numerical = np.full(shape, np.nan)
    numerical[np.searchsorted(found["step"], numerics["step"])] = numerics["eigenvalues"]
    return found | {"numerical": numerical, "term": np.array(TERMS)}
