"""Correlations with norms, of the sharpness and of what stands for it in the same networks.

Where the residual is small the sharpness of a linear network is nearly the largest eigenvalue of
its Gauss-Newton matrix, to which each matrix has a term. The sum of the terms is a surrogate for
it, exact for white inputs and for one input. In two layers the norm of each matrix is correlated
with both, in deeper networks that of the product of all matrices but one. The correlations with a
surrogate are no predictions: they are of the networks whose sharpness is measured. Those of two
layers at initialisation are predicted as well, from the configuration alone.
"""

from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
import xarray as xr

from hessian_papers.constraints import AtLeast
from hessian_papers.labelled import Variable, Variables
from hessian_papers.studies.correlations.ensembles import NORMS
from hessian_papers.studies.correlations.points import (
    GRID,
    POINTS,
    PointsConfig,
    described,
    select,
    study_data,
)
from hessian_papers.studies.correlations.predicted_correlation.random_start import (
    LAWS,
    Point,
    predicted,
)
from hessian_papers.studies.correlations.teachers import of_each_teacher
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

# What stands for the sharpness: the sum of the terms without the second moments of the inputs, in
# two layers the squared norms; that of the terms with them; and, of two layers alone, the largest
# eigenvalue of the Gauss-Newton matrix.
FORMULAS = ("norms", "terms", "Gauss-Newton")
# What norms are correlated with at initialisation, by the variable of the networks.
TARGETS = {"norms": "ggn_sum", "Gauss-Newton": "gauss_newton", "sharpness": "sharpness"}
# The norms that are correlated, by what varies.
CORRELATED = {"size": "norms", "depth": "products"}


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig):
    """The study's configuration; along depth nothing is drawn.

    Args:
        samples: n of the random start that predicts, the ensemble's; with 0 nothing is predicted.
        noise_variance: of its targets, the ensemble's.
        law_teachers: teachers that are drawn of each point, with a seed other than the ensemble's.
        law_networks: networks that are drawn of each of them.
    """

    samples: Annotated[int, AtLeast(0)] = 0
    noise_variance: Annotated[float, AtLeast(0)] = 0.0
    law_teachers: Annotated[int, AtLeast(2)] = 2
    law_networks: Annotated[int, AtLeast(3)] = 3

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks one of the points, or that the formulas are not about.

        A prediction draws nothing that the ensemble has drawn.
        """
        super().require_networks(networks)
        fits = networks.activation == "linear" and (self.along == "depth" or self.depths == [2])
        require(fits, "ensemble", "linear networks, of two layers along size", self.ensemble)
        if self.samples:
            require(self.along == "size", "samples", "none along depth", self.samples)
            require(self.seed != networks.seed, "seed", "one that the networks lack", self.seed)


_EACH = "teacher parametrisation depth size time layer"
VARIABLES: Variables = {
    **POINTS,
    "layer": Variable(
        "layer", "whose squared spectral norm is correlated, or that of the product of all others"
    ),
    "formula": Variable("formula", "what stands for the sharpness"),
    "norm": Variable("norm", "whose square is correlated at initialisation"),
    "target": Variable("target", "with what: the sharpness, or what stands for it"),
    "law": Variable("law", "of a random start, closed (white, edge) or simulated"),
    "measured": Variable(_EACH, "Pearson's r of squared norm and sharpness, of a teacher"),
    "surrogate": Variable(f"{_EACH} formula", "the same with a formula in place of the sharpness"),
    "start": Variable(
        "teacher parametrisation depth size layer norm target",
        "Pearson's r of squared norm and target at initialisation, of a teacher",
    ),
    "predicted": Variable(
        "parametrisation depth size layer norm law", "the same by a law, from the configuration"
    ),
    "predicted_error": Variable(
        "parametrisation depth size layer norm law", "standard error of a simulated law's"
    ),
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
    if config.samples:
        arrays |= _random_start(config, flat)
    return study_data(arrays, VARIABLES)


def _random_start(config: Config, flat: xr.Dataset) -> Arrays:
    """The correlations at initialisation of all norms, and those that laws predict."""
    start = flat.sel(time="initialisation", norm=list(NORMS))
    squares = start["norms"].transpose(*GRID, "network", "layer", "norm").values ** 2
    targets = {name: start[variable].values for name, variable in TARGETS.items()}
    teacher = flat["teacher"].values
    measured = [of_each_teacher(each, squares, teacher) for each in targets.values()]
    grid = product(*(flat[name].values.tolist() for name in GRID))
    width, samples = int(flat["width"]), config.samples
    points = [Point(name, size, width, samples, config.noise_variance) for name, _, size in grid]
    laws = predicted(points, config.seed, config.law_teachers, config.law_networks)
    shape = measured[0].shape[1:]
    values, errors = (each.reshape(*shape, len(LAWS)).round(12) for each in laws)
    return {
        "norm": np.array(list(NORMS)),
        "target": np.array(list(TARGETS)),
        "law": np.array(LAWS),
        "start": np.stack(measured, axis=-1).round(12),
        "predicted": values,
        "predicted_error": errors,
    }
