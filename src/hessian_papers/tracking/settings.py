"""Whether runs go to a server, how long it may take, and how its troubles are told."""

import os
import sys
from dataclasses import dataclass

from hessian_spectra.validation import one_of

MODES = ("offline", "online", "disabled")


class TrackingError(ValueError):
    """Something about W&B that the user can mend; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """The times that W&B may hold us up, in seconds.

    ``answer`` and ``start`` (and 5 s in the client's own login) together stay below 30 s.

    Args:
        answer: for the server's first answer.
        start: for the start of a run.
        finish: for the upload of what is left when a run ends.
    """

    answer: float = 5.0
    start: float = 15.0
    finish: float = 60.0


@dataclass(frozen=True, kw_only=True)
class About:
    """The words by which a run is found and understood among others.

    Args:
        commit: of the code that runs; ``None`` where there is no Git.
        tags: what runs are chosen by: scale, papers, studies.
        notes: what the run is, in one sentence.
    """

    commit: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""


def resolve_mode(configured: str) -> str:
    """The mode of a run: ``WANDB_MODE`` if it is set, else what is configured.

    Raises:
        TrackingError: it is none of ``offline``, ``online``, ``disabled``.
    """
    mode = os.environ.get("WANDB_MODE") or configured
    if mode not in MODES:
        source = "WANDB_MODE" if os.environ.get("WANDB_MODE") else "tracking.mode"
        raise TrackingError(f"{source}: expected {one_of(MODES, mode)}, got {mode!r}")
    return mode


def say(message: str) -> None:
    """One line on the standard error: what was recorded by no server stops no work."""
    print(f"W&B: {message}", file=sys.stderr)
