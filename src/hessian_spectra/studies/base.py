"""What the configurations of all studies have in common."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StudyConfig:
    """The fields that every ``conf/studies/<paper>/<study>.yaml`` has.

    Args:
        kind: the folder ``hessian_spectra.studies.<family>.<kind>`` that does it.
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
        ensemble: its name, one from ``conf/networks``.
    """

    ensemble: str
