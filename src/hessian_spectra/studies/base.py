"""What the configurations of all studies have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

# What a training loop calls after each recorded step: the step and its metrics.
Log = Callable[[int, Mapping[str, float]], None]


def silent(step: int, metrics: Mapping[str, float]) -> None:
    """A :data:`Log` that keeps nothing."""


@dataclass(frozen=True, kw_only=True)
class StudyConfig:
    """The fields that every ``conf/studies/<study>.yaml`` has.

    Args:
        kind: the module of ``hessian_spectra.studies`` (and of ``figures``) that does it.
        paper: key of the paper, for example ``singh2026cracking``.
        artifact: where it stands there, for example ``Figure 7``.
        title: one line for the report.
        seed: seed of all random draws of the study.
    """

    kind: str
    paper: str
    artifact: str
    title: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class DataStudyConfig(StudyConfig):
    """A study on a data set.

    Args:
        data: the data set, a name from ``conf/data``.
    """

    data: str


@dataclass(frozen=True, kw_only=True)
class EnsembleStudyConfig(StudyConfig):
    """A study of the networks of an ensemble.

    Args:
        ensemble: its name, one from ``conf/ensembles``.
    """

    ensemble: str
