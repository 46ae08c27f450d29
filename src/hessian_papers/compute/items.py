"""Items in words, for messages and for whoever looks on."""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from hessian_papers.work import Item


def _brief(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return f"array {value.shape}" if isinstance(value, np.ndarray) else str(value)


def plain(item: Item) -> dict[str, Any]:
    """An item as JSON has it, arrays by their shapes.

    Example:
        >>> plain({"size": 3, "x": np.zeros((2, 2))})
        {'size': 3, 'x': 'array (2, 2)'}
    """
    values: dict[str, Any] = json.loads(json.dumps(item, default=_brief))
    return values


def telling(items: Iterable[Item]) -> set[str]:
    """The names of what is not the same in all of some items.

    Example:
        >>> telling([{"seed": 0, "size": 3}, {"seed": 0, "size": 2}])
        {'size'}
    """
    parts = [
        {name: json.dumps(value, default=_brief) for name, value in item.items()} for item in items
    ]
    names = {name for texts in parts for name in texts}
    return {name for name in names if len({texts.get(name) for texts in parts}) > 1}


def words(item: Item, shown: Iterable[str] = (), length: int = 100) -> str:
    """An item in a few words; its arrays, whose shapes tell nothing apart, if it has nothing else.

    Args:
        item: the item.
        shown: the names of what is said of it; everything if it has none of that.
        length: the most characters.

    Example:
        >>> words({"size": 3, "x": np.zeros((2, 2))})
        'size 3'
        >>> words({"x": np.zeros((2, 2))})
        'x array (2, 2)'
        >>> words({"seed": 0, "size": 3}, ["size"])
        'size 3'
    """
    arrays = {name for name, value in item.items() if isinstance(value, np.ndarray)}
    own = plain({name: item[name] for name in item if name not in arrays} or item)
    chosen = {name: own[name] for name in own if name in set(shown)} or own
    text = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return text if len(text) <= length else f"{text[: length - 3]}..."
