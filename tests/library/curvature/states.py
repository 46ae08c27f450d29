"""The states of a user's program that a computation could leave changed."""

from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn


def of_program(*generators: torch.Generator) -> list[Any]:
    """The states outside of model and data that a computation could leave changed."""
    attention = torch.backends.cuda
    return [
        torch.is_grad_enabled(),
        torch._C._len_torch_function_stack(),
        torch._C._len_torch_dispatch_stack(),
        attention.flash_sdp_enabled(),
        attention.mem_efficient_sdp_enabled(),
        attention.math_sdp_enabled(),
        torch.backends.cudnn.allow_tf32,
        torch.get_rng_state().numpy().tobytes(),
        np.random.get_state()[1].tobytes(),  # noqa: NPY002 -- the user's
        # Python's own are drawn from by the checks of types, which only tests have.
        *(generator.get_state().numpy().tobytes() for generator in generators),
    ]


def of_model(model: nn.Module, noticed: list[str]) -> list[Any]:
    """All that a user would miss: objects, types, bits, gradients, hooks, and what is outside.

    Args:
        model: the network.
        noticed: what its hooks noted.
    """
    actual: list[Any] = []
    for name, module in model.named_modules():
        actual.append((name, id(module), module.training, sorted(vars(module))))
        for part in (module._parameters, module._buffers):
            actual += [(key, id(value), type(value)) for key, value in part.items()]
        for kind, held in vars(module).items():
            if "hooks" in kind and isinstance(held, dict):
                actual += [(kind, key, id(hook)) for key, hook in held.items()]
    for tensor in chain(model.parameters(), model.buffers()):
        grad = getattr(tensor, "grad", None) if tensor.is_leaf else None
        actual.append((tensor.dtype, tensor.requires_grad, tensor.detach().numpy().tobytes()))
        if grad is not None:
            actual.append((id(grad), grad.to_dense().numpy().tobytes()))
    return [*actual, list(noticed), *of_program()]
