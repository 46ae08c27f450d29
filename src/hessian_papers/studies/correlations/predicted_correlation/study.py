"""Correlations with norms, of the sharpness and of what stands for it in the same networks.

Where the residual is small the sharpness of a linear network is nearly the largest eigenvalue of
its Gauss-Newton matrix, to which each matrix has a term. The sum of the terms is a surrogate for
it, exact for white inputs and for one input. In two layers the norm of each matrix is correlated
with both, in deeper networks that of the product of all matrices but one. The correlations with a
surrogate are no predictions: they are of the networks whose sharpness is measured.
"""

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
from hessian_papers.studies.correlations.teachers import of_each_teacher
from hessian_spectra.validation import require

# What stands for the sharpness: the sum of the terms without the second moments of the inputs, in
# two layers the squared norms; that of the terms with them; and, of two layers alone, the largest
# eigenvalue of the Gauss-Newton matrix.
FORMULAS = ("norms", "terms", "Gauss-Newton")
# The norms that are correlated, by what varies.
CORRELATED = {"size": "norms", "depth": "products"}


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig):
    """The study's configuration; nothing is drawn."""

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks one of the points, or that the formulas are not about."""
        super().require_networks(networks)
        fits = networks.activation == "linear" and (self.along == "depth" or self.depths == [2])
        require(fits, "ensemble", "linear networks, of two layers along size", self.ensemble)


_EACH = "teacher parametrisation depth size time layer"
VARIABLES: Variables = {
    **POINTS,
    "layer": Variable(
        "layer", "whose squared spectral norm is correlated, or that of the product of all others"
    ),
    "formula": Variable("formula", "what stands for the sharpness"),
    "measured": Variable(_EACH, "Pearson's r of squared norm and sharpness, of a teacher"),
    "surrogate": Variable(f"{_EACH} formula", "the same with a formula in place of the sharpness"),
}


def correlation(config: Config, ensembles: xr.Dataset) -> xr.Dataset:
    """Correlations with the sharpness and with the formulas that stand for it.

    Args:
        config: the study's configuration.
        ensembles: the networks of the ensemble.

    Returns:
        What ``VARIABLES`` declares; NaN where all networks of a teacher diverged.
    """
    points = select(config, ensembles)
    layers = np.arange(1, points["depth"].max().item() + 1)
    flat = points.sel(layer=layers).transpose(*GRID, "time", "network", ...)
    squares = flat[CORRELATED[config.along]].sel(norm="spectral").values ** 2
    own = flat["layer"] <= flat["depth"]
    terms = flat["sampled_terms"].where(own, 0.0).sum("layer", skipna=False)
    stands = [flat["ggn_sum"], terms.transpose(*GRID, "time", "network")]
    if config.along == "size":
        stands += [flat["gauss_newton"]]
    teacher = points["teacher"].values
    measured = of_each_teacher(flat["sharpness"].values, squares, teacher)
    surrogate = [of_each_teacher(each.values, squares, teacher) for each in stands]
    arrays = {
        **described(points, config.along),
        "layer": layers,
        "formula": np.array(FORMULAS[: len(stands)]),
        "measured": measured.round(12),
        "surrogate": np.stack(surrogate, axis=-1).round(12),
    }
    return study_data(arrays, VARIABLES)
