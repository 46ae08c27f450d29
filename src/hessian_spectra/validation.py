"""How the configurations of studies and data sets refuse a bad value."""

from typing import Any


def require(condition: bool, field: str, expected: str, value: Any) -> None:
    """Refuse a bad value of a configuration field.

    Raises:
        ValueError: ``condition`` is false; the message names the field, what was expected and
            what came.

    Example:
        >>> require(-3 > 0, "width", "at least 1", -3)
        Traceback (most recent call last):
        ValueError: width: expected at least 1, got -3
    """
    if not condition:
        raise ValueError(f"{field}: expected {expected}, got {value!r}")
