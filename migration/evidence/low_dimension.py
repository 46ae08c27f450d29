"""The lead of the product without the last matrix at two sizes."""

from collections.abc import Mapping
from typing import Any

from hessian_spectra.files import Arrays
from migration.evidence.ensembles import points, resampled, with_intervals


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    old = sides["correlation"]
    counts = {name: old[name] for name in ("diverged", "epoch_limit")}
    return {**points(old), **counts, **resampled(old), **with_intervals(old)}
