"""Correlations of the sharpness by the inputs and by the scale of the teacher.

D.3.3 of singh2026cracking argues with white inputs and measures on samples, and does not name the
scale of its teacher. The networks of the ensemble begin the same under all of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.labelled import Variable, Variables, data_set, left_out
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.studies.correlations.ensembles import NORMS
from hessian_papers.studies.correlations.norm_correlation.regions import magnitude_ratio
from hessian_papers.studies.correlations.points import (
    DIVERGED,
    EPOCH_LIMIT,
    POINTS,
    trained_teachers,
)
from hessian_papers.studies.correlations.sharpness_bounds.study import over_formulas, ratios
from hessian_papers.studies.correlations.teachers import of_each_teacher
from hessian_spectra.validation import require

FACTORS = ("first matrix", "second matrix", "alignment")
KIND = "inputs_and_teacher"


@dataclass(frozen=True, kw_only=True)
class Config(EnsembleStudyConfig):
    """The study's configuration; nothing is drawn."""

    def require_networks(self, networks: Any) -> None:
        """Refuse networks of another kind, of a single teacher, or of too few of each."""
        fits = getattr(networks, "kind", "") == KIND
        require(fits, "ensemble", f"networks of the kind {KIND}", self.ensemble)
        require(networks.teachers >= 2, "ensemble", "networks of two teachers", networks.teachers)


PLACES = "parametrisation size inputs scale"
VARIABLES: Variables = {
    **{
        name: POINTS[name]
        for name in ("parametrisation", "size", "time", "trained", "width", "along")
    },
    "inputs": Variable("inputs", "samples of each input, n/D, or white"),
    "scale": Variable("scale", "standard deviation of the teacher's outputs"),
    "factor": Variable("factor", "matrix or alignment whose norm is correlated with the sharpness"),
    "norm": Variable("norm", "of that factor"),
    "networks": Variable("", "networks of a point, of all teachers"),
    "epoch_limit": Variable(PLACES, "networks of a point stopped by the epoch limit"),
    "magnitude_ratio": Variable(
        "parametrisation size",
        "root mean square of the first matrix's entries over the second's, at initialisation",
    ),
    "correlation": Variable(
        f"{PLACES} time teacher factor norm",
        "Pearson's r with the sharpness over a teacher's networks",
    ),
    **ratios(f"{PLACES} time"),
}


def correlation(config: Config, ensembles: xr.Dataset) -> xr.Dataset:
    """The correlations of squared norms and of alignments with the sharpness, and formulas for it.

    Args:
        config: the study's configuration.
        ensembles: the networks of the ensemble.

    Returns:
        What ``VARIABLES`` declares; NaN where all networks of a teacher diverged.
    """
    points = ensembles.transpose(*PLACES.split(), "depth", "time", "network", "layer", "norm")
    ratio = magnitude_ratio(points.isel(inputs=0, scale=0))[:, 0]
    points = points.sel(norm=list(NORMS), layer=[1, 2]).squeeze("depth")
    alignments = np.abs(points["alignments"].values)[..., None, :]
    factors = np.concatenate([points["norms"].values ** 2, alignments], axis=-2)
    r = of_each_teacher(points["sharpness"].values, factors, points["teacher"].values)
    status = points["status"].transpose(*PLACES.split(), "network").values
    labels = {name: points[name].values for name in (*PLACES.split(), "time", "width", "norm")}
    arrays = labels | {
        "factor": np.array(FACTORS),
        "trained": trained_teachers(status, points["teacher"].values),
        "along": np.array("size"),
        "networks": np.array(status.shape[-1]),
        "epoch_limit": (status == EPOCH_LIMIT).sum(axis=-1),
        "magnitude_ratio": ratio,
        "correlation": np.moveaxis(r, 0, 5).round(12),
        **over_formulas(points, (*PLACES.split(), "time")),
    }
    return left_out(data_set(arrays, VARIABLES), int((status == DIVERGED).sum()))
