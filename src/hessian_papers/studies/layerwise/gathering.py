"""Arrays of items that differ in some labels, as one array for each name."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays

# What stands where an item lacks what others have, by the kind of its array.
EMPTY = {"U": "", "i": 0}


def gathered(parts: Sequence[Arrays], axes: Sequence[str]) -> Arrays:
    """The arrays of all items, their axes the labels that tell the items apart and then their own.

    Where items have arrays of other lengths, or lack one, the rest is NaN, 0 or "".

    Args:
        parts: of each item its arrays, a single value for each label among them.
        axes: the labels, the first one varying slowest.

    Returns:
        For each label its values, in the order in which they first come; each other array as
        ``(*labels, ...)``.

    Example:
        >>> rows = [{"seed": np.array(s), "value": np.arange(s)} for s in (2, 1)]
        >>> result = gathered(rows, ["seed"])
        >>> result["seed"].tolist(), result["value"].tolist()
        ([2, 1], [[0, 1], [0, 0]])
    """
    labels = {axis: list(dict.fromkeys(part[axis].item() for part in parts)) for axis in axes}
    counts = tuple(map(len, labels.values()))
    result = {axis: np.array(values) for axis, values in labels.items()}
    for name in dict.fromkeys(name for part in parts for name in part if name not in labels):
        arrays = [part[name] for part in parts if name in part]
        lengths = np.max([array.shape for array in arrays], axis=0)
        empty = EMPTY.get(arrays[0].dtype.kind, np.nan)
        result[name] = np.full((*counts, *lengths), empty, dtype=np.result_type(*arrays))
        for part in parts:
            if name in part:
                place = [values.index(part[axis].item()) for axis, values in labels.items()]
                own = tuple(slice(length) for length in part[name].shape)
                whole: Any = result[name]
                whole[(*place, ...)][own] = part[name]
    return result
