"""The settings that all data sets have in common, and where stored data are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from hessian_papers.constraints import Checked, Count

ONE_FEATURE = "one feature per sample"
SEVERAL_FEATURES = "several features per sample"
SCALAR_TOKENS = "numbers as tokens"
VECTOR_TOKENS = "vectors as tokens"
IMAGES = "images"
TEXT = "text as tokens"

# The settings that may name a user's own files, and how such a file ends.
NAMING = ("sources", "tokenizer", "file")
ENDINGS = (".npz", ".txt", ".csv", ".parquet")
# Below a folder: what is kept there to be made into files.
DOWNLOADS = "downloads"


@dataclass(frozen=True)
class Form:
    """The form of a data set's samples, as far as its settings say.

    Args:
        samples: one of the above.
        shape: of the inputs ``x``; empty if only the files say.
        targets: numbers to predict for each sample.
    """

    samples: str
    shape: tuple[int, ...] = ()
    targets: int = 1

    @classmethod
    def of(cls, data: xr.Dataset) -> "Form | None":
        """The form of inputs ``(n,)`` or ``(n, D)`` with their targets; ``None`` of other data.

        Example:
            >>> Form.of(xr.Dataset({"x": ("sample", [0.5, 1.0]), "y": ("sample", [1.0, 0.0])}))
            Form(samples='one feature per sample', shape=(2,), targets=1)
        """
        if "x" not in data or data["x"].dims[0] != "sample":
            return None
        samples = ONE_FEATURE if data["x"].ndim == 1 else SEVERAL_FEATURES
        return cls(samples, data["x"].shape, data.sizes.get("target", 1))


@dataclass(frozen=True, kw_only=True)
class DataConfig(Checked):
    """The fields that every ``conf/data/<data set>.yaml`` has.

    Args:
        kind: the module of ``hessian_papers.data`` that makes it.
        seed: seed of all random draws of the data set; without effect on real data.
    """

    kind: str
    seed: int

    @property
    def form(self) -> Form | None:
        """The form of its samples, by which a study may refuse it; ``None``: none does."""
        return None

    @property
    def stored(self) -> list[str]:
        """The parts of it that are kept below ``data.root``, and nowhere else."""
        return []


@dataclass(frozen=True, kw_only=True)
class SizedConfig(DataConfig):
    """The fields of data sets of as many points as one likes.

    Args:
        size: number of points n.
    """

    size: Count

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
        place = Path(path).expanduser()
        if self.root is None and not place.is_absolute():
            raise FileNotFoundError(
                f"{path} is relative to data.root, which is null: add data.root=<folder>"
            )
        return (self.root or Path()) / place

    def own_files(self, settings: Mapping[str, Any]) -> Iterator[Path]:
        """The files that a data set is made from and that may be changed in place.

        Those of published images are not among them: they are compared with checksums when they
        are read.

        Args:
            settings: of the data set. A file stands there with its ending, whether it is there or
                not; of a folder, as a vocabulary is, all files in it and in its folders count.

        Example:
            >>> [file.as_posix() for file in OFFLINE.own_files({"sources": ["digits", "/my.npz"]})]
            ['/my.npz']
        """
        named = [settings[name] for name in NAMING if name in settings]
        for name in (n for entry in named for n in ([entry] if isinstance(entry, str) else entry)):
            if self.root is None and not Path(name).expanduser().is_absolute():
                continue
            place = self.place(name)
            if name.endswith(ENDINGS):
                yield place
            elif place.is_dir():
                files = (*place.glob("*"), *place.glob("*/*"))
                yield from sorted(f for f in files if f.is_file() and DOWNLOADS not in f.parts)


OFFLINE = Storage(None, False)
