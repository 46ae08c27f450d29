"""The jobs that drivers submitted, so that a restarted one takes over those that still run."""

import os
import platform
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from hessian_spectra.results import read_json, write_json

# A submission of another machine, of which nobody here can tell whether its driver lives, is
# cleared away after a week.
STALE_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Process:
    """A process, told from a later one of the same number by when it started.

    Args:
        host: its machine.
        number: its number there.
        started: when it started, in seconds.
    """

    host: str
    number: int
    started: float

    @classmethod
    def of(cls, number: int) -> "Process":
        """The process of this number; one that is gone already counts as just started."""
        try:
            started = psutil.Process(number).create_time()
        except psutil.NoSuchProcess:
            started = time.time()
        return cls(platform.node(), number, started)

    @property
    def here(self) -> bool:
        """Whether it is one of this machine."""
        return self.host == platform.node()

    @property
    def dead(self) -> bool:
        """Whether it does not run any more; known only of one of this machine."""
        return self.here and not self.running

    @property
    def running(self) -> bool:
        """Whether it runs; known only of one of this machine."""
        if not self.here:
            return False
        try:
            found = psutil.Process(self.number)
            # The start is known to a second or two: it is counted from the boot, whose time moves
            # a little when the clock is set.
            same = abs(found.create_time() - self.started) < 3
            return same and found.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True)
class Submission:
    """Some chunks of items, submitted at once.

    Args:
        folder: its own; submitit's files are there, and ``ledger.json``. Its name is the jobs'.
        cluster: where they were submitted to.
        driver: who submitted them.
        chunks: the keys of each job, in the order in which it computes them.
        process: the process of a local job.
    """

    folder: Path
    cluster: str
    driver: Process
    chunks: tuple[tuple[str, ...], ...]
    process: Process | None = None

    @property
    def name(self) -> str:
        """What the jobs are called."""
        return self.folder.name

    def write(self) -> None:
        """Keep it for other drivers."""
        record = asdict(self)
        del record["folder"]
        write_json(self.folder / "ledger.json", record)

    @classmethod
    def read(cls, folder: Path) -> "Submission":
        """What :meth:`write` kept."""
        record = read_json(folder / "ledger.json")
        return cls(
            folder=folder,
            cluster=record["cluster"],
            driver=Process(**record["driver"]),
            chunks=tuple(tuple(chunk) for chunk in record["chunks"]),
            process=Process(**record["process"]) if record["process"] else None,
        )


@dataclass(frozen=True)
class Job:
    """One job.

    Args:
        submission: the submission that it belongs to.
        index: which of its chunks it computes.
    """

    submission: Submission
    index: int

    @property
    def name(self) -> str:
        """A name that no other job has."""
        return f"{self.submission.name}/{self.index}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its items, in the order in which it computes them."""
        return self.submission.chunks[self.index]

    @property
    def log(self) -> Path | None:
        """What it wrote to its standard error."""
        several = len(self.submission.chunks) > 1
        pattern = f"*_{self.index}_0_log.err" if several else "*_0_log.err"
        return next(iter(sorted(self.submission.folder.glob(pattern))), None)

    @property
    def last_words(self) -> str:
        """The last line of its log, or that there is none."""
        try:
            lines = self.log.read_text(errors="replace").split("\n") if self.log else []
        except FileNotFoundError:
            lines = []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return last or "its job ended without a word, as one does that is killed"


class Ledger:
    """The submissions of a computation's folder.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def new(self, cluster: str, chunks: Sequence[tuple[str, ...]]) -> Submission:
        """A submission with a name and a folder that no other has."""
        folder = self.folder / f"fan-out-{uuid.uuid4().hex[:12]}"
        return Submission(folder, cluster, Process.of(os.getpid()), tuple(chunks))

    def submissions(self) -> list[Submission]:
        """All submissions that were kept."""
        found = []
        for file in sorted(self.folder.glob("*/ledger.json")):
            try:
                found.append(Submission.read(file.parent))
            except FileNotFoundError:
                continue  # another driver has just cleared it away
        return found

    def clear(self, cluster: str, living: set[str]) -> None:
        """Remove the folders of submissions that nobody needs any more.

        Args:
            cluster: only those that were submitted there.
            living: names of the submissions that have jobs which run or wait.
        """
        for submission in self.submissions():
            driver = submission.driver
            # What this process submitted and does not run any more is left from a run that failed.
            busy = driver.running and driver.number != os.getpid()
            if submission.cluster != cluster or submission.name in living or busy:
                continue
            if driver.here or self._age(submission) > STALE_SECONDS:
                self.remove(submission)

    def _age(self, submission: Submission) -> float:
        try:
            return time.time() - (submission.folder / "ledger.json").stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def remove(self, submission: Submission) -> None:
        """Remove a submission's folder."""
        shutil.rmtree(submission.folder, ignore_errors=True)
