"""Which points of an ensemble a study takes, and what became of their networks."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from hessian_papers.constraints import Once
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_spectra.files import Arrays
from hessian_spectra.validation import require

AXES = ("size", "depth")
# The statuses of a training that did not end at its plateau.
EPOCH_LIMIT, DIVERGED = 1, 2


@dataclass(frozen=True, kw_only=True)
class PointsConfig(EnsembleStudyConfig):
    """A study of some points of an ensemble.

    Args:
        parametrisations: some of those that the ensemble has.
        depths: the depths to take; empty for all of the ensemble.
        sizes: the input and output sizes D to take; empty for all of the ensemble.
    """

    parametrisations: Annotated[list[str], Once()]
    depths: Annotated[list[int], Once()]
    sizes: Annotated[list[int], Once()]

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.parametrisations
        require(len(names) > 0, "parametrisations", "at least one", names)

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks one of the points."""
        for field in ("parametrisations", "depths", "sizes"):
            asked, known = list(getattr(self, field)), list(getattr(networks, field, ()))
            expected = f"some of {self.ensemble}'s, {', '.join(map(str, known))}"
            require(set(asked) <= set(known), field, expected, asked)


@dataclass(frozen=True, kw_only=True)
class AlongConfig(PointsConfig):
    """A study of an ensemble along one of its axes, at a single place on the other.

    Args:
        along: what varies, ``size`` (input and output size D) or ``depth``.
    """

    along: str

    def __post_init__(self) -> None:
        require(self.along in AXES, "along", " or ".join(AXES), self.along)
        super().__post_init__()
        field = "depths" if self.along == "size" else "sizes"
        fixed = getattr(self, field)
        require(len(fixed) == 1, field, f"a single one along {self.along}", fixed)

    @property
    def fixed(self) -> int:
        """The depth along size, the size along depth."""
        return (self.depths if self.along == "size" else self.sizes)[0]


def select(config: PointsConfig, ensembles: Arrays) -> np.ndarray:
    """The ensemble's points that a study takes, ``(p, x)``: parametrisations, sizes or depths.

    Raises:
        ValueError: the ensemble lacks some of them.
    """
    chosen = {}
    for field, axis in (
        ("parametrisations", "parametrisation"),
        ("depths", "depth"),
        ("sizes", "size"),
    ):
        known, asked = np.unique(ensembles[axis]).tolist(), getattr(config, field)
        expected = f"some of the ensemble's, {', '.join(map(str, known))}"
        require(set(asked) <= set(known), field, expected, asked)
        chosen[axis] = asked or known
    keys = list(zip(*(ensembles[axis].tolist() for axis in chosen), strict=True))
    rows = [
        [
            (name, depth, size)
            for depth in sorted(chosen["depth"])
            for size in sorted(chosen["size"])
        ]
        for name in chosen["parametrisation"]
    ]
    for key in (key for row in rows for key in row if key not in keys):
        raise ValueError(
            f"ensemble {config.ensemble}: expected every combination of parametrisation, depth and "
            f"size, it lacks {key}"
        )
    return np.array([[keys.index(key) for key in row] for row in rows])


def labels(config: AlongConfig, ensembles: Arrays, points: np.ndarray) -> Arrays:
    """What the axes of a study's arrays mean: ``along``, ``fixed``, ``position (x,)`` and more."""
    return {
        "parametrisation": np.array(config.parametrisations),
        "along": np.array(config.along),
        "fixed": np.array(config.fixed),
        "position": ensembles[config.along][points[0]],
        "time": ensembles["time"],
        "width": ensembles["width"],
        "activation": ensembles["activation"],
    }


def outcomes(ensembles: Arrays, points: np.ndarray) -> Arrays:
    """How many ``networks`` a point has, of how many ``teachers``, and what became of them.

    ``diverged`` and ``epoch_limit (p, x)`` are counts of networks.
    """
    status = ensembles["status"][points]
    return {
        "networks": np.array(status.shape[-1]),
        "teachers": np.array(len(np.unique(ensembles["teacher"]))),
        "diverged": (status == DIVERGED).sum(axis=-1),
        "epoch_limit": (status == EPOCH_LIMIT).sum(axis=-1),
    }
