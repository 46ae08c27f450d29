"""The user's factory of a problem: found by its name, called, and refused in one line."""

import importlib
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hessian_spectra.curvature import Problem

_WANTED = "(model, loss, data) or a hessian_spectra.curvature.Problem"


class FactoryError(ValueError):
    """A factory that cannot be found, that fails, or that returns something else."""


def problem_of(name: str, device: str | None) -> Problem:
    """The problem that a factory makes.

    Args:
        name: ``package.module:factory``, where a function without arguments is; modules of the
            current folder count.
        device: where to bring the model, or ``None`` to leave it where it is.

    Raises:
        FactoryError: one line on what is wrong.
    """
    result = _called(name, _found(name))
    if isinstance(result, Problem):
        if device is not None:
            raise FactoryError(
                f"{name} returns a Problem, whose device is {result.device}; return (model, loss, "
                "data) for --device, or make the problem there"
            )
        return result
    if not isinstance(result, (tuple, list)) or len(result) != 3:
        entries = f" of {len(result)}" if isinstance(result, (tuple, list)) else ""
        raise FactoryError(f"{name}: expected {_WANTED}, got {type(result).__name__}{entries}")
    model, loss, data = result
    if not isinstance(model, nn.Module):
        raise FactoryError(f"{name}: expected {_WANTED}, got {type(model).__name__} as model")
    try:
        at = model if device is None else model.to(device)
        return Problem.from_huggingface(at, data) if loss is None else Problem(at, loss, data)
    except Exception as error:
        raise FactoryError(f"{name}: {one_line(error)}") from error


def load_checkpoint(model: nn.Module, path: Path) -> None:
    """Give a model the weights of a checkpoint: a state dict, by itself or under a usual key.

    Raises:
        FactoryError: one line on a file that cannot be read or does not fit.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        for key in ("state_dict", "model_state_dict", "model"):
            if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
                content = content[key]
        model.load_state_dict(content)
    except Exception as error:
        raise FactoryError(f"--checkpoints: {path}: {one_line(error)}") from error


def _found(name: str) -> Callable[[], Any]:
    module_name, colon, function_name = name.partition(":")
    if not (module_name and colon and function_name):
        raise FactoryError(f"factory: expected package.module:function, got {name!r}")
    folder = str(Path.cwd())
    if folder not in sys.path:
        # As python -m has it; the console script does not.
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise FactoryError(
                f"factory: there is no module {error.name!r}, neither installed nor in {folder}"
            ) from error
        raise FactoryError(f"{module_name}: {one_line(error)}{_where(error)}") from error
    except Exception as error:
        raise FactoryError(f"{module_name}: {one_line(error)}{_where(error)}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        own = sorted(
            key
            for key, value in vars(module).items()
            if callable(value) and getattr(value, "__module__", None) == module.__name__
        )
        raise FactoryError(
            f"factory: there is no function {function_name!r} in {module_name}; there is "
            f"{', '.join(own) or 'none'}"
        )
    return function


def _called(name: str, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        raise FactoryError(f"{name}: {one_line(error)}{_where(error)}") from error


def one_line(error: BaseException) -> str:
    """An error's type and message, its lines joined; ours say enough without the type.

    Example:
        >>> one_line(KeyError("weights"))
        "KeyError: 'weights'"
    """
    text = " ".join(str(error).split())
    if type(error).__module__.startswith("hessian_spectra") or type(error) is ValueError:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _where(error: BaseException) -> str:
    """The line of the user's code that raised, if any did."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename not in (__file__, importlib.__file__)]
    own = [frame for frame in own if not frame.filename.startswith("<")]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
