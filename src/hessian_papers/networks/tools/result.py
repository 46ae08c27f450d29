"""Trained networks as they are kept: a folder of arrays, and of what is more than arrays."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hessian_papers.manifest import Manifest, described, fault
from hessian_spectra.files import (
    Arrays,
    DamagedFileError,
    MissingResultError,
    damaged,
    read_arrays,
    read_json,
    write_arrays,
    write_json,
)

ARRAYS = "arrays.npz"
# Sizes and digests of all other files of the folder: a part of it is not taken for the whole.
MANIFEST = "manifest.json"


class Networks(dict[str, np.ndarray]):
    """The arrays of trained networks, by name.

    Args:
        arrays: the arrays.
        folder: where they are kept, with all else that their training made.
        manifest: of that folder, where it has been written.

    Example:
        >>> networks = Networks({"width": np.array(3)}, Path("results/networks/small"))
        >>> int(networks["width"]), networks.folder.name
        (3, 'small')
    """

    def __init__(self, arrays: Arrays, folder: Path, manifest: Manifest | None = None) -> None:
        super().__init__(arrays)
        self.folder = folder
        self.manifest = manifest or {}


def write(
    folder: Path,
    arrays: Arrays,
    made: Mapping[str, Path] | None = None,
    written: Manifest | None = None,
) -> Networks:
    """Keep networks in a folder, whole or not at all; what was there before is replaced.

    Args:
        folder: where.
        arrays: their arrays.
        made: folders of what is more than arrays, each by the name that it gets there, ``.`` for
            none. They stay where they are; files are not copied where the file system can link: a
            link saves gigabytes, and whoever changes such a file is found out by the manifest.
        written: what was made, as it was when it was written; by its path in the folder.

    Raises:
        DamagedFileError: what was made is not that any more.
        ValueError: the file of the arrays, or the manifest, has the name of one that was made.
    """
    for left in folder.parent.glob(f".{folder.name}.*.partial"):
        shutil.rmtree(left, ignore_errors=True)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        for name, source in (made or {}).items():
            shutil.copytree(source, partial / name, copy_function=_link, dirs_exist_ok=True)
        for name in (ARRAYS, MANIFEST):
            if (partial / name).exists():
                expected = "another name of what a training makes beside arrays"
                raise ValueError(f"{name}: expected {expected}")
        if reason := fault(partial, written or {}, digests=True):
            raise damaged(folder, reason, "it was not written, run it again")
        write_arrays(partial / ARRAYS, arrays)
        manifest = described(partial, [partial])
        write_json(partial / MANIFEST, manifest)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Networks(arrays, folder, manifest)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


def not_as_written(folder: Path, reason: str) -> DamagedFileError:
    """The error of networks that are not as they were written, in one line."""
    return damaged(folder, reason, f"delete it and {_again(folder)}")


def _again(folder: Path) -> str:
    return f"train it (dvc repro train@{folder.name}, or python -m pipelines.train)"


def read(folder: Path) -> Networks:
    """What :func:`write` kept.

    Of what is more than arrays the sizes are checked: gigabytes are read by whoever needs them.

    Raises:
        MissingResultError: there is nothing; the message says what to run.
        DamagedFileError: a part of it is missing, or is not as it was written.
    """
    if not folder.is_dir():
        raise MissingResultError(f"{folder} is missing: {_again(folder)}")
    try:
        manifest = read_json(folder / MANIFEST)
        arrays = {ARRAYS: manifest[ARRAYS]}
        reason = fault(folder, manifest) or fault(folder, arrays, digests=True)
    except Exception:  # a damaged manifest leads to one of many errors
        reason = f"{MANIFEST} is missing or damaged"
    if reason:
        raise not_as_written(folder, reason)
    return Networks(read_arrays(folder / ARRAYS), folder, manifest)
