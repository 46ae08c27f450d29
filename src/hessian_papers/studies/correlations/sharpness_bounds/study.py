"""The sharpness of linear networks beside two formulas that neglect what the layers share.

singh2026cracking D.3.3 takes the Hessian as block-diagonal and finds the largest over the layers of
σ_max² (left product) σ_max² (right product). On whitened inputs that is a lower bound, and the same
terms summed (anon2026data (10)) are the largest eigenvalue of the generalised Gauss-Newton matrix,
which is the Hessian where the residual vanishes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.labelled import Variable, Variables
from hessian_papers.studies.correlations.points import (
    POINTS,
    PointsConfig,
    described,
    select,
    study_data,
)
from hessian_spectra.validation import require

FORMULAS = {"maximum": "largest_block", "sum": "ggn_sum"}
# The whole range, central 95 %, 50 % and the median.
LEVELS = (0.0, 0.025, 0.25, 0.5, 0.75, 0.975, 1.0)


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig):
    """The study's configuration; nothing is drawn."""

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks one of the points, or that the formulas are not about."""
        super().require_networks(networks)
        linear = networks.activation == "linear"
        require(linear, "ensemble", "linear networks, which the formulas are about", self.ensemble)


VARIABLES: Variables = {
    **POINTS,
    "formula": Variable("formula", "the largest of the layers' terms, or their sum"),
    "level": Variable("level", "of a quantile over networks"),
    "ratio": Variable(
        "parametrisation depth size time formula level", "quantiles of sharpness over formula"
    ),
    "used": Variable("parametrisation depth size time", "networks with finite ratios"),
    "closer": Variable(
        "parametrisation depth size time",
        "share of the networks for which the sum is nearer, in logarithms",
    ),
}


def correlation(config: Config, ensembles: xr.Dataset) -> xr.Dataset:
    """The distribution of the sharpness over each formula, over the networks.

    Args:
        config: the study's configuration.
        ensembles: the networks of the ensemble.

    Returns:
        What ``VARIABLES`` declares; NaN where no network is finite.
    """
    points = select(config, ensembles)
    sharpness = points["sharpness"].values
    ratios = np.stack([sharpness / points[key].values for key in FORMULAS.values()], axis=-2)
    usable = (np.isfinite(ratios) & (ratios > 0)).all(axis=-2, keepdims=True)
    kept = np.where(usable, ratios, np.nan)
    maximum, total = np.moveaxis(kept, -2, 0)
    used = usable.sum(axis=(-2, -1))
    closer = (np.abs(np.log(total)) < np.abs(np.log(maximum))).sum(axis=-1)
    arrays = {
        **described(points, config.along),
        "formula": np.array(list(FORMULAS)),
        "level": np.array(LEVELS),
        "ratio": _quantiles(kept),
        "used": used,
        "closer": np.where(used > 0, closer / np.maximum(used, 1), np.nan),
    }
    return study_data(arrays, VARIABLES)


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Quantiles along the last axis without its NaN, ``(..., q)``."""
    flat = values.reshape(-1, values.shape[-1])
    rows = [
        np.quantile(kept, LEVELS) if len(kept) else np.full(len(LEVELS), np.nan)
        for kept in (row[np.isfinite(row)] for row in flat)
    ]
    return np.round(np.array(rows), 12).reshape(*values.shape[:-1], len(LEVELS))
