"""The settings that the configurations of all studies have in common."""

from dataclasses import dataclass
from typing import Any, ClassVar

from hessian_papers.constraints import Checked
from hessian_papers.data.base import Form
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class StudyConfig(Checked):
    """The fields that every ``conf/studies/<paper>/<study>.yaml`` has.

    Args:
        kind: the folder ``hessian_papers.studies.<family>.<kind>`` that does it.
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

    # What samples it takes, one of those in `data.base`; None if it takes any.
    takes: ClassVar[str | None] = None
    # Whether there may be several targets for each sample.
    any_targets: ClassVar[bool] = False

    data: str

    def require_data(self, form: Form) -> None:
        """Refuse a data set that the study cannot take.

        Raises:
            ValueError: its samples are others, or too few; the message begins with the field.
        """
        fits = self.takes in (None, form.samples)
        require(fits, "data", f"a data set with {self.takes}", self.data)
        alone = self.any_targets or form.targets == 1
        require(alone, "data", "a data set with one target per sample", self.data)
        if form.shape:
            self.require_shape(*form.shape)

    def require_shape(self, *shape: int) -> None:
        """Refuse inputs of a shape that the study cannot take, like :meth:`require_data`.

        Some data sets are known to have it when they are read, and not before.
        """


@dataclass(frozen=True, kw_only=True)
class EnsembleStudyConfig(StudyConfig):
    """A study of the networks of an ensemble.

    Args:
        ensemble: its name, one from ``conf/networks``.
    """

    ensemble: str

    def require_networks(self, networks: Any) -> None:
        """Refuse an ensemble that lacks what the study takes.

        Args:
            networks: the ensemble's settings.

        Raises:
            ValueError: it does; the message begins with the field.
        """
