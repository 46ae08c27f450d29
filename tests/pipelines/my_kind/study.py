"""The eigenvalues of the matrix of second moments of inputs and targets."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from hessian_papers.constraints import Positive
from hessian_papers.labelled import Variable, Variables, data_set
from hessian_papers.studies.base import DataStudyConfig

VARIABLES: Variables = {
    "exact": Variable("rank", "eigenvalues by the closed form, ascending"),
    "numerical": Variable("rank", "eigenvalues that LAPACK finds, ascending"),
}


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the study.

    Args:
        scale: what the inputs are multiplied with.
    """

    scale: Positive


def _moments(config: Config, data: xr.Dataset) -> np.ndarray:
    pairs = np.stack([config.scale * data["x"].values, data["y"].values])
    return pairs @ pairs.T / pairs.shape[1]


def closed_form(config: Config, data: xr.Dataset) -> xr.Dataset:
    """Half the trace, minus and plus a root."""
    (a, b), (_, c) = _moments(config, data)
    root = np.sqrt(((a - c) / 2) ** 2 + b**2)
    return data_set({"exact": (a + c) / 2 + np.array([-root, root])}, VARIABLES)


def numerics(config: Config, data: xr.Dataset) -> xr.Dataset:
    """Both as LAPACK finds them."""
    return data_set({"numerical": np.linalg.eigvalsh(_moments(config, data))}, VARIABLES)
