"""The settings of the study of the identities."""

from dataclasses import dataclass

from hessian_spectra.studies.base import DataStudyConfig
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class Config(DataStudyConfig):
    """Settings of the identities.

    Args:
        instances: random instances of each theorem, beside its edge cases; half as many of deep
            networks, for which brute force takes two matrices each.
        width: largest hidden width; two thirds of it in deep networks.
        points: largest number of data points of an instance.
    """

    instances: int
    width: int
    points: int

    def __post_init__(self) -> None:
        require(self.instances >= 6, "instances", "at least 6", self.instances)
        require(2 <= self.width <= 50, "width", "2 to 50", self.width)
        require(self.points >= 2, "points", "at least 2", self.points)
