"""Trained networks as they are kept: a folder of arrays, and of what is more than arrays."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hessian_spectra.results import Arrays, MissingResultError, read_arrays, write_arrays

ARRAYS = "arrays.npz"


class Networks(dict[str, np.ndarray]):
    """The arrays of trained networks, by name.

    Args:
        arrays: the arrays.
        folder: where they are kept, with all else that their training made.

    Example:
        >>> networks = Networks({"width": np.array(3)}, Path("results/networks/small"))
        >>> int(networks["width"]), networks.folder.name
        (3, 'small')
    """

    def __init__(self, arrays: Arrays, folder: Path) -> None:
        super().__init__(arrays)
        self.folder = folder


def write(folder: Path, arrays: Arrays, made: Mapping[str, Path] | None = None) -> Networks:
    """Keep networks in a folder, whole or not at all; what was there before is replaced.

    Args:
        folder: where.
        arrays: their arrays.
        made: folders of what is more than arrays, each by the name that it gets there, ``.`` for
            none. They stay where they are; files are not copied where the file system can link.

    Raises:
        ValueError: the file of the arrays has the name of one that was made.
    """
    for left in folder.parent.glob(f".{folder.name}.*.partial"):
        shutil.rmtree(left, ignore_errors=True)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        for name, source in (made or {}).items():
            shutil.copytree(source, partial / name, copy_function=_link, dirs_exist_ok=True)
        if (partial / ARRAYS).exists():
            expected = "another name of what a training makes beside arrays"
            raise ValueError(f"{ARRAYS}: expected {expected}")
        write_arrays(partial / ARRAYS, arrays)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Networks(arrays, folder)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


def read(folder: Path) -> Networks:
    """What :func:`write` kept.

    Raises:
        MissingResultError: there is nothing, or it is damaged; the message says what to run.
    """
    again = f"train it (dvc repro train@{folder.name}, or python -m pipelines.train)"
    try:
        return Networks(read_arrays(folder / ARRAYS), folder)
    except FileNotFoundError:
        raise MissingResultError(f"{folder} is missing: {again}") from None
    except Exception as error:  # a torn archive raises one of many errors
        raise MissingResultError(f"{folder} is damaged ({error}): {again}") from None
