"""Processes that end with the one that started them.

A driver that is killed (``kill -9``) can end nothing. So the system does: each `dvc` that it has
started is killed with it, and each stage with its `dvc`.
"""

import contextlib
import ctypes
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

# `prctl`, its option that asks for a signal at the parent's death, and where there is one.
_LINUX = sys.platform == "linux"
_PRCTL = ctypes.CDLL(None).prctl if _LINUX else None
_AT_PARENTS_DEATH = 1


def share_life(number: signal.Signals) -> None:
    """Have this process sent a signal when the thread that started it ends; on Linux alone.

    Who starts it must do so from a thread that lives as long as the process, as the main one. What
    this process starts has to ask for itself.
    """
    if _PRCTL is not None:
        _PRCTL(_AT_PARENTS_DEATH, int(number))


@contextlib.contextmanager
def mendable() -> Iterator[None]:
    """A block whose errors end the process in one line, where the user can mend them."""
    try:
        yield
    except Exception as error:
        # Hydra takes a second to load.
        from pipelines.messages import failed

        sys.exit(failed(error))


def end_with_dvc() -> None:
    """End this process when the `dvc` that runs it as a stage ends, if one does.

    By a request: so a stage ends its own workers first.
    """
    if not (_LINUX and "DVC_STAGE" in os.environ):
        return
    share_life(signal.SIGTERM)
    with contextlib.suppress(OSError):
        parent = Path(f"/proc/{os.getppid()}/cmdline").read_bytes()
        # Else it was dead before, and the process is some other one's that takes orphans.
        if not re.search(rb"dvc|pipelines", parent):
            os._exit(1)
