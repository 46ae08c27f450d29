"""Jobs as processes of this machine."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

import psutil
import submitit

from hessian_papers.fan_out.launcher import GPUS, FanOutError, Launcher
from hessian_papers.fan_out.ledger import Job, Ledger
from hessian_papers.fan_out.worker import Chunk, changed_environment

# How long a killed process is given to end, in seconds.
PATIENCE = 5.0
# Nobody else waits for this machine: its jobs have no time limit, for submitit ten years.
NO_LIMIT_MINUTES = 10 * 365 * 24 * 60
# Where the system has a file for each GPU.
DEVICES = Path("/dev")
# What asks a driver to end: somebody, or the terminal that is closed.
REQUESTS = (signal.SIGTERM, signal.SIGHUP)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Not SIG_IGN: Python writes a traceback for a signal that is under way when it is set."""


def _end(number: int, frame: FrameType | None) -> None:
    # One is enough: another must not interrupt what ends the processes.
    for request in REQUESTS:
        signal.signal(request, _ignore)
    raise SystemExit(128 + number)


@contextlib.contextmanager
def ended_by_termination() -> Iterator[None]:
    """A block in which a request to end is an exception: the processes end with their driver.

    One that is ignored, as `nohup` ignores the end of the terminal, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {request: signal.getsignal(request) for request in REQUESTS}
    heard = [request for request in REQUESTS if before[request] is not signal.SIG_IGN]
    for request in heard:
        signal.signal(request, _end)
    try:
        yield
    finally:
        for request in heard:
            signal.signal(request, before[request])


@contextlib.contextmanager
def _inherited(variables: Mapping[str, str]) -> Iterator[None]:
    """A block whose processes inherit some variables, and deafness to Ctrl-C.

    Ctrl-C goes to the driver and its processes alike. They leave it to the driver, which stops them
    without a traceback from each. Blocked, not ignored, it reaches the driver a moment later.
    """
    with changed_environment(variables):
        deaf = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *REQUESTS})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, deaf)


def gpus_of_jobs(each: int) -> list[tuple[int, ...]]:
    """The GPUs of each of the jobs that run at once, among those that this process sees.

    Args:
        each: how many GPUs a job has; no two jobs share one.

    Raises:
        FanOutError: there are not so many.

    Example:
        >>> gpus_of_jobs(0)
        []
    """
    named = os.environ.get(GPUS)
    if named is None:
        numbers = list(range(len([*DEVICES.glob("nvidia[0-9]*")])))
    else:
        numbers = [int(name) for name in named.split(",") if name.strip().isdigit()]
    if len(numbers) < each:
        raise FanOutError(
            f"launcher.gpus: expected at most {len(numbers)}, which this machine has for a job, "
            f"got {each}"
        )
    starts = range(0, len(numbers) - each + 1, each) if each else ()
    return [tuple(numbers[start : start + each]) for start in starts]


def _process(job: Job) -> psutil.Process | None:
    """The process of a job, if it runs."""
    for file in job.folder.glob("*_submitted.pkl"):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(int(file.name.partition("_")[0]))
            # Another one may have the number by now. One that has ended has no command.
            if any(job.folder.name in word for word in process.cmdline()):
                return process
    return None


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class Local:
    """Processes of this machine, as many at once as the launcher has workers.

    Jobs that have GPUs have them for themselves: no more run at once than there are GPUs for.

    submitit's local jobs know no queue: the driver hands in a job when another has ended.
    """

    # The longest time between two looks at the jobs, in seconds.
    patience = 1.0
    # What it has to say about the jobs, in a few words.
    status = ""

    def __init__(self, launcher: Launcher, ledger: Ledger, variables: Mapping[str, str]) -> None:
        self._gpus = gpus_of_jobs(launcher.gpus)
        # How many jobs run at once.
        self.most = min(launcher.workers_at_once, len(self._gpus) or launcher.workers_at_once)
        self._launcher = launcher
        self._ledger = ledger
        self._variables = variables
        self._started: dict[str, submitit.Job[None]] = {}
        self._held: dict[str, tuple[int, ...]] = {}

    def submit(self, chunks: Sequence[Chunk]) -> list[Job]:
        """Start a process per chunk."""
        return [self._start(chunk) for chunk in chunks]

    def _start(self, chunk: Chunk) -> Job:
        (job,) = self._ledger.new([chunk.keys])
        executor = submitit.LocalExecutor(job.folder, max_num_timeout=self._launcher.retries)
        gpus = self._held[job.name] = self._free_gpus()
        executor.update_parameters(
            timeout_min=NO_LIMIT_MINUTES, gpus_per_node=len(gpus), visible_gpus=gpus
        )
        with _inherited(self._variables):
            self._started[job.name] = executor.submit(chunk)
        return job

    def _free_gpus(self) -> tuple[int, ...]:
        """The GPUs that no job has which still runs; of none if jobs have none."""
        held = {self._held[name] for name, started in self._started.items() if not started.done()}
        return next((gpus for gpus in self._gpus if gpus not in held), ())

    def living(self, jobs: Sequence[Job]) -> set[str]:
        """The names of those whose process runs."""
        return {job.name for job in jobs if self._lives(job)}

    def _lives(self, job: Job) -> bool:
        # A process that ends has no command for a moment before its parent can reap it. So of its
        # own processes the driver asks until they are reaped; another driver's are not its to reap.
        started = self._started.get(job.name)
        return _process(job) is not None if started is None else not started.done()

    def cancel(self, jobs: Sequence[Job]) -> None:
        """Kill the processes of jobs; shards are written whole or not at all, so that is safe."""
        killed: list[psutil.Process] = []
        for parent in filter(None, map(_process, jobs)):
            with contextlib.suppress(psutil.NoSuchProcess):
                # Stopped first, so that it starts no others meanwhile.
                parent.suspend()
                killed += [*parent.children(recursive=True), parent]
        for member in killed:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        until = time.monotonic() + PATIENCE
        while not (all(map(_has_ended, killed)) and not self.living(jobs)):
            if time.monotonic() > until:
                return
            time.sleep(0.02)
