"""The log that a training tells its progress to, and times in words."""

from collections.abc import Callable, Mapping

# What a training calls with a step, which only ever rises, and its metrics.
Log = Callable[[int, Mapping[str, float]], None]
# About how many epochs of a long training are logged.
LOGGED_EPOCHS = 100


def silent(step: int, metrics: Mapping[str, float]) -> None:
    """A :data:`Log` that keeps nothing."""


def duration(seconds: float) -> str:
    """A time in words, to three digits.

    Example:
        >>> [duration(time) for time in (0.012, 90.0, 7.2e6)]
        ['0.012 s', '1.5 min', '2,000 h']
    """
    unit, size = next(
        ((unit, size) for unit, size in (("h", 3600), ("min", 60)) if seconds >= size), ("s", 1)
    )
    return f"{three_digits(seconds / size)} {unit}"


def three_digits(value: float) -> str:
    """A number to three digits, or all of a large one.

    Example:
        >>> three_digits(1234.5), three_digits(0.98765)
        ('1,234', '0.988')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
