"""What the configurations of all data sets have in common, and where stored data are."""

from dataclasses import dataclass
from pathlib import Path

from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The fields that every ``conf/data/<data set>.yaml`` has.

    Args:
        kind: the module of ``hessian_spectra.data`` that makes it.
        seed: seed of all random draws of the data set; without effect on real data.
    """

    kind: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class SizedConfig(DataConfig):
    """The fields of data sets of as many points as one likes.

    Args:
        size: number of points n.
    """

    size: int

    def __post_init__(self) -> None:
        require(self.size >= 1, "size", "at least 1", self.size)


@dataclass(frozen=True)
class Storage:
    """Where data sets that are too large to come with a dependency are kept.

    Args:
        root: the folder that holds them, laid out as torchvision does; ``None`` if there is none.
        download: whether what is missing there may be fetched from the network.
    """

    root: Path | None
    download: bool


OFFLINE = Storage(None, False)
