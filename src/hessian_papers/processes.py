"""The cores of a process, who else works in its folder, and requests to end; nothing is loaded."""

import contextlib
import fcntl
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType

# What asks a process to end: somebody, or the terminal that is closed.
REQUESTS = (signal.SIGTERM, signal.SIGHUP)


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


def _end(number: int, frame: FrameType | None) -> None:
    # One is enough: another must not interrupt what ends the processes. Not by SIG_IGN: Python
    # writes a traceback for a signal that is under way when it is set.
    for request in REQUESTS:
        signal.signal(request, lambda *_: None)
    raise SystemExit(128 + number)


@contextlib.contextmanager
def ended_by_termination() -> Iterator[None]:
    """A block in which a request to end is an exception: the processes end with their driver.

    One that is ignored, as `nohup` ignores the end of the terminal, stays ignored. Elsewhere than
    in the main thread, which alone hears of any, it is a block like another.
    """
    main = threading.current_thread() is threading.main_thread()
    before = {request: signal.getsignal(request) for request in REQUESTS if main}
    heard = {name: last for name, last in before.items() if last is not signal.SIG_IGN}
    for request in heard:
        signal.signal(request, _end)
    try:
        yield
    finally:
        for request, last in heard.items():
            signal.signal(request, last)


@contextlib.contextmanager
def changed_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """A block in which this process, and those that it starts, have other variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
