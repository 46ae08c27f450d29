"""The points of an ensemble that a study takes, and what became of their networks."""

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
# How a training ended: at its plateau, or not; or that there was none.
CONVERGED, EPOCH_LIMIT, DIVERGED, NOT_TRAINED = 0, 1, 2, 3
# The dimensions of the points.
GRID = ("parametrisation", "depth", "size")
POINTS: Variables = {
    "parametrisation": Variable("parametrisation", "how weights and rates scale with the width"),
    "depth": Variable("depth", "layers of a network"),
    "size": Variable("size", "D, inputs and outputs of a network"),
    "time": Variable("time", "at initialisation or trained"),
    "teacher": Variable("teacher", "whose data networks have"),
    "trained": Variable("teacher", "whether its networks are trained, not measured as drawn alone"),
    "along": Variable("", "what varies, size or depth"),
    "width": Variable("", "hidden units of a layer"),
    "activation": Variable("", "of the hidden layers"),
    "data": Variable("", "data set that the inputs are from, if they are not drawn"),
    "targets": Variable("", "whose targets these have: the data set's own, or a teacher's"),
    "networks": Variable("", "networks of a point that are trained, of all teachers"),
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


def select(config: PointsConfig, ensembles: xr.Dataset) -> xr.Dataset:
    """The part of an ensemble that a study takes, with rising depths and sizes."""
    ordered = {name: sorted(getattr(config, f"{name}s") or ensembles[name].values) for name in AXES}
    return ensembles.sel({"parametrisation": list(config.parametrisations)} | ordered)


def trained_teachers(status: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Whether the networks ``(..., N)`` of each teacher are trained, ``(T,)``.

    Example:
        >>> trained_teachers(np.array([[CONVERGED, NOT_TRAINED, NOT_TRAINED]]), np.array([0, 1, 1]))
        array([ True, False])
    """
    return np.isin(np.unique(teacher), teacher[_trained(status)])


def _trained(status: np.ndarray) -> np.ndarray:
    """Which of the networks ``(..., N)`` are trained, ``(N,)``."""
    return np.asarray((status != NOT_TRAINED).reshape(-1, status.shape[-1]).any(axis=0))


def described(points: xr.Dataset, along: str) -> Arrays:
    """The arrays that :data:`POINTS` declares, of the part of an ensemble from :func:`select`."""
    status, of = points["status"].values, points["teacher"].values
    diverged = (status == DIVERGED).sum(axis=-1)
    return {
        **{name: points[name].values for name in (*GRID, "time", "width", "activation")},
        "teacher": np.unique(of),
        "trained": trained_teachers(status, of),
        "along": np.array(along),
        **{name: points[name].values for name in ("data", "targets") if name in points},
        "networks": np.array(_trained(status).sum()),
        "diverged": diverged,
        "epoch_limit": (status == EPOCH_LIMIT).sum(axis=-1),
    }


def study_data(arrays: Arrays, variables: Variables) -> xr.Dataset:
    """The data set of a study of points, which also says how many networks it leaves out."""
    return left_out(data_set(arrays, variables), int(arrays["diverged"].sum()))
