"""The points of an ensemble that a study takes, and what became of their networks."""

import itertools
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray as xr

from hessian_papers.constraints import Once, OneOf
from hessian_papers.labelled import Variable, Variables, data_set, left_out
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

AXES = ("size", "depth")
# The statuses of a training that did not end at its plateau.
EPOCH_LIMIT, DIVERGED = 1, 2
# The dimensions of the points.
GRID = ("parametrisation", "depth", "size")
POINTS: Variables = {
    "parametrisation": Variable("parametrisation", "how weights and rates scale with the width"),
    "depth": Variable("depth", "layers of a network"),
    "size": Variable("size", "D, inputs and outputs of a network"),
    "time": Variable("time", "at initialisation or trained"),
    "teacher": Variable("teacher", "whose data networks have"),
    "along": Variable("", "what varies, size or depth"),
    "width": Variable("", "hidden units of a layer"),
    "activation": Variable("", "of the hidden layers"),
    "networks": Variable("", "networks of a point, of all teachers"),
    "diverged": Variable(" ".join(GRID), "networks of a point that diverged"),
    "epoch_limit": Variable(" ".join(GRID), "networks of a point stopped by the epoch limit"),
}


@dataclass(frozen=True, kw_only=True)
class PointsConfig(EnsembleStudyConfig):
    """A study of some points of an ensemble, along one of its axes.

    Args:
        parametrisations: some of those that the ensemble has.
        along: what varies, ``size`` (input and output size D) or ``depth``.
        depths: the depths to take; empty for all of the ensemble; a single one along ``size``.
        sizes: the input and output sizes D to take, likewise; along ``depth`` two are compared.
    """

    parametrisations: Annotated[list[str], Once()]
    along: Annotated[str, OneOf(AXES)]
    depths: Annotated[list[int], Once()]
    sizes: Annotated[list[int], Once()]

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.parametrisations
        require(len(names) > 0, "parametrisations", "at least one", names)
        if self.along == "size":
            require(len(self.depths) == 1, "depths", "a single one along size", self.depths)
        else:
            expected = "a single one along depth, or two to compare"
            require(len(self.sizes) in (1, 2), "sizes", expected, self.sizes)

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks one of the points."""
        for field in ("parametrisations", "depths", "sizes"):
            asked, known = list(getattr(self, field)), list(getattr(networks, field, ()))
            expected = f"some of {self.ensemble}'s, {', '.join(map(str, known))}"
            require(set(asked) <= set(known), field, expected, asked)


def select(config: PointsConfig, ensembles: Arrays) -> np.ndarray:
    """The ensemble's points that a study takes, by parametrisation, depth and size.

    Raises:
        ValueError: the ensemble lacks some of them.
    """
    places = [
        sorted(getattr(config, f"{axis}s")) or np.unique(ensembles[axis]) for axis in GRID[1:]
    ]
    keys = list(zip(*(ensembles[axis].tolist() for axis in GRID), strict=True))
    chosen = list(itertools.product(config.parametrisations, *places))
    for key in (key for key in chosen if key not in keys):
        raise ValueError(
            f"ensemble {config.ensemble}: expected every combination of parametrisation, depth and "
            f"size, it lacks {', '.join(map(str, key))}"
        )
    shape = len(config.parametrisations), *map(len, places)
    return np.array([keys.index(key) for key in chosen]).reshape(shape)


def described(ensembles: Arrays, points: np.ndarray, along: str) -> Arrays:
    """The arrays that :data:`POINTS` declares, of the points that :func:`select` gives."""
    status = ensembles["status"][points]
    diverged = (status == DIVERGED).sum(axis=-1)
    return {
        "parametrisation": ensembles["parametrisation"][points[:, 0, 0]],
        "depth": ensembles["depth"][points[0, :, 0]],
        "size": ensembles["size"][points[0, 0]],
        **{name: ensembles[name] for name in ("time", "width", "activation")},
        "teacher": np.unique(ensembles["teacher"]),
        "along": np.array(along),
        "networks": np.array(status.shape[-1]),
        "diverged": diverged,
        "epoch_limit": (status == EPOCH_LIMIT).sum(axis=-1),
    }


def study_data(arrays: Arrays, variables: Variables) -> xr.Dataset:
    """The data set of a study of points, which also says how many networks it leaves out."""
    return left_out(data_set(arrays, variables), int(arrays["diverged"].sum()))
