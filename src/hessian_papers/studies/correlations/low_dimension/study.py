"""The lead of the product without the last matrix, in networks of few and of many inputs.

singh2026cracking, section 4.2: of all products of all matrices but one that without the last
correlates most with the sharpness, especially near convergence and in low dimension.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from hessian_papers.labelled import Variable, Variables
from hessian_papers.results import stacked
from hessian_papers.studies.correlations.points import (
    POINTS,
    PointsConfig,
    described,
    select,
    study_data,
)
from hessian_papers.studies.correlations.resampling import (
    RESAMPLED,
    BootstrapConfig,
    leads,
    over_teachers,
    settings,
    with_intervals,
)
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(PointsConfig, BootstrapConfig):
    """The study's configuration; ``sizes`` are two."""

    def __post_init__(self) -> None:
        super().__post_init__()
        two = len(self.sizes) == 2 and self.sizes[0] < self.sizes[1]
        require(two, "sizes", "two, the smaller one first", self.sizes)


VARIABLES: Variables = {
    **POINTS,
    **RESAMPLED,
    "diverged": Variable("parametrisation depth", "networks that diverged, at the worse size"),
    "epoch_limit": Variable(
        "parametrisation depth", "networks stopped by the epoch limit, at the worse size"
    ),
    "lead": Variable(
        "parametrisation depth size time estimate",
        "r of the squared spectral norm of the product without the last matrix with the sharpness, "
        "less the largest of those of the other products of all matrices but one",
    ),
    "mean_lead": Variable("parametrisation size time estimate", "lead, mean over the depths"),
    "mean_difference": Variable(
        "parametrisation time estimate", "mean lead at the smaller size less that at the larger"
    ),
}


def correlation(config: Config, ensembles: xr.Dataset) -> xr.Dataset:
    """By how much the product without the last matrix leads at both sizes, and the difference.

    Args:
        config: the study's configuration.
        ensembles: the networks of the ensemble.

    Returns:
        What ``VARIABLES`` declares.

    Raises:
        ValueError: the ensemble lacks what the configuration asks for.
    """
    points = select(config, ensembles)
    depths = points["depth"].values
    products = points["products"].sel(norm="spectral", layer=slice(depths.max())).values ** 2
    rows: list[Arrays] = []
    for sharpness, values in zip(points["sharpness"].values, products, strict=True):
        r, _ = over_teachers(
            sharpness,
            values,
            points["teacher"].values,
            config.resamples,
            config.seed,
        )
        over_others = leads(r, axis=-1)
        lead = np.stack(
            [over_others[:, place, ..., depth - 1] for place, depth in enumerate(depths)], axis=1
        )
        mean = lead.mean(axis=1)
        entries = {"lead": lead, "mean_lead": mean, "mean_difference": mean[:, 0] - mean[:, 1]}
        rows.append(with_intervals(entries, config.resamples, config.confidence))
    arrays = described(points, "depth") | settings(config) | stacked(rows)
    arrays |= {name: arrays[name].max(axis=-1) for name in ("diverged", "epoch_limit")}
    return study_data(arrays, VARIABLES)
