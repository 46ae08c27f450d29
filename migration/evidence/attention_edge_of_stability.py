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
    named = {NAMES.get(name, name): values for name, values in exact.items()}
    for old, new in PREFIXES.items():
        named = {name.replace(old, new): values for name, values in named.items()}
    shape = named["exact"].shape
    named |= {name: np.broadcast_to(named[name], shape) for name in ("kind", "cell")}
    numerical = np.full(shape, np.nan)
    numerical[np.searchsorted(named["step"], numerics["step"])] = numerics["eigenvalues"]
    return named | {"numerical": numerical, "term": np.array(TERMS)}
