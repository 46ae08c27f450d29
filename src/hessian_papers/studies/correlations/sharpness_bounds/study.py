"""The sharpness of linear networks beside formulas for it.

singh2026cracking D.3.3 takes the Hessian as block-diagonal and finds the largest over the layers of
σ_max² (left product) σ_max² (right product). On whitened inputs that is a lower bound, and the same
terms summed (anon2026data (10)) are the largest eigenvalue of the Gauss-Newton matrix. With second
moments S of the inputs that eigenvalue is, of two layers, the largest of ``S^{1/2} (W_1ᵀW_1 +
‖W_2‖_2² I) S^{1/2}``: the sharpness wherever the residual is orthogonal to the inputs.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.labelled import Variable, Variables
from hessian_papers.studies.correlations.points import (
    GRID,
    POINTS,
    PointsConfig,
    described,
    select,
    study_data,
)
from hessian_papers.studies.correlations.teachers import members
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

FORMULAS = {"maximum": "largest_block", "sum": "ggn_sum", "Gauss-Newton": "gauss_newton"}
LABEL = "the largest of the layers' terms, their sum, or the Gauss-Newton matrix's eigenvalue"


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig):
    """The study's configuration; nothing is drawn."""

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks one of the points, or that the formulas are not about."""
        super().require_networks(networks)
        linear = networks.activation == "linear"
        require(linear, "ensemble", "linear networks, which the formulas are about", self.ensemble)


def ratios(dims: str) -> Variables:
    """The variables that :func:`over_formulas` makes, of points with these dimensions."""
    of_each = f"{dims} teacher"
    return {
        "formula": Variable("formula", LABEL),
        "miss": Variable(
            f"{of_each} formula", "|sharpness / formula - 1|, median over a teacher's networks"
        ),
        "largest_miss": Variable(f"{of_each} formula", "the same, the largest of them"),
        "smallest_ratio": Variable(f"{of_each} formula", "the smallest sharpness / formula"),
        "closer": Variable(
            of_each, "share of them for which the sum is nearer than the maximum, in logarithms"
        ),
    }


VARIABLES: Variables = {**POINTS, **ratios("parametrisation depth size time")}


def over_formulas(points: xr.Dataset, dims: tuple[str, ...]) -> Arrays:
    """The sharpness over each formula, of each teacher; NaN where none of its networks is finite.

    Args:
        points: of an ensemble.
        dims: of its points, in the order of the results.
    """
    flat = points.transpose(*dims, "network", ...)
    kept = np.stack(
        [flat["sharpness"].values / flat[key].values for key in FORMULAS.values()], axis=-1
    )
    each = [
        _of_one_teacher(np.moveaxis(kept[..., own, :], -2, 0))
        for own in members(points["teacher"].values)
    ]
    of_each = {name: np.stack([own[name] for own in each], axis=len(dims)) for name in each[0]}
    return {"formula": np.array(list(FORMULAS)), **of_each}


def _of_one_teacher(ratio: np.ndarray) -> Arrays:
    """The statistics of ratios ``(N, ..., formula)`` over the networks."""
    off, distance = np.abs(ratio - 1), np.abs(np.log(ratio))
    # Of networks that all diverged there is none.
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        closer = np.where(np.isnan(ratio[..., 1]), np.nan, distance[..., 1] < distance[..., 0])
        return {
            "miss": np.nanmedian(off, axis=0).round(12),
            "largest_miss": np.nanmax(off, axis=0).round(12),
            "smallest_ratio": np.nanmin(ratio, axis=0).round(12),
            "closer": np.nanmean(closer, axis=0),
        }


def correlation(config: Config, ensembles: xr.Dataset) -> xr.Dataset:
    """The sharpness over each formula, over the networks of each teacher.

    Args:
        config: the study's configuration.
        ensembles: the networks of the ensemble.

    Returns:
        What ``VARIABLES`` declares; NaN where no network is finite.
    """
    points = select(config, ensembles)
    arrays = described(points, config.along) | over_formulas(points, (*GRID, "time"))
    return study_data(arrays, VARIABLES)
