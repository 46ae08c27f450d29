"""Runs of the pipeline in one checkout, of which each waits for the others."""

import contextlib
import fcntl
import json
import os
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
# DVC writes its notes in place: those that are torn for so many seconds have no writer any more.
TORN_SECONDS = 2.0


def _working() -> list[str]:
    """The commands of DVC that work here, which it notes, and which live.

    Raises:
        ValueError: its notes are cut off, are being written, or are none.
    """
    try:
        noted = json.loads(BUSY.read_text("utf-8"))
    except FileNotFoundError:
        return []
    try:
        entries = [*noted.get("write", {}).values()]
        entries += [entry for readers in noted.get("read", {}).values() for entry in readers]
        return sorted({entry["cmd"] for entry in entries if _is_dvc(entry.get("pid"))})
    except (AttributeError, KeyError, TypeError):
        raise ValueError(f"{BUSY}: expected notes of DVC, got {noted!r}") from None


def _is_dvc(number: int | None) -> bool:
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
        heard, torn = "", 0.0
        while torn < TORN_SECONDS:
            try:
                working = ", ".join(_working())
            except ValueError:
                torn += patience
            else:
                if not working:
                    break
                if working != heard:
                    say(f"waits for {working} here to end")
                heard, torn = working, 0.0
            time.sleep(patience)
        BUSY.unlink(missing_ok=True)
        yield


@contextlib.contextmanager
def _readers() -> Iterator[dict[str, Any]]:
    """A block that changes DVC's notes of who reads what."""
    with BUSY.with_name("rwlock.lock").open("ab") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
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
