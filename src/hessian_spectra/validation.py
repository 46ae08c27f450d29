"""How the configurations of studies and data sets refuse a bad value."""

import math
from collections.abc import Collection
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


def require_positive(settings: Any, *fields: str) -> None:
    """Refuse a setting that is not a positive, finite number.

    Args:
        settings: what has the fields.
        fields: their names.

    Raises:
        ValueError: see :func:`require`.
    """
    for field in fields:
        value = getattr(settings, field)
        require(math.isfinite(value) and value > 0, field, "a positive number", value)


def require_at_least(smallest: int, settings: Any, *fields: str) -> None:
    """Refuse a setting that is smaller than it may be.

    Args:
        smallest: what the fields may be.
        settings: what has the fields.
        fields: their names.

    Raises:
        ValueError: see :func:`require`.
    """
    for field in fields:
        value = getattr(settings, field)
        require(value >= smallest, field, f"at least {smallest}", value)


def require_different(known: Collection[str], settings: Any, *fields: str) -> None:
    """Refuse a list that is empty, names something unknown or names something twice.

    Args:
        known: what may be named.
        settings: what has the fields.
        fields: their names.

    Raises:
        ValueError: see :func:`require`.
    """
    for field in fields:
        names = getattr(settings, field)
        fits = bool(names) and len(set(names)) == len(names) and set(names) <= set(known)
        require(fits, field, f"different ones of {', '.join(known)}", names)


def require_different_numbers(smallest: int, settings: Any, *fields: str) -> None:
    """Refuse a list that is empty, has a number twice or one smaller than it may be.

    Args:
        smallest: what the numbers may be.
        settings: what has the fields.
        fields: their names.

    Raises:
        ValueError: see :func:`require`.
    """
    for field in fields:
        values = getattr(settings, field)
        fits = bool(values) and min(values) >= smallest and len(set(values)) == len(values)
        require(fits, field, f"different numbers of at least {smallest}", values)
