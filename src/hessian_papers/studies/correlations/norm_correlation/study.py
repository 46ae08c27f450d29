"""Correlations of the sharpness with norms of the weights, over the networks of an ensemble.

A correlation is Pearson's over the networks of each teacher. What figure and statements make of it
is a mean over the teachers, with Student's interval. A difference of two correlations is taken
teacher by teacher: its interval is that of a paired comparison. Two sizes of deep networks are
compared by how much the last layer leads.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import xarray as xr

from hessian_papers.constraints import Different, OneOf
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.studies.correlations.ensembles import NORMS
from hessian_papers.studies.correlations.norm_correlation.derived import last_lead
from hessian_papers.studies.correlations.norm_correlation.regions import magnitude_ratio
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
    interval,
    of_each_teacher,
    settings,
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


PLACES = " ".join(GRID)
VARIABLES: Variables = {
    **POINTS,
    **INTERVALS,
    "target": Variable("", "what the norms are held against, sharpness or trace"),
    "highlighted": Variable("", "the norm that the paper singles out"),
    "group": Variable("group", "of factors: the first is studied, a second one compared with it"),
    "layer": Variable("layer", "whose matrix a factor is, or lacks; of an alignment 0"),
    "norm": Variable("norm", "of a factor"),
    "other_norm": Variable("other_norm", "the norm that another one is compared with"),
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
    "each_correlation": Variable(
        "parametrisation teacher depth size time group layer norm",
        "Pearson's r with the target, of one teacher",
    ),
    "lead": Variable(
        f"{PLACES} time estimate", "r of the last product less that of the best other, of two sizes"
    ),
    "each_difference": Variable(
        "parametrisation time teacher",
        "that lead at the smaller size less at the larger, mean over depths, of one teacher",
    ),
}


def correlation(config: Config, ensembles: xr.Dataset) -> xr.Dataset:
    """Correlations of each teacher, and of how many networks they are.

    Args:
        config: the study's configuration.
        ensembles: the networks of the ensemble.

    Returns:
        What ``VARIABLES`` declares; of two sizes ``lead`` and ``each_difference`` in place of the
        correlations.
    """
    points = select(config, ensembles)
    target, values = points[config.target].values, _factors(config, points)
    r = of_each_teacher(target, values.values, points["teacher"].values)
    arrays = described(points, config.along) | {
        **settings(config),
        **{name: np.array(getattr(config, name)) for name in ("target", "highlighted")},
        "group": np.array(config.quantities),
        "layer": values["layer"].values,
        **dict.fromkeys(("norm", "other_norm"), np.array(config.norms)),
        "magnitude_ratio": magnitude_ratio(points),
        **_ends(points),
        "each_correlation": np.moveaxis(r, 0, 1).round(12),
    }
    data = study_data(arrays, VARIABLES)
    return data if arrays["magnitude_ratio"][0].size == data[config.along].size else _leads(data)


def _leads(data: xr.Dataset) -> xr.Dataset:
    """The study with the lead at two sizes, and its difference, in place of correlations."""
    lead = last_lead(data).sel(norm=data["highlighted"].item())
    smaller, larger = lead.mean("depth", skipna=False).transpose("size", ...)
    known = {
        "lead": interval(lead, 2.0, float(data["confidence"])),
        "each_difference": smaller - larger,
    }
    dims = {name: VARIABLES[name].dims.split() for name in known}
    arrays = {name: values.transpose(*dims[name]).values for name, values in known.items()}
    return data.drop_vars("each_correlation").assign(data_set(arrays, VARIABLES))


def _ends(points: xr.Dataset) -> Arrays:
    """The losses at which converged networks end: ``above_best`` and ``loss_correlation``."""
    trained = points.sel(time="trained").transpose(*GRID, "network", ...)
    converged = trained["status"] == CONVERGED
    loss, sharpness = (trained[name].where(converged) for name in ("loss", "sharpness"))
    teacher = points["teacher"].values
    of_each = [loss.isel(network=teacher == name) for name in np.unique(teacher)]
    above = [(own > HIGHER * own.min("network")).where(own.notnull()) for own in of_each]
    correlations = of_each_teacher(sharpness.values, loss.values[..., None], teacher)[..., 0]
    return {
        "above_best": np.stack([own.mean("network") for own in above], axis=-1),
        "loss_correlation": np.moveaxis(correlations, 0, -1).round(12),
    }


def _factors(config: Config, points: xr.Dataset) -> xr.DataArray:
    """Squared norms of matrices and products, absolute alignments, whose layer is 0.

    Returns:
        The values along parametrisation, depth, size, time, networks, group, layer and norm; NaN
        where a group or a network has no such layer.
    """
    depth = int(points["depth"].max())
    chosen = points.sel(norm=config.norms, layer=slice(depth))
    known = {
        "matrices": chosen["norms"] ** 2,
        "products": chosen["products"] ** 2,
        "alignments": abs(chosen["alignments"]).expand_dims(layer=[0]),
    }
    first = 0 if "alignments" in config.quantities else 1
    groups = [known[name].reindex(layer=range(first, depth + 1)) for name in config.quantities]
    return xr.concat(groups, "group").transpose(..., "group", "layer", "norm")
