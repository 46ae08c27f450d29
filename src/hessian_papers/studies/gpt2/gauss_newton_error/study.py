"""The error of the GGN's largest eigenvalue, held to the Hessian's, with attention or without.

singh2026cracking, section 4.3 and D.1.5: the relative error |1 - λ_max(GGN) / λ_max(H)| through the
pre-training of language models, compared where they have the same residual, loss or step.

A run is a curve through its measurements (x, error), straight between one and the next in the order
of training. Its error at a level of x is the mean over all points at which the curve has that
level; of a run whose x falls throughout, that is the ordinary interpolation. Nothing is sorted, so
where a residual rises for a while, no measurements are joined that lie far apart in time.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray as xr
from xarray.ufuncs import isfinite, maximum

from hessian_papers.constraints import AtLeast, Different, OneOf
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.networks.tools.divergence import surviving
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.studies.gpt2.gauss_newton_error.derived import ALONG
from hessian_spectra.validation import require

# What each run has of its measurements.
RUN = "variant seed step"


@dataclass(frozen=True, kw_only=True)
class Config(EnsembleStudyConfig):
    """The study's configuration; nothing is drawn at random.

    Args:
        along: at what the runs are compared, a panel each: ``residual``, ``loss``, ``step``.
        shown: ``mean`` over the seeds with its standard error, or the ``runs`` as measured.
        points: levels of each, evenly spaced, at which the runs are interpolated.
    """

    along: Annotated[list[str], Different(ALONG)]
    shown: Annotated[str, OneOf(("mean", "runs"))]
    points: Annotated[int, AtLeast(2)]

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble of anything but language models."""
        fits = hasattr(networks, "variants")
        require(fits, "ensemble", "language models, with variants", self.ensemble)


def at_levels(levels: np.ndarray, x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A quantity of a run where another one passes some levels, straight between measurements.

    Args:
        levels: ``(points,)``.
        x: ``(m,)`` in the order of training; it need not be monotone. What is not finite is a gap.
        values: ``(m,)``.

    Returns:
        ``(points,)`` its mean over all points of the run's curve at which the other has the level;
        NaN where it never has it.

    Example:
        >>> levels = np.array([0.5, 1.5, 2.5])
        >>> at_levels(levels, np.array([2.0, 1.0, 2.0]), np.array([0.0, 2.0, 6.0])).tolist()
        [nan, 2.5, nan]
    """
    start, end = x[:-1, None], x[1:, None]
    with np.errstate(invalid="ignore"):
        # Measurements count themselves, so that none counts for the two lines that it ends.
        between = (start - levels) * (end - levels) < 0  # (m - 1, points)
        at = x[:, None] == levels
        share = np.divide(levels - start, end - start, out=np.zeros(between.shape), where=between)
    finite = np.isfinite(values)
    known = np.where(finite, values, 0.0)[:, None]
    # Measurements, and the lines between them.
    passed = np.concatenate([at & finite[:, None], between & (finite[:-1] & finite[1:])[:, None]])
    lines = known[:-1] + share * (known[1:] - known[:-1])
    result = np.concatenate([np.broadcast_to(known, at.shape), lines])
    number = passed.sum(axis=0)
    mean = np.where(passed, result, 0.0).sum(axis=0) / np.maximum(number, 1)
    return np.where(number > 0, mean, np.nan)


AT_LEVELS = "along variant seed point"
VARIABLES: Variables = {
    "variant": Variable("variant", "the architecture"),
    "seed": Variable("seed", "seed of the training"),
    "step": Variable("step", "training step of a measurement"),
    "parameters": Variable("variant", "number of weights"),
    "loss": Variable(RUN, "training loss", "nats"),
    "along": Variable("along", "what runs are compared at"),
    "shown": Variable("", "whether the mean over the seeds is shown, or the runs as measured"),
    "quantity": Variable(f"along {RUN}", "what runs are compared at, as measured"),
    "sharpness": Variable(RUN, "λ_max(H)"),
    "measured": Variable(RUN, "|1 - λ_max(GGN) / λ_max(H)|"),
    "measured_uncertainty": Variable(RUN, "how far the eigenvalues' residuals let it be off"),
    "level": Variable("along point", "where runs are compared, from the smallest to the largest"),
    "error": Variable(AT_LEVELS, "mean error where a run has the level, or NaN"),
    "uncertainty": Variable(AT_LEVELS, "how far the mean error may be off"),
}


def gpt2(config: Config, networks: xr.Dataset) -> xr.Dataset:
    """The relative error of each run, as measured and at common levels.

    Twins are compared by seed: of a network that diverged the seed is left out, or the variant.

    Args:
        config: the study's configuration.
        networks: the language models, see :mod:`hessian_papers.networks.gpt2`.
    """
    names, seeds = surviving(networks, "variant")
    if not seeds:
        return xr.Dataset()  # and no levels of theirs
    runs = networks.sel(variant=names, seed=seeds)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = runs["ggn"] / runs["hessian"]
        # As a Ritz value, what was found with residual r λ is at most the largest eigenvalue, and
        # at most r λ below it: so the ratio lies between ratio / (1 + r_H) and ratio (1 + r_G).
        off = abs(ratio) * maximum(runs["ggn_error"], runs["hessian_error"])
    known = isfinite(ratio)
    error, off = abs(1 - ratio).where(known), off.where(known)
    quantities = [runs[name] + xr.zeros_like(error) for name in config.along]
    x = xr.concat([each.transpose(*error.dims) for each in quantities], "along")
    x = x.where(known & isfinite(x))
    # What is said of equal levels is not said of the initialisation.
    trained = x.where(x["step"] > 0)
    levels = [_levels(values, config.points) for values in trained.values]
    level = xr.DataArray(levels, dims=("along", "point"))
    arrays = {
        **{name: runs[name] for name in (*RUN.split(), "parameters", "loss")},
        "along": config.along,
        "shown": config.shown,
        "quantity": x,
        "sharpness": runs["hessian"],
        "measured": error,
        "measured_uncertainty": off,
        "level": level,
        "error": _at_all_levels(level, trained, error),
        "uncertainty": _at_all_levels(level, trained, off),
    }
    return data_set(arrays, VARIABLES)


def _levels(x: np.ndarray, points: int) -> np.ndarray:
    """Levels from the smallest to the largest; NaN if no run has any."""
    known = x[np.isfinite(x)]
    if not len(known):
        return np.full(points, np.nan)
    return np.linspace(known.min(), known.max(), points)


def _at_all_levels(*runs: xr.DataArray) -> xr.DataArray:
    """The result of :func:`at_levels` for each run at the levels of each quantity."""
    dims = [["point"], ["step"], ["step"]]
    return xr.apply_ufunc(
        at_levels, *runs, vectorize=True, input_core_dims=dims, output_core_dims=dims[:1]
    )
