"""Processes that tests start, and what they wait for."""

import time
from collections.abc import Callable

import psutil


def runs(number: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)
