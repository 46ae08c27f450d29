"""A user's hooks on a copy of the network: they do there what they do, and note it nowhere else."""

import copy
import types
from typing import Any

from torch import nn

_KINDS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def make_hooks_private(module: nn.Module, copies: dict[int, Any]) -> None:
    """Let the hooks of a copied module write into containers of their own.

    A hook may change the output, so that it belongs to the function; what it notes in a list or a
    mapping is the user's. Functions are shared by ``copy.deepcopy``, and with them what they close
    over.

    Args:
        module: the copy.
        copies: the copies by the identity of what was copied.
    """
    for kind in _KINDS:
        hooks = vars(module).get(kind) or {}
        for key, hook in hooks.items():
            if isinstance(hook, types.FunctionType) and not hook.__module__.startswith("torch."):
                hooks[key] = _private(hook, copies)


def _private(function: types.FunctionType, copies: dict[int, Any]) -> types.FunctionType:
    """The same function over containers of its own: closed over, by default, or global."""
    named = {
        name: _own(function.__globals__[name], copies)
        for name in function.__code__.co_names
        if name in function.__globals__
    }
    defaults = function.__defaults__
    private = types.FunctionType(
        function.__code__,
        {**function.__globals__, **named},
        function.__name__,
        None if defaults is None else tuple(_own(value, copies) for value in defaults),
        tuple(_cell(cell, copies) for cell in function.__closure__ or ()),
    )
    private.__kwdefaults__ = _own(function.__kwdefaults__, copies)
    return private


def _cell(cell: Any, copies: dict[int, Any]) -> Any:
    try:
        return types.CellType(_own(cell.cell_contents, copies))
    except ValueError:
        # Nothing is in it yet.
        return types.CellType()


def _own(value: Any, copies: dict[int, Any]) -> Any:
    """Containers anew, parts of the network as their copies, all else as it is."""
    if id(value) in copies:
        return copies[id(value)]
    if isinstance(value, dict):
        own = copy.copy(value)
        own.update({key: _own(entry, copies) for key, entry in value.items()})
        return own
    if isinstance(value, list):
        return [_own(entry, copies) for entry in value]
    return copy.copy(value) if isinstance(value, set) else value
