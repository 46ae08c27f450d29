"""What the configurations of all data sets have in common."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The fields that every ``conf/data/<data set>.yaml`` has.

    Args:
        kind: the module of ``hessian_spectra.data`` that makes it.
        seed: seed of all random draws of the data set; without effect on real data.
    """

    kind: str
    seed: int


def require(condition: bool, field: str, expected: str, value: Any) -> None:
    """Refuse a bad value of a configuration field.

    Raises:
        ValueError: ``condition`` is false; the message names the field, what was expected and
            what came.
    """
    if not condition:
        raise ValueError(f"{field}: expected {expected}, got {value!r}")
