"""The log that a training tells its progress to."""

from collections.abc import Callable, Mapping

# What a training calls with a step, which only ever rises, and its metrics.
Log = Callable[[int, Mapping[str, float]], None]
# About how many epochs of a long training are logged.
LOGGED_EPOCHS = 100


def silent(step: int, metrics: Mapping[str, float]) -> None:
    """A :data:`Log` that keeps nothing."""
