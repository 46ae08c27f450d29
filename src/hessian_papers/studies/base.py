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

    data: str

    def require_data(self, form: Form) -> None:
        """Refuse a data set that the study cannot take.

        Raises:
            ValueError: its samples are others, or too few; the message begins with the field.
        """
        fits = self.takes in (None, form.samples)
        require(fits, "data", f"a data set with {self.takes}", self.data)


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
