"""Published image data sets, through torchvision's own classes, layout and checksums."""

import os
import shlex
import socket
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hessian_papers.data.base import Storage
from hessian_spectra.files import write_bytes
from hessian_spectra.validation import optional_import

# Names in configurations, and torchvision's classes.
CLASSES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST", "cifar10": "CIFAR10"}

# A server that answers nothing for so long is given up.
TIMEOUT_S = 60.0


def load(name: str, split: str, storage: Storage) -> tuple[np.ndarray, np.ndarray]:
    """One split of a published data set.

    The files below ``storage.root`` are compared with torchvision's list of checksums, and
    unpacked in a temporary folder: nothing is written next to them. Only what has to be downloaded
    is added there.

    Args:
        name: one of :data:`CLASSES`.
        split: ``"train"`` or ``"test"``.
        storage: where the files are, and whether missing or damaged ones may be fetched.

    Returns:
        Images ``(N, H, W, C)``, uint8, and labels ``(N,)``, int64.

    Raises:
        FileNotFoundError: there is no folder, or a file is not in it.
        ValueError: a file has another checksum, cannot be read, or cannot be fetched or kept.
    """
    # Imported here: it takes a second to load, and most data sets do without.
    datasets = optional_import("torchvision.datasets", "pipeline")
    published = getattr(datasets, CLASSES[name])
    if storage.root is None:
        raise FileNotFoundError(
            f"{name} needs a folder of data sets, and data.root is null: {_command(name, None)}"
        )
    train = split == "train"
    if name == "cifar10" and _is_unpacked(published, storage.root):
        return _arrays(_read(published, storage.root, train, download=False))
    with tempfile.TemporaryDirectory() as scratch:
        fetched = _link(published, name, storage, Path(scratch))
        dataset = _unpack(published, Path(scratch), train, fetched, storage.root)
        _keep(fetched, Path(scratch), storage.root)
        return _arrays(dataset)


def _command(name: str, root: Path | None) -> str:
    """The advice to a user whose data are missing."""
    overrides = [f"data.sets.images.sources=[{name}]", f"data.root={root}"]
    quoted = [shlex.quote(override) for override in overrides]
    if root is None:
        quoted[1] = "data.root=<folder>"
    return (
        f"python -m pipelines.prepare only=images {' '.join(quoted)} data.download=true fetches it"
    )


def _archives(published: Any) -> dict[str, str]:
    """The files of a data set as they are published, below the root, with their MD5 sums."""
    if hasattr(published, "resources"):
        folder = f"{published.__name__}/raw"
        return {f"{folder}/{name}": md5 for name, md5 in published.resources}
    return {published.filename: published.tgz_md5}


def _is_unpacked(published: Any, root: Path) -> bool:
    """Whether CIFAR-10's unpacked files are there: they have checksums of their own."""
    from torchvision.datasets.utils import check_integrity

    files = [*published.train_list, *published.test_list]
    files.append([published.meta["filename"], published.meta["md5"]])
    return all(check_integrity(root / published.base_folder / file, md5) for file, md5 in files)


def _link(published: Any, name: str, storage: Storage, scratch: Path) -> list[str]:
    """Link the verified files into ``scratch``; what is returned has to be fetched."""
    from torchvision.datasets.utils import calculate_md5

    root, fetched = storage.root, []
    assert root is not None
    for file, md5 in _archives(published).items():
        path = (root / file).absolute()
        (scratch / file).parent.mkdir(parents=True, exist_ok=True)
        checksum = calculate_md5(path) if path.is_file() else None
        if checksum == md5:
            os.symlink(path, scratch / file)
        elif storage.download:
            fetched.append(file)
        elif checksum is None:
            raise FileNotFoundError(f"{name}: {path} is missing: {_command(name, root)}")
        else:
            raise ValueError(
                f"{name}: {path} is damaged: expected the MD5 sum {md5}, got {checksum}: "
                f"{_command(name, root)} anew"
            )
    return fetched


def _read(published: Any, root: Path, train: bool, download: bool) -> Any:
    """The data set as torchvision has it, with an end to waiting for servers."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_S)
    try:
        return published(root, train=train, download=download)
    finally:
        socket.setdefaulttimeout(before)


def _unpack(published: Any, scratch: Path, train: bool, fetched: list[str], root: Path) -> Any:
    """Let torchvision fetch what is not in ``scratch`` yet, and unpack it all there."""
    from torchvision.datasets.utils import check_integrity

    try:
        # It finds the linked files, and asks the network for no other than the missing ones.
        return _read(published, scratch, train, download=True)
    except Exception as error:  # its readers raise whatever the bytes lead them into
        reason = " ".join(str(error).split()) or type(error).__name__
        archives = _archives(published)
        for file in fetched:
            if not check_integrity(scratch / file, archives[file]):
                raise ValueError(f"{root / file} could not be downloaded: {reason}") from None
        folder = root / next(iter(archives))
        raise ValueError(
            f"{folder.parent}: the files have the expected checksums and cannot be read: {reason}"
        ) from None


def _keep(fetched: list[str], scratch: Path, root: Path) -> None:
    """Move downloaded files to where the next run finds them, each as a whole or not at all."""
    for file in fetched:
        try:
            write_bytes(root / file, (scratch / file).read_bytes())
        except OSError as error:
            raise ValueError(
                f"{root / file} was downloaded and cannot be kept there: {error.strerror}: "
                "choose another data.root"
            ) from None


def _arrays(dataset: Any) -> tuple[np.ndarray, np.ndarray]:
    images = np.ascontiguousarray(dataset.data)
    if images.ndim == 3:
        images = images[..., np.newaxis]
    return images, np.asarray(dataset.targets, dtype=np.int64)
