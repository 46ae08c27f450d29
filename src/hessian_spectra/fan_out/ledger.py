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
    def runs(self) -> bool:
        """Whether it runs; of one of another machine nobody here can tell, so it does."""
        if self.host != platform.node():
            return True
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

    @property
    def own(self) -> bool:
        """Whether this process submitted it."""
        return self.driver.host == platform.node() and self.driver.number == os.getpid()

    @property
    def looked_after(self) -> bool:
        """Whether its driver runs; what this process submitted before is left from a failed run."""
        return self.driver.runs and not self.own

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
    def last_words(self) -> str:
        """The last line that it wrote to its standard error, or that there is none."""
        several = len(self.submission.chunks) > 1
        pattern = f"*_{self.index}_0_log.err" if several else "*_0_log.err"
        lines: list[str] = []
        for log in sorted(self.submission.folder.glob(pattern))[:1]:
            lines = [line.strip() for line in log.read_text(errors="replace").split("\n")]
        silence = "its job ended without a word, as one does that is killed"
        return next(filter(None, reversed(lines)), silence)


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

    def jobs(self, cluster: str) -> list[Job]:
        """All jobs that were submitted there and kept."""
        return [
            Job(submission, index)
            for submission in self._submissions()
            if submission.cluster == cluster
            for index in range(len(submission.chunks))
        ]

    def _submissions(self) -> list[Submission]:
        found = []
        for file in sorted(self.folder.glob("*/ledger.json")):
            try:
                found.append(Submission.read(file.parent))
            except FileNotFoundError:
                continue  # another driver has just cleared it away
        return found

    def clear(self, jobs: Sequence[Job], living: set[str]) -> None:
        """Remove the folders of submissions that nobody needs any more.

        Args:
            jobs: those that were submitted.
            living: the names of those that run or wait.
        """
        needed = {job.submission.name for job in jobs if job.name in living}
        for submission in {job.submission.name: job.submission for job in jobs}.values():
            if submission.name not in needed and not submission.looked_after:
                self.remove(submission)

    def remove(self, submission: Submission) -> None:
        """Remove a submission's folder."""
        shutil.rmtree(submission.folder, ignore_errors=True)
