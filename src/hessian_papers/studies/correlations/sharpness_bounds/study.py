"""The sharpness of linear networks beside two formulas that neglect what the layers share.

singh2026cracking D.3.3 takes the Hessian as block-diagonal and finds the largest over the layers of
σ_max² (left product) σ_max² (right product). On whitened inputs that is a lower bound, and the same
terms summed (anon2026data (10)) are the largest eigenvalue of the generalised Gauss-Newton matrix,
which is the Hessian where the residual vanishes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hessian_papers.studies.correlations.points import AlongConfig, labels, outcomes, select
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

FORMULAS = {"maximum": "largest_block", "sum": "ggn_sum"}
# The whole range, central 95 %, 50 % and the median.
LEVELS = (0.0, 0.025, 0.25, 0.5, 0.75, 0.975, 1.0)


@dataclass(frozen=True, kw_only=True)
class Config(AlongConfig):
    """The study's configuration; nothing is drawn."""

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks one of the points, or that the formulas are not about."""
        super().require_networks(networks)
        linear = networks.activation == "linear"
        require(linear, "ensemble", "linear networks, which the formulas are about", self.ensemble)


def correlation(config: Config, ensembles: Arrays) -> Arrays:
    """How the sharpness over each formula is distributed over the networks.

    Args:
        config: the study's configuration.
        ensembles: the arrays of the ensemble.

    Returns:
        With ``p`` parametrisations, ``x`` positions (sizes or depths) and ``q`` quantile levels,
        for the formulas ``maximum`` and ``sum``: ``ratio_<formula> (p, x, 2, q)``, quantiles of the
        sharpness over the formula; ``pooled_<formula> (p, 2, q)``, those of all positions together.
        ``closer (p, x, 2)``: the share of networks for which the sum is the nearer one, in
        logarithms; ``below (p, x, 2)``: how many are below the maximum; ``used (p, x, 2)``: finite
        networks; ``networks``, ``diverged (p, x)``, ``epoch_limit (p, x)``. NaN where no network is
        finite.

    Raises:
        ValueError: the ensemble lacks what the configuration asks for.
    """
    points = select(config, ensembles)
    sharpness = ensembles["sharpness"][points]  # (p, x, 2, N)
    ratios = {name: sharpness / ensembles[key][points] for name, key in FORMULAS.items()}
    usable = np.logical_and.reduce([np.isfinite(r) & (r > 0) for r in ratios.values()])
    distance = {name: np.abs(np.log(np.where(usable, r, 1.0))) for name, r in ratios.items()}
    used = usable.sum(axis=-1)
    closer = (usable & (distance["sum"] < distance["maximum"])).sum(axis=-1)
    arrays: Arrays = {}
    for name, ratio in ratios.items():
        kept = np.where(usable, ratio, np.nan)
        arrays[f"ratio_{name}"] = _quantiles(kept)
        pooled = np.moveaxis(kept, 1, 2).reshape(len(points), 2, -1)
        arrays[f"pooled_{name}"] = _quantiles(pooled)
    return (
        arrays
        | labels(config, ensembles, points)
        | outcomes(ensembles, points)
        | {
            "level": np.array(LEVELS),
            "used": used,
            "closer": np.where(used > 0, closer / np.maximum(used, 1), np.nan),
            "below": (usable & (ratios["maximum"] < 1)).sum(axis=-1),
        }
    )


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Quantiles along the last axis without its NaN, ``(..., q)``."""
    flat = values.reshape(-1, values.shape[-1])
    rows = [
        np.quantile(kept, LEVELS) if len(kept) else np.full(len(LEVELS), np.nan)
        for kept in (row[np.isfinite(row)] for row in flat)
    ]
    return np.round(np.array(rows), 12).reshape(*values.shape[:-1], len(LEVELS))
