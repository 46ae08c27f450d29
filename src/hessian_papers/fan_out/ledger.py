"""The jobs that drivers submitted, so that a restarted one takes over those that still run."""

import contextlib
import fcntl
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hessian_spectra.files import read_json, write_json


@dataclass(frozen=True)
class Job:
    """Some items that another process computes.

    Args:
        folder: of the jobs that were submitted at once. submitit's files are there, and its name
            is what the jobs are called.
        index: which of these it is.
        keys: of its items, in the order in which it computes them.
        errors: a pattern for the file of its standard error.
    """

    folder: Path
    index: int
    keys: tuple[str, ...]
    errors: str

    @property
    def name(self) -> str:
        """A name that no other job has."""
        return f"{self.folder.name}/{self.index}"

    @property
    def last_words(self) -> str:
        """The last line that it wrote to its standard error, or that there is none."""
        lines: list[str] = []
        for log in sorted(self.folder.glob(self.errors))[:1]:
            lines = [line.strip() for line in log.read_text("utf-8", "replace").split("\n")]
        silence = "its job ended without a word, as one does that is killed"
        return next(filter(None, reversed(lines)), silence)


def _jobs(folder: Path, chunks: Sequence[Sequence[str]]) -> list[Job]:
    several = len(chunks) > 1
    return [
        Job(folder, index, tuple(keys), f"*_{index}_0_log.err" if several else "*_0_log.err")
        for index, keys in enumerate(chunks)
    ]


@dataclass(frozen=True)
class Ledger:
    """The jobs that were submitted to one cluster for one computation.

    Args:
        folder: of their folders.
    """

    folder: Path

    def new(self, chunks: Sequence[tuple[str, ...]]) -> list[Job]:
        """A job for each chunk of keys, with a folder that no others have.

        They are written down before they are submitted: they are found by the folder's name, so
        that not even a driver that is killed in between loses them.
        """
        folder = self.folder / f"fan-out-{uuid.uuid4().hex[:12]}"
        write_json(folder / "ledger.json", chunks)
        return _jobs(folder, chunks)

    def jobs(self) -> list[Job]:
        """All jobs that were written down and not cleared away."""
        files = sorted(self.folder.glob("*/ledger.json"))
        return [job for file in files for job in _jobs(file.parent, read_json(file))]

    def clear(self, kept: Sequence[Job] = ()) -> None:
        """Remove the folders of all jobs but some."""
        for folder in set(self.folder.glob("*")) - {job.folder for job in kept}:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def one_at_a_time(folder: Path, wait: Callable[[], None]) -> Iterator[None]:
    """A block that only one driver of a folder is in; the lock of one that is killed is free.

    Args:
        folder: of the computation; made if it is not there.
        wait: called if another driver is in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
