"""The folder of a computation: one file of arrays per item, and what became of the failed ones."""

import contextlib
import errno
import math
import os
import shutil
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hessian_papers.manifest import Manifest, described, fault
from hessian_papers.work import TrainingRun
from hessian_spectra.files import (
    Arrays,
    read_arrays,
    read_json,
    write_arrays,
    write_bytes,
    write_json,
)
from hessian_spectra.progress import Log

# What the names of an item's files end in: arrays, their manifest, an error, a training's state.
ARRAYS, FACTS, ERROR, UNFINISHED = ".npz", ".json", ".error", ".unfinished"
# A full disk, or one that may not be written to: another attempt would fail as well.
LASTING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}


def lasts(error: str) -> bool:
    """Whether what an attempt at an item raised will come again.

    Example:
        >>> lasts("OSError: [Errno 28] No space left on device"), lasts("ValueError: 28")
        (True, False)
    """
    return any(f"[Errno {number}]" in error for number in LASTING)


@dataclass(frozen=True)
class Spent:
    """The time that items took, one after the other, and where.

    Args:
        seconds: of one worker.
        devices: the names of the GPUs that computed some of them.
    """

    seconds: float
    devices: frozenset[str]

    def __add__(self, other: "Spent") -> "Spent":
        """The time of both, one after the other."""
        return Spent(self.seconds + other.seconds, self.devices | other.devices)


@dataclass(frozen=True)
class Shards:
    """The shards of one computation, each written whole or not at all.

    Args:
        folder: where they are: ``<key>.npz`` the arrays, ``<key>/`` what a training made beside
            them, ``<key>.json`` the manifest of both and how long they took, ``<key>.error`` what
            the last attempt raised, ``<key>.unfinished/`` how far a training has come.
    """

    folder: Path

    def path(self, key: str, ending: str = "") -> Path:
        """Where a file of an item is; without an ending, what a training makes beside arrays."""
        return self.folder / f"{key}{ending}"

    def unfinished(self, key: str) -> Path:
        """Where a training may keep its state until it is done."""
        return self.path(key, UNFINISHED)

    def run(self, key: str, log: Log) -> TrainingRun:
        """The run that the training of an item is given."""
        state, beside = self.unfinished(key), self.path(key)
        # What an interrupted one wrote there may be half of a file.
        shutil.rmtree(beside, ignore_errors=True)
        for folder in (state, beside):
            folder.mkdir(parents=True, exist_ok=True)
        return TrainingRun(log=log, checkpoint=state, folder=beside)

    def _keys(self, *endings: str) -> set[str]:
        """The keys of which there are all of some files."""
        # Listing the folder shows what other machines wrote sooner than asking for each file.
        names = set(os.listdir(self.folder)) if self.folder.is_dir() else set()
        keys = {name.partition(".")[0] for name in names}
        return {key for key in keys if key and all(f"{key}{ending}" in names for ending in endings)}

    def present(self) -> set[str]:
        """The keys of all shards that are there, by their names alone: it is asked often."""
        return self._keys(ARRAYS, FACTS)

    def failed(self) -> set[str]:
        """The keys of all items of which the last attempt raised something."""
        return self._keys(ERROR)

    def has(self, key: str) -> bool:
        """Whether an item's shard is there."""
        return self.path(key, ARRAYS).exists() and self.path(key, FACTS).exists()

    def wait_for(self, key: str) -> None:
        """Return when another process, which has just computed an item, has kept it."""
        while not self.has(key):
            time.sleep(0.05)

    def write(self, key: str, arrays: Arrays, seconds: float, device: str = "") -> None:
        """Write an item's shard; the manifest comes last: without it nothing counts.

        Args:
            key: the item's.
            arrays: the result.
            seconds: that its computation took.
            device: the GPU that computed it; empty: none.
        """
        with contextlib.suppress(OSError):
            self.path(key).rmdir()  # if it is empty
        write_arrays(self.path(key, ARRAYS), arrays)
        files = described(self.folder, [self.path(key, ARRAYS), self.path(key)])
        facts = {"seconds": seconds, "files": files} | ({"device": device} if device else {})
        write_json(self.path(key, FACTS), facts)
        self.clear_error(key)
        self.clear_unfinished(key)

    def clear_unfinished(self, key: str) -> None:
        """Remove the state of a training that is done."""
        shutil.rmtree(self.unfinished(key), ignore_errors=True)

    def manifest(self, key: str) -> Manifest:
        """The files of an item's shard, by their paths below the folder."""
        files: Manifest = read_json(self.path(key, FACTS))["files"]
        return files

    def damaged(self, keys: Iterable[str], *, digests: bool = False) -> set[str]:
        """The keys of those shards that are not as their manifests say; without one none counts.

        Args:
            keys: of the shards to look at.
            digests: whether to look at what their files say, and not at their sizes alone.
        """
        return {key for key in keys if not self._is_whole(key, digests)}

    def _is_whole(self, key: str, digests: bool) -> bool:
        try:
            files = self.manifest(key)
            named = self.path(key, ARRAYS).name in files
            return named and not fault(self.folder, files, digests=digests)
        except Exception:  # a damaged manifest leads to one of many errors
            return False

    def read(self, key: str) -> Arrays:
        """An item's arrays."""
        return read_arrays(self.path(key, ARRAYS))

    def discard(self, key: str) -> None:
        """Remove a shard; what stands beside its arrays goes when the item is computed again."""
        for ending in (FACTS, ARRAYS):
            self.path(key, ending).unlink(missing_ok=True)

    def spent(self, keys: Iterable[str]) -> Spent:
        """The time that the computation of some shards took in all, and the GPUs that they used.

        Of an item that was interrupted, since the last time that it was begun.
        """
        paths = (self.path(key, FACTS) for key in keys)
        known = [read_json(facts) for facts in paths if facts.exists()]
        devices = {facts["device"] for facts in known if "device" in facts}
        return Spent(math.fsum(facts["seconds"] for facts in known), frozenset(devices))

    def write_error(self, key: str, error: BaseException) -> None:
        """Keep what an attempt at an item raised: a line for the report, then the traceback."""
        trace = "".join(traceback.format_exception(error))
        write_bytes(self.path(key, ERROR), f"{line_of(error)}\n\n{trace}".encode())

    def clear_error(self, key: str) -> None:
        """Forget an attempt at an item, before the next one."""
        self.path(key, ERROR).unlink(missing_ok=True)

    def error(self, key: str) -> str:
        """The error of the last attempt at an item, in one line; empty if it raised nothing."""
        try:
            return self.path(key, ERROR).read_text("utf-8").partition("\n")[0]
        except FileNotFoundError:
            return ""


def line_of(error: BaseException) -> str:
    r"""An error in one line.

    Example:
        >>> line_of(ValueError("one line\nand another")), line_of(KeyError())
        ('ValueError: one line', 'KeyError')
    """
    message = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {message}".removesuffix(": ")
