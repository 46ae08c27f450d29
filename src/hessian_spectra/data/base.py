"""What the configurations of all data sets have in common."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The fields that every ``conf/data/<data set>.yaml`` has.

    Args:
        kind: the module of ``hessian_spectra.data`` that makes it.
        seed: seed of all random draws of the data set; without effect on real data.
    """

    kind: str
    seed: int
