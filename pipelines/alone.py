"""Runs of the pipeline in one checkout, of which each waits for the others."""

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from hessian_papers.processes import one_at_a_time
from hessian_spectra.files import write_json

# Where DVC notes which of its processes reads and writes what.
BUSY = Path(".dvc/tmp/rwlock")
OWN = BUSY.with_name("reproduce")
# What each `dvc repro` writes anew, by the stage that is always run; all other stages read it.
WRITTEN_BY_EACH = Path("results/inputs")
REFUSAL = "`make repro`, which works here: wait until it has ended, and remove nothing"


@contextlib.contextmanager
def _guarded() -> Iterator[None]:
    """A block in which no DVC writes its notes: those that are cut off have no writer any more."""
    with BUSY.with_name("rwlock.lock").open("ab") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


def _working() -> list[str]:
    """The processes of DVC that work here, which it notes, and which live."""
    with _guarded():
        noted = BUSY.read_text("utf-8", "replace") if BUSY.exists() else ""
    numbers = sorted({*map(int, re.findall(r'"pid": (\d+)', noted))})
    return [f"`dvc` (process {number})" for number in numbers if _is_dvc(number)]


def _is_dvc(number: int) -> bool:
    try:
        process = psutil.Process(number)
        # Another one may have the number by now, and a dead one waits for its parent.
        return process.status() != psutil.STATUS_ZOMBIE and "dvc" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@contextlib.contextmanager
def alone(say: Callable[[str], None] = print, patience: float = 0.2) -> Iterator[None]:
    """A block in which no other run of the pipeline works here: others wait until it is over.

    What a killed one left of its notes is cleared away, since DVC would refuse to go on.

    Args:
        say: prints a line, if there is one to wait for.
        patience: how long to wait between two looks, in seconds.
    """
    with one_at_a_time(OWN, lambda: say("waits for another `make repro` here to end")):
        heard = ""
        while working := ", ".join(_working()):
            if working != heard:
                say(f"waits for {working} here to end")
            heard = working
            time.sleep(patience)
        BUSY.unlink(missing_ok=True)
        yield


@contextlib.contextmanager
def _readers() -> Iterator[dict[str, Any]]:
    """A block that changes DVC's notes of who reads what."""
    with _guarded():
        noted = json.loads(BUSY.read_text("utf-8")) if BUSY.exists() else {}
        yield noted.setdefault("read", {})
        write_json(BUSY, noted)


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """A block in which DVC refuses any other `dvc repro` here at its first stages, with our words.

    It would else take some stages from this run, and both would end where they meet.
    """
    place, own = str(WRITTEN_BY_EACH.absolute()), {"pid": os.getpid(), "cmd": REFUSAL}
    with _readers() as readers:
        readers[place] = [*readers.get(place, []), own]
    try:
        yield
    finally:
        # Those that a killed `dvc` has torn are cleared away by the next run.
        with contextlib.suppress(ValueError), _readers() as readers:
            readers[place].remove(own)
