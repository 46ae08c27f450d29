"""The folder of a computation: one file of arrays per item, and what became of the failed ones."""

import contextlib
import errno
import math
import os
import shutil
import time
import traceback
from collections.abc import Iterable, Set
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

# What the folder of a training's unfinished state ends in.
UNFINISHED = ".unfinished"
# A full disk, or one that may not be written to: another attempt would fail as well.
LASTING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}


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

    def path(self, key: str) -> Path:
        """Where the arrays of an item are."""
        return self.folder / f"{key}.npz"

    def unfinished(self, key: str) -> Path:
        """Where a training may keep its state until it is done."""
        return self.folder / f"{key}{UNFINISHED}"

    def beside(self, key: str) -> Path:
        """Where a training may keep what is more than arrays."""
        return self.folder / key

    def run(self, key: str, log: Log) -> TrainingRun:
        """The run that the training of an item is given."""
        # What an interrupted one wrote there may be half of a file.
        shutil.rmtree(self.beside(key), ignore_errors=True)
        for folder in (self.unfinished(key), self.beside(key)):
            folder.mkdir(parents=True, exist_ok=True)
        return TrainingRun(log=log, checkpoint=self.unfinished(key), folder=self.beside(key))

    def _facts(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _error(self, key: str) -> Path:
        return self.folder / f"{key}.error"

    def _names(self) -> list[str]:
        # Listing the folder shows what other machines wrote sooner than asking for each file.
        try:
            with os.scandir(self.folder) as entries:
                return [entry.name for entry in entries]
        except FileNotFoundError:
            return []

    def present(self) -> set[str]:
        """The keys of all shards that are there, by their names alone: it is asked often."""
        names = {name for name in self._names() if not name.startswith(".")}
        keys = (name.removesuffix(".npz") for name in names if name.endswith(".npz"))
        return {key for key in keys if f"{key}.json" in names}

    def has(self, key: str) -> bool:
        """Whether an item's shard is there."""
        return self.path(key).exists() and self._facts(key).exists()

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
            self.beside(key).rmdir()  # if it is empty
        write_arrays(self.path(key), arrays)
        files = described(self.folder, [self.path(key), self.beside(key)])
        facts = {"seconds": seconds, "files": files} | ({"device": device} if device else {})
        write_json(self._facts(key), facts)
        self._error(key).unlink(missing_ok=True)
        shutil.rmtree(self.unfinished(key), ignore_errors=True)

    def clear_unfinished(self, done: Set[str]) -> None:
        """Remove the states of trainings that are done.

        They are left by a job that was ended while it made what another driver's job had made.
        """
        for name in self._names():
            if name.endswith(UNFINISHED) and name.removesuffix(UNFINISHED) in done:
                shutil.rmtree(self.folder / name, ignore_errors=True)

    def manifest(self, key: str) -> Manifest:
        """The files of an item's shard, by their paths below the folder."""
        files: Manifest = read_json(self._facts(key))["files"]
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
            return self.path(key).name in files and not fault(self.folder, files, digests=digests)
        except Exception:  # a damaged manifest leads to one of many errors
            return False

    def read(self, key: str) -> Arrays:
        """An item's arrays."""
        return read_arrays(self.path(key))

    def discard(self, key: str) -> None:
        """Remove a shard; what stands beside its arrays goes when the item is computed again."""
        for path in (self._facts(key), self.path(key)):
            path.unlink(missing_ok=True)

    def spent(self, keys: Iterable[str]) -> Spent:
        """The time that the computation of some shards took in all, and the GPUs that they used.

        Of an item that was interrupted, since the last time that it was begun.
        """
        known = [read_json(facts) for facts in map(self._facts, keys) if facts.exists()]
        devices = {facts["device"] for facts in known if "device" in facts}
        return Spent(math.fsum(facts["seconds"] for facts in known), frozenset(devices))

    def write_error(self, key: str, error: BaseException) -> None:
        """Keep what an attempt at an item raised: a line for the report, then the traceback."""
        self.folder.mkdir(parents=True, exist_ok=True)
        message = str(error).strip().partition("\n")[0]
        line = f"{type(error).__name__}: {message}".removesuffix(": ")
        trace = "".join(traceback.format_exception(error))
        write_bytes(self._error(key), f"{line}\n\n{trace}".encode())

    def lasts(self, key: str) -> bool:
        """Whether what the last attempt at an item raised will come again."""
        return any(f"[Errno {number}]" in self.error(key) for number in LASTING)

    def clear_error(self, key: str) -> None:
        """Forget an attempt at an item, before the next one."""
        self._error(key).unlink(missing_ok=True)

    def error(self, key: str) -> str:
        """The error of the last attempt at an item, in one line; empty if it raised nothing."""
        try:
            return self._error(key).read_text("utf-8").partition("\n")[0]
        except FileNotFoundError:
            return ""
