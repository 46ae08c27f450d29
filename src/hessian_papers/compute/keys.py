"""The name of a shard: a digest of the function, of its code and of the item."""

import dataclasses
import hashlib
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np

from hessian_papers.provenance import code_of
from hessian_papers.work import Item
from hessian_spectra.files import Arrays


def function_name(compute: Callable[..., Arrays]) -> str:
    """The name by which ``pkgutil.resolve_name`` finds a function: ``module:name``.

    Raises:
        ValueError: it is not a function of a module that can be imported.

    Example:
        >>> function_name(function_name)
        'hessian_papers.compute.keys:function_name'
    """
    name = f"{getattr(compute, '__module__', None)}:{getattr(compute, '__qualname__', '')}"
    try:
        result = pkgutil.resolve_name(name)
    except (AttributeError, ImportError, ValueError):
        result = None
    if result is not compute or name.startswith("__main__:"):
        raise ValueError(
            f"compute: expected a function of a module, which other processes can import, "
            f"got {compute!r}"
        )
    return name


def code_behind(name: str) -> str:
    """A digest of the code that makes the shards of a function's items, and of its packages.

    Args:
        name: of the function, see :func:`function_name`.
    """
    return code_of(name.partition(":")[0], f"{__package__}.computation").fingerprint


def _feed(update: Callable[[bytes], None], value: Any, where: str) -> None:
    """Update a hash with a value so that different values, or types, give different bytes."""
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "biufcSU":
            raise ValueError(f"{where}: expected an array of numbers or strings, got {array.dtype}")
        update(f"{kind.__name__} {array.dtype.str} {array.shape} ".encode())
        update(np.ascontiguousarray(array).tobytes())
    elif kind is dict:
        update(f"dict {len(value)} ".encode())
        for name in sorted(value, key=repr):
            update(f"{name!r}: ".encode())
            _feed(update, value[name], f"{where}.{name}")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        update(f"{kind.__name__} ".encode())
        fields = [field.name for field in dataclasses.fields(value) if field.compare]
        _feed(update, {name: getattr(value, name) for name in fields}, where)
    elif kind in (list, tuple):
        update(f"{kind.__name__} {len(value)} ".encode())
        for index, entry in enumerate(value):
            _feed(update, entry, f"{where}[{index}]")
    elif value is None or kind in (bool, int, float, complex, str):
        text = repr(value)
        update(f"{kind.__name__} {len(text)} {text} ".encode())
    else:
        raise ValueError(
            f"{where}: expected numbers, strings, lists of them or arrays, got a {kind.__name__}"
        )


def item_key(function: str, code: str, item: Item) -> str:
    """The key of an item: equal for equal function, code and item, and for nothing else.

    As where dataclasses are compared, a field with ``compare=False``, such as the folder where
    something is found, does not count.

    Example:
        >>> first = item_key("module:f", "code", {"a": 1, "b": [0.5, "x"]})
        >>> first == item_key("module:f", "code", {"b": [0.5, "x"], "a": 1}), len(first)
        (True, 32)
        >>> first == item_key("module:f", "code", {"a": 1.0, "b": [0.5, "x"]})
        False

    Raises:
        ValueError: the item holds something else than numbers, strings, lists and arrays.
    """
    hasher = hashlib.sha256(f"{function} {code} ".encode())
    _feed(hasher.update, dict(item), "item")
    return hasher.hexdigest()[:32]
