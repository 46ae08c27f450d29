"""The spectra of self-attention with vector tokens against the strength of a sink."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays

# The variables that each side's arrays are, where their names are others.
NAMES = {
    "closed_form": {"numeric_bulk": "sink_bulk"},
    "numerics": {
        "bias": "sink_bias",
        "attention": "sink_attention",
        "eigenvalues": "numerical",
        "first": "first_of_equals",
        "copies": "equals",
    },
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    named = {
        names.get(name, name): values
        for side, names in NAMES.items()
        for name, values in sides[side].items()
    }
    named["value_norm"], named["query_key_norm"] = named.pop("draw_norms").T
    return named | {"sink": np.array(["none", "largest"])}
