"""Items in words, for messages and for whoever looks on."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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


def names(
    items: Mapping[str, Item], given: Any, said: Callable[[Any, Item], Sequence[str]] | None
) -> dict[str, str]:
    """The name of each item by its key: what it is, and what tells it from the others.

    Of the words of its kind so many are taken as tell all apart, and those that all have are not.

    Args:
        items: all items of a computation by their keys.
        given: what it starts from.
        said: the words of its kind, see :class:`~hessian_papers.work.FanOut`; ``None``: arguments
            tell items apart, and a lone one has no name.

    Example:
        >>> seeds = {key: {"seed": seed, "size": 2} for key, seed in {"a": 0, "b": 1}.items()}
        >>> names(seeds, None, None)
        {'a': 'seed 0', 'b': 'seed 1'}
        >>> names(seeds, None, lambda _, item: ("network", f"{item['size']} units", "of one kind"))
        {'a': 'network, part 1', 'b': 'network, part 2'}
    """
    if said is None or not items:
        own = telling(items.values())
        made = {key: words(item, own) if own else "" for key, item in items.items()}
    else:
        first, *others = zip(*(said(given, item) for item in items.values()), strict=True)
        made = dict(zip(items, first, strict=True))
        for column in others:
            if len({*column}) > 1 and len({*made.values()}) < len(made):
                made = {key: f"{made[key]}, {text}" for key, text in zip(made, column, strict=True)}
    alike, numbers = Counter(made.values()), Counter[str]()
    for key, name in made.items():
        if alike[name] > 1:
            numbers[name] += 1
            made[key] = f"{name}, part {numbers[name]}"
    return made
