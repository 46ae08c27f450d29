"""What the configurations of all data sets have in common, and where stored data are."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hessian_spectra.validation import require

ONE_FEATURE = "one feature per sample"
SEVERAL_FEATURES = "several features per sample"
SCALAR_TOKENS = "numbers as tokens"
VECTOR_TOKENS = "vectors as tokens"
IMAGES = "images"
TEXT = "text as tokens"


@dataclass(frozen=True)
class Form:
    """What the samples of a data set are, as far as its settings say.

    Args:
        samples: one of the above.
        shape: of the inputs ``x``; empty if only the files say.
    """

    samples: str
    shape: tuple[int, ...] = ()

    @classmethod
    def of_features(cls, x: np.ndarray) -> "Form":
        """The form of inputs ``(n,)`` or ``(n, D)``."""
        return cls(ONE_FEATURE if x.ndim == 1 else SEVERAL_FEATURES, x.shape)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The fields that every ``conf/data/<data set>.yaml`` has.

    Args:
        kind: the module of ``hessian_spectra.data`` that makes it.
        seed: seed of all random draws of the data set; without effect on real data.
    """

    kind: str
    seed: int

    @property
    def form(self) -> Form | None:
        """What its samples are, by which a study may refuse it; ``None``: none does."""
        return None

    @property
    def stored(self) -> list[str]:
        """What of it is kept below ``data.root``, and nowhere else."""
        return []


@dataclass(frozen=True, kw_only=True)
class SizedConfig(DataConfig):
    """The fields of data sets of as many points as one likes.

    Args:
        size: number of points n.
    """

    size: int

    def __post_init__(self) -> None:
        require(self.size >= 1, "size", "at least 1", self.size)

    @property
    def form(self) -> Form | None:
        """One number for each sample."""
        return Form(ONE_FEATURE, (self.size,))


@dataclass(frozen=True)
class Storage:
    """Where data sets that are too large to come with a dependency are kept.

    Args:
        root: the folder that holds them, laid out as torchvision does; ``None`` if there is none.
        download: whether what is missing there may be fetched from the network.
    """

    root: Path | None
    download: bool

    def place(self, path: str) -> Path:
        """Where a file or folder is that a configuration names: below the root, or absolute.

        Raises:
            FileNotFoundError: it is relative, and there is no root.

        Example:
            >>> Storage(Path("/data"), False).place("own/leaves.npz").as_posix()
            '/data/own/leaves.npz'
        """
        found = Path(path).expanduser()
        if self.root is None and not found.is_absolute():
            raise FileNotFoundError(
                f"{path} is relative to data.root, which is null: add data.root=<folder>"
            )
        return (self.root or Path()) / found


OFFLINE = Storage(None, False)
