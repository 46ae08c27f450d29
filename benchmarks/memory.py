"""How much memory a function takes at its peak, above what its process held before."""

import ctypes
import gc
import multiprocessing
import re
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection

# Of glibc's malloc.h.
_MMAP_THRESHOLD = -3


def _held(name: str) -> float:
    """The process's resident memory now (``VmRSS``) or at its peak (``VmHWM``), in MB."""
    with open("/proc/self/status") as lines:
        found = re.search(rf"{name}:\s+(\d+) kB", lines.read())
    if found is None:
        raise OSError(f"/proc/self/status: expected a line {name}")
    return int(found[1]) / 1000


def give_back() -> None:
    """Give memory that was freed back to the system, which malloc else keeps for itself."""
    ctypes.CDLL(None).malloc_trim(0)


def _measure(function: Callable[[], object], answer: Connection) -> None:
    try:
        gc.collect()
        # What was freed before would be used again without being seen.
        give_back()
        # It has also raised the size from which blocks are given back at once: as at the start.
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 128 * 1024)
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        before = _held("VmRSS")
        kept = function()
        answer.send(_held("VmHWM") - before)
        del kept
    except Exception:
        answer.send(traceback.format_exc(limit=1).splitlines()[-1])


def peak(function: Callable[[], object]) -> float | str:
    """Megabytes that a function takes at its peak, in a process forked for it; on Linux.

    Returns:
        The megabytes, or the error that the function ended in.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(function, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return "killed"
    finally:
        process.join()
