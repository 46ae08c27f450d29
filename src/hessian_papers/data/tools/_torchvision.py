"""Published image data sets, through torchvision's own classes, layout and checksums."""

import contextlib
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
    published = getattr(optional_import("torchvision.datasets", "pipeline"), CLASSES[name])
    train, root = split == "train", storage.root
    if root is None:
        raise FileNotFoundError(
            f"{name} needs a folder of data sets, and data.root is null: {_command(name, None)}"
        )
    with contextlib.suppress(RuntimeError):
        if name == "cifar10":  # it has checksums of its unpacked files, too
            return _arrays(published(root, train=train))
    with tempfile.TemporaryDirectory() as scratch:
        fetched = _link(published, name, storage, Path(scratch))
        before = socket.getdefaulttimeout()
        socket.setdefaulttimeout(TIMEOUT_S)
        try:
            # It finds the linked files, and asks the network for no other than the missing ones.
            arrays = _arrays(published(scratch, train=train, download=True))
        except Exception as error:  # its readers raise whatever the bytes lead them into
            raise _unread(published, error, fetched, Path(scratch), root) from None
        finally:
            socket.setdefaulttimeout(before)
        _keep(fetched, Path(scratch), root)
        return arrays


def _command(name: str, root: Path | None) -> str:
    """The advice to a user whose data are missing."""
    place = "data.root=<folder>" if root is None else shlex.quote(f"data.root={root}")
    source = shlex.quote(f"data.sets.images.sources=[{name}]")
    return f"python -m pipelines.prepare only=images {source} {place} data.download=true fetches it"


def _archives(published: Any) -> dict[str, str]:
    """The files of a data set as they are published, below the root, with their MD5 sums."""
    if hasattr(published, "resources"):
        folder = f"{published.__name__}/raw"
        return {f"{folder}/{name}": md5 for name, md5 in published.resources}
    return {published.filename: published.tgz_md5}


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


def _unread(
    published: Any, error: Exception, fetched: list[str], scratch: Path, root: Path
) -> ValueError:
    """Which file torchvision could not fetch, or that it could not read those that it has."""
    from torchvision.datasets.utils import check_integrity

    reason = " ".join(str(error).split()) or type(error).__name__
    archives = _archives(published)
    for file in fetched:
        if not check_integrity(scratch / file, archives[file]):
            return ValueError(f"{root / file} could not be downloaded: {reason}")
    folder = root / next(iter(archives))
    return ValueError(
        f"{folder.parent}: the files have the expected checksums and cannot be read: {reason}"
    )


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
