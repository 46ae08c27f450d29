"""Which parameters of a network vary."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from hessian_spectra.curvature.interface import DIVERGED
from hessian_spectra.validation import require, require_word

# Names or patterns, modules or parameters of the model, or a choice by name and parameter.
Selection = str | nn.Module | Tensor | Callable[[str, nn.Parameter], bool] | Iterable[Any]

# What torch.compile puts into the names of a module's parameters.
_COMPILED = "_orig_mod."


def named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """The model's parameters, each once, by the names that they have without ``torch.compile``."""
    return {name.replace(_COMPILED, ""): result for name, result in model.named_parameters()}


def selected(model: nn.Module, wanted: Selection | None) -> tuple[str, ...]:
    """The names of the parameters that vary, in order.

    Args:
        model: the network.
        wanted: ``None`` for all that require a gradient; a name or a pattern
            (``"layers.*.weight"``), or several; a module of the model, or several, for its
            parameters; a parameter, or several; or a function of name and parameter. A pattern, a
            module and a function leave frozen parameters out.

    Raises:
        ValueError: nothing is chosen, a name or pattern fits no parameter, a named one is frozen,
            one is named twice, a module is not the model's, or a parameter has no values yet.

    Example:
        >>> model = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
        >>> selected(model, "*.weight"), selected(model, model[1])
        (('0.weight', '1.weight'), ('1.weight', '1.bias'))
    """
    available = named_parameters(model)
    empty = [
        name for name, entries in available.items() if isinstance(entries, UninitializedParameter)
    ]
    if empty:
        raise ValueError(f"model: {empty[0]!r} has no values yet; call the model on a batch first")
    trainable = [name for name, entries in available.items() if entries.requires_grad]
    if wanted is None:
        names = trainable
    elif isinstance(wanted, (str, nn.Module, Tensor)):
        names = _matching(wanted, available, trainable)
    elif callable(wanted):
        names = [name for name in trainable if wanted(name, available[name])]
    else:
        names = [name for item in wanted for name in _matching(item, available, trainable)]
    if not names:
        raise ValueError(
            "parameters: expected at least one that requires a gradient, got none; call "
            "requires_grad_() on those that vary"
        )
    require(len(set(names)) == len(names), "parameters", "each name once", names)
    return tuple(names)


def _matching(
    wanted: str | nn.Module | Tensor, available: dict[str, nn.Parameter], trainable: list[str]
) -> list[str]:
    """The names of trainable parameters that one word of a selection stands for."""
    if isinstance(wanted, nn.Module):
        own = {id(parameter) for parameter in wanted.parameters()}
        names = [name for name in trainable if id(available[name]) in own]
        if not names:
            raise ValueError(
                f"parameters: expected a module of the model with parameters that require a "
                f"gradient, got {type(wanted).__name__}"
            )
        return names
    if not isinstance(wanted, (str, Tensor)):
        raise ValueError(
            "parameters: expected names, modules or parameters of the model, got "
            f"{type(wanted).__name__}"
        )
    if isinstance(wanted, Tensor):
        named = next((name for name, result in available.items() if result is wanted), None)
        if named is None:
            raise ValueError(
                f"parameters: expected parameters of the model, got a tensor {tuple(wanted.shape)} "
                "that is none of them"
            )
        wanted = named
    wanted = wanted.replace(_COMPILED, "")
    if wanted in available:
        if wanted not in trainable:
            raise ValueError(f"parameters: {wanted!r} is frozen (requires_grad is False)")
        return [wanted]
    names = [name for name in trainable if fnmatchcase(name, wanted)]
    if not names:
        raise ValueError(f"parameters: there is no {wanted!r}; available are {sorted(available)}")
    return names


def grouped(names: Iterable[str], by: str) -> dict[str, tuple[int, ...]]:
    """The positions of parameters that belong together: each alone, or those of a module.

    A parametrised weight (``parametrizations.weight.original0``) belongs to the module it is of.

    Raises:
        ValueError: ``by`` is another word.

    Example:
        >>> grouped(["0.weight", "0.bias", "1.weight"], "module")
        {'0': (0, 1), '1': (2,)}
    """
    require_word("by", by, ("module", "parameter"))
    groups: dict[str, tuple[int, ...]] = {}
    for position, name in enumerate(names):
        owner = name.split("parametrizations.")[0].rstrip(".")
        key = name if by == "parameter" else owner if owner != name else name.rpartition(".")[0]
        groups[key] = (*groups.get(key, ()), position)
    return groups


def require_parameter(name: str, parameter: Tensor, first: Tensor) -> None:
    """Refuse a parameter that cannot vary together with the first.

    Raises:
        ValueError: it is spread over processes or has no derivatives, it is of neither float32 nor
            float64, type or device differ, or it is not finite.
    """
    if type(parameter).__name__ == "DTensor":
        raise ValueError(
            f"parameters: {name!r} is spread over processes (DTensor, FSDP), expected whole ones; "
            "load model.state_dict() with full_tensor() of each into a model that is not"
        )
    if parameter.is_inference():
        raise ValueError(
            f"parameters: {name!r} was made under torch.inference_mode, which has no derivatives; "
            "build the model outside of it"
        )
    if first.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"parameters: expected float32 or float64, got {name!r} of {first.dtype}; give "
            "copy.deepcopy(model).float(), which has the same weights, and inputs of float32"
        )
    if parameter.dtype != first.dtype or parameter.device != first.device:
        raise ValueError(
            f"parameters: expected one dtype and device, got {first.dtype} on {first.device} and "
            f"{name!r} of {parameter.dtype} on {parameter.device}"
        )
    if not torch.isfinite(parameter).all():
        got = f"NaN or infinity in {name!r}; {DIVERGED}"
        raise ValueError(f"parameters: expected finite numbers, got {got}")
