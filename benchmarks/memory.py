"""The memory that a function takes at its peak, in a process that has used no library before."""

import ctypes
import gc
import multiprocessing
import re
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection

# Of glibc's malloc.h.
_MMAP_THRESHOLD = -3
# What takes long to import is imported once.
_IMPORTED = ["benchmarks.problems", "benchmarks.peers"]


def _held(name: str) -> float:
    """The process's resident memory now (``VmRSS``) or at its peak (``VmHWM``), in MB.

    These are thousands of the system's kB, which have 1024 bytes each.
    """
    with open("/proc/self/status") as lines:
        match = re.search(rf"{name}:\s+(\d+) kB", lines.read())
    if match is None:
        raise OSError(f"/proc/self/status: expected a line {name}")
    return int(match[1]) / 1000


def _give_back() -> None:
    """Give memory that was freed back to the system, which malloc else keeps for itself.

    Used again it would not be seen.
    """
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    # It has also raised the size from which blocks are given back at once: as at the start.
    libc.mallopt(_MMAP_THRESHOLD, 128 * 1024)


def _measure(
    prepare: Callable[..., Callable[[], object]], arguments: tuple[object, ...], answer: Connection
) -> None:
    warnings.simplefilter("ignore")
    try:
        function = prepare(*arguments)
        _give_back()
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        before = _held("VmRSS")
        kept = function()
        answer.send(_held("VmHWM") - before)
        del kept
    except Exception:
        answer.send(traceback.format_exc(limit=1).splitlines()[-1])


def peak(prepare: Callable[..., Callable[[], object]], *arguments: object) -> float | str:
    """Megabytes that a function takes at its peak, in a process of its own; on Linux.

    Args:
        prepare: gives the function, in that process; what this takes does not count.
        arguments: of ``prepare``.

    Returns:
        The megabytes, or the error that the function ended in.
    """
    # Forked from one that has imported and done nothing else.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(prepare, arguments, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return "killed"
    finally:
        process.join()
