"""Correlations of the sharpness with norms of the weights, over the networks of an ensemble.

A correlation is the mean over the teachers of Pearson's over the networks of each. Each statistic
has, along ``estimate``, Student's interval over the teachers. A difference of two correlations is
taken teacher by teacher: its interval is that of a paired comparison. Two sizes of deep networks
are compared by how much the last layer leads.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import xarray as xr

from hessian_papers.constraints import Different, OneOf
from hessian_papers.labelled import Variable, Variables
from hessian_papers.results import stacked
from hessian_papers.studies.correlations.ensembles import NORMS
from hessian_papers.studies.correlations.norm_correlation.regions import (
    REGIONS,
    magnitude_ratio,
    means,
    shares,
)
from hessian_papers.studies.correlations.points import (
    CONVERGED,
    GRID,
    POINTS,
    PointsConfig,
    described,
    select,
    study_data,
)
from hessian_papers.studies.correlations.teachers import (
    INTERVALS,
    IntervalConfig,
    largest,
    leads,
    mean,
    of_each_teacher,
    settings,
    with_intervals,
    without_round_off,
)
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

TARGETS = ("sharpness", "trace")
# A loss so many times the lowest of its teacher's networks is that of another minimum.
HIGHER = 1.05
QUANTITIES = ("matrices", "products", "alignments")


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig, IntervalConfig):
    """The study's configuration.

    Args:
        target: what the norms are held against, ``sharpness`` or ``trace``.
        quantities: groups of factors: ``matrices`` W_b and ``products`` of all matrices but W_b by
            their squared norms, ``alignments`` of the two matrices by their absolute values. The
            first group is studied, a second one is what it is compared with.
        norms: some of ``spectral``, ``frobenius`` and ``nuclear``.
        highlighted: that norm among them which the paper singles out.
    """

    target: Annotated[str, OneOf(tuple(TARGETS))]
    quantities: Annotated[list[str], Different(tuple(QUANTITIES))]
    norms: Annotated[list[str], Different(tuple(NORMS))]
    highlighted: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.quantities) <= 2, "quantities", "at most two", self.quantities)
        among = f"one of {', '.join(self.norms)}"
        require(self.highlighted in self.norms, "highlighted", among, self.highlighted)
        two_layers = self.along == "size" and self.depths == [2]
        aligned = "alignments" in self.quantities
        require(two_layers or not aligned, "quantities", "alignments at depth 2 only", self.depths)
        compared = self.along == "depth" and len(self.sizes) > 1
        fits = not compared or (self.quantities, self.target) == (["products"], "sharpness")
        require(fits, "sizes", "one, but two of products and the sharpness", self.sizes)


# Of each statistic the dimensions beside those of points and times, and what it is. It is NaN where
# a quantity is compared with itself: at D = 1 all norms are one.
STATISTICS = {
    "correlation": ("group layer norm", "Pearson's r with the target, mean over teachers"),
    "factor_lead": ("group layer norm", "correlation less that of the group's best other factor"),
    "last_lead": ("norm", "factor_lead of the first group's last layer"),
    "best_correlation": ("norm", "r of the first group's best factor by this norm"),
    "best_norm_lead": ("norm", "best_correlation less the best by any other norm"),
    "best_norm_difference": ("norm other_norm", "best_correlation by a norm less that by another"),
    "group_lead": ("", "r of the first group's best factor less that of the second's"),
    "best_norm_growth": ("norm", "best_norm_lead less that at initialisation"),
    "last_growth": ("norm", "last_lead less that at initialisation"),
}
# Of these the values of each teacher are kept: all others follow from the correlations.
OF_EACH = ("correlation", *(name for name in STATISTICS if "lead" in name))
PLACES = " ".join(GRID)
# What there is of each statistic, the last one of some alone.
FORMS = {
    "": (f"{PLACES} time {{}} estimate", ""),
    "mean_": ("parametrisation region time {} estimate", ", mean over all positions of a region"),
    "each_": ("parametrisation teacher depth size time {}", ", of one teacher"),
}
VARIABLES: Variables = {
    **POINTS,
    **INTERVALS,
    "target": Variable("", "what the norms are held against, sharpness or trace"),
    "highlighted": Variable("", "the norm that the paper singles out"),
    "group": Variable("group", "of factors: the first is studied, a second one compared with it"),
    "layer": Variable("layer", "whose matrix a factor is, or lacks; of an alignment 0"),
    "norm": Variable("norm", "of a factor"),
    "other_norm": Variable("other_norm", "the norm that another one is compared with"),
    "region": Variable("region", "positions by magnitude_ratio, or a difference of two regions"),
    "above_best": Variable(
        "parametrisation depth size teacher",
        f"share of the converged networks whose loss is over {HIGHER - 1:.0%} above the lowest of "
        "their teacher's",
    ),
    "loss_correlation": Variable(
        "parametrisation depth size teacher", "Pearson's r of their loss and sharpness"
    ),
    "magnitude_ratio": Variable(
        PLACES, "root mean square of the first matrix's entries over the last's, at initialisation"
    ),
    **{
        f"{prefix}{name}": Variable(dims.format(own), f"{meaning}{more}")
        for prefix, (dims, more) in FORMS.items()
        for name, (own, meaning) in STATISTICS.items()
        if prefix != "each_" or name in OF_EACH
    },
    "lead": Variable(f"{PLACES} time estimate", "last_lead of the highlighted norm, of two sizes"),
    "mean_difference": Variable(
        "parametrisation time estimate", "lead at the smaller size less that at the larger, mean"
    ),
}


def correlation(config: Config, ensembles: xr.Dataset) -> xr.Dataset:
    """Correlations, paired differences of them, and of how many networks they are.

    Args:
        config: the study's configuration.
        ensembles: the networks of the ensemble.

    Returns:
        What ``VARIABLES`` declares; of two sizes ``lead`` and ``mean_difference`` alone.
        ``magnitude_ratio`` defines the regions: all positions; those where the first matrix is
        ``SIMILAR`` times larger, or the one where it is largest; those where the two are closer
        than that, or the one where they are closest; the former's mean less the latter's.

    Raises:
        ValueError: the ensemble lacks what the configuration asks for.
    """
    points = select(config, ensembles)
    target, values = points[config.target].values, _factors(config, points)
    ratio = magnitude_ratio(points)
    arrays = described(points, config.along)
    rows: list[Arrays] = []
    for of_target, of_factors, of_ratio in zip(target, values, ratio, strict=True):
        r = of_each_teacher(of_target, of_factors, points["teacher"].values)
        result = _statistics(r, arrays["depth"])
        kept = {f"each_{name}": result[name] for name in OF_EACH if name in result}
        if of_ratio.size > len(arrays[config.along]):
            lead = result["last_lead"][..., config.norms.index(config.highlighted)]
            mean = lead.mean(axis=1)
            result = {"lead": lead, "mean_difference": mean[:, 0] - mean[:, 1]}
            kept = {}
        else:
            regions = shares(of_ratio.ravel(), arrays[config.along])
            result |= {f"mean_{name}": means(values, regions) for name, values in result.items()}
        intervals = with_intervals(result, config.confidence)
        rows.append(intervals | {name: each.round(12) for name, each in kept.items()})
    arrays |= {
        **stacked(rows),
        **settings(config),
        **{name: np.array(getattr(config, name)) for name in ("target", "highlighted")},
        "group": np.array(config.quantities),
        "layer": np.arange(values.shape[-2]) + _first_layer(config),
        **dict.fromkeys(("norm", "other_norm"), np.array(config.norms)),
        "region": np.array(REGIONS),
        "magnitude_ratio": ratio,
        **_ends(points),
    }
    return study_data(arrays, VARIABLES)


def _ends(points: xr.Dataset) -> Arrays:
    """The losses at which converged networks end: ``above_best`` and ``loss_correlation``."""
    trained = points.sel(time="trained")
    converged = trained["status"] == CONVERGED
    loss = trained["loss"].where(converged).transpose(*GRID, "network").values
    sharpness = trained["sharpness"].where(converged).transpose(*GRID, "network").values
    teacher = points["teacher"].values
    of_each = [loss[..., teacher == name] for name in np.unique(teacher)]
    with np.errstate(invalid="ignore"):
        above = [np.where(np.isfinite(own), own > HIGHER * _lowest(own), np.nan) for own in of_each]
    correlations = of_each_teacher(sharpness, loss[..., None], teacher)[..., 0]
    return {
        "above_best": np.stack([mean(np.moveaxis(own, -1, 0)) for own in above], axis=-1),
        "loss_correlation": np.moveaxis(correlations, 0, -1).round(12),
    }


def _lowest(losses: np.ndarray) -> np.ndarray:
    """The lowest of the finite losses ``(..., n)``, ``(..., 1)``."""
    return np.where(np.isfinite(losses), losses, np.inf).min(axis=-1, keepdims=True)


def _first_layer(config: Config) -> int:
    """The first label along ``layer``: 0 if there are alignments."""
    return 0 if "alignments" in config.quantities else 1


def _factors(config: Config, points: xr.Dataset) -> np.ndarray:
    """Squared norms of matrices and products, absolute alignments.

    Returns:
        The values along parametrisation, depth, size, time, networks, group, layer and norm; NaN
        where a group or a network has no such layer.
    """
    depth = int(points["depth"].max())
    chosen = points.sel(norm=config.norms, layer=slice(depth))
    known = {
        "matrices": chosen["norms"].values ** 2,
        "products": chosen["products"].values ** 2,
        "alignments": np.abs(chosen["alignments"].values)[..., None, :],
    }
    groups = []
    for name in config.quantities:
        room = [(0, 0)] * known[name].ndim
        room[-2] = (0, depth) if name == "alignments" else (1 - _first_layer(config), 0)
        groups.append(np.pad(known[name], room, constant_values=np.nan))
    return np.stack(groups, axis=-3)


def _statistics(r: np.ndarray, depths: np.ndarray) -> Arrays:
    """All statistics of each teacher, of ``(T, depth, size, time, group, layer, norm)``.

    Args:
        r: the teachers' correlations.
        depths: of the networks.
    """
    factor_lead = leads(r, axis=-2)
    # The last layer of the deepest networks comes last.
    last_lead = [
        factor_lead[:, place, ..., 0, last - depths.max() - 1, :]
        for place, last in enumerate(depths)
    ]
    best, *others = (largest(of_group, axis=-2) for of_group in np.moveaxis(r, -3, 0))
    entries = {
        "correlation": r,
        "factor_lead": factor_lead,
        "last_lead": np.stack(last_lead, axis=1),
        "best_correlation": best,
        "best_norm_lead": leads(best, axis=-1),
        "best_norm_difference": best[..., :, None] - best[..., None, :],
    }
    for other in others:
        entries["group_lead"] = largest(best, axis=-1) - largest(other, axis=-1)
    for name, values in entries.items():
        if name.endswith(("lead", "difference")):
            without_round_off(values)
    for name in ("best_norm", "last"):
        lead = entries[f"{name}_lead"]
        entries[f"{name}_growth"] = lead - lead[:, :, :, :1]
    return entries
