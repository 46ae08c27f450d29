"""Trained networks as they are kept: a folder of a data set, and of what is more than that.

As xarray has it of what it opens, ``encoding["source"]`` of the data set is the path of its file.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from hessian_papers import labelled
from hessian_papers.manifest import Manifest, described, fault
from hessian_spectra.files import (
    DamagedFileError,
    MissingResultError,
    damaged,
    read_json,
    write_json,
)

DATA = "data.nc"
# Sizes and digests of all other files of the folder: a part of it is not taken for the whole.
MANIFEST = "manifest.json"


def kept_in(folder: Path, networks: xr.Dataset) -> xr.Dataset:
    """Networks with the folder where they are kept, and all else that their training made.

    Example:
        >>> networks = kept_in(Path("results/networks/small"), xr.Dataset({"width": 3}))
        >>> int(networks["width"]), folder_of(networks).name
        (3, 'small')
    """
    networks = networks.copy()
    networks.encoding["source"] = str(folder / DATA)
    return networks


def folder_of(networks: xr.Dataset) -> Path:
    """The folder where networks are kept.

    Raises:
        ValueError: nothing is kept of them but the data set.
    """
    if "source" not in networks.encoding:
        raise ValueError("networks: expected some that are kept in a folder with their weights")
    return Path(networks.encoding["source"]).parent


def manifest_of(folder: Path) -> Manifest:
    """Sizes and digests of the files of a folder of networks; nothing before it is written."""
    manifest: Manifest = read_json(folder / MANIFEST) if (folder / MANIFEST).is_file() else {}
    return manifest


def write(
    folder: Path,
    networks: xr.Dataset,
    made: Mapping[str, Path] | None = None,
    written: Manifest | None = None,
) -> xr.Dataset:
    """Keep networks in a folder, whole or not at all; what was there before is replaced.

    Args:
        folder: where.
        networks: their data set.
        made: folders of what is more than that, each by the name that it gets there, ``.`` for
            none. They stay where they are; files are not copied where the file system can link: a
            link saves gigabytes, and whoever changes such a file is found out by the manifest.
        written: what was made, as it was when it was written; by its path in the folder.

    Raises:
        DamagedFileError: what was made is not that any more.
        ValueError: the file of the data set, or the manifest, has the name of one that was made.
    """
    for left in folder.parent.glob(f".{folder.name}.*.partial"):
        shutil.rmtree(left, ignore_errors=True)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        for name, source in (made or {}).items():
            shutil.copytree(source, partial / name, copy_function=_link, dirs_exist_ok=True)
        for name in (DATA, MANIFEST):
            if (partial / name).exists():
                expected = "another name of what a training makes beside the data set"
                raise ValueError(f"{name}: expected {expected}")
        if reason := fault(partial, written or {}, digests=True):
            raise damaged(folder, reason, "it was not written, run it again")
        labelled.write(partial / DATA, networks)
        write_json(partial / MANIFEST, described(partial, [partial]))
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return kept_in(folder, networks)


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


def read(folder: Path) -> xr.Dataset:
    """The data set that :func:`write` kept.

    Of what is more than the data set the sizes are checked: who needs gigabytes reads them.

    Raises:
        MissingResultError: there is nothing; the message says what to run.
        DamagedFileError: a part of it is missing, or is not as it was written.
    """
    if not folder.is_dir():
        raise MissingResultError(f"{folder} is missing: {_again(folder)}")
    try:
        manifest = read_json(folder / MANIFEST)
        reason = fault(folder, manifest) or fault(folder, {DATA: manifest[DATA]}, digests=True)
    except Exception:  # a damaged manifest leads to one of many errors
        reason = f"{MANIFEST} is missing or damaged"
    if reason:
        raise not_as_written(folder, reason)
    return kept_in(folder, labelled.read(folder / DATA))
