"""Whether layers are the matrix products that their Kronecker factors are those of."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.curvature.layerwise.layers import Layer, by_position, input_of, patches
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.undisturbed import undisturbed
from hessian_spectra.seeding import generator

# Away from the parameters' values, where a weight that is normalised differs from what it becomes.
_AWAY = 0.3
# Relative to the largest output: what other kernels round otherwise.
_ROUNDING = 10.0


def faults(problem: Problem, layers: Sequence[Layer]) -> dict[str, str]:
    """The faults of layers, by name: each is to be used once, as ``Z = X Wᵀ + b``.

    One forward pass of some samples, with other weights, of a copy.
    """
    sample = problem.sample(4)
    network = sample.fixed()
    wrong = {layer.name: f"the network does not use {layer.name!r}" for layer in layers}
    used: set[str] = set()
    for layer in layers:
        module = network.model.get_submodule(layer.name)
        _move(module)

        def look(module: Any, x: Any, named: Any, output: Tensor, layer: Layer = layer) -> None:
            wrong.pop(layer.name, None)
            if layer.name in used:
                wrong[layer.name] = (
                    f"{layer.name!r} is used more than once in the network, so that its Hessian is "
                    "no sum over its inputs; expected each layer used once"
                )
            elif not _is_product(module, layer, input_of(x, named), output):
                wrong[layer.name] = (
                    f"the output of {layer.name!r} ({type(module).__name__}) is not X Wᵀ + b of "
                    "its input, weight and bias; expected a layer without a forward or hook of "
                    "its own that scales or changes them"
                )
            used.add(layer.name)

        module.register_forward_hook(look, with_kwargs=True)
    with undisturbed(problem.device), torch.no_grad():
        batch, _ = next(sample.batches())
        network.forward(batch)
    return wrong


def require_products(problem: Problem, layers: Sequence[Layer]) -> None:
    """Refuse layers that are something else than a matrix product.

    Raises:
        ValueError: one is, or is used twice or never.
    """
    for fault in faults(problem, layers).values():
        raise ValueError(f"layerwise: {fault}")


def _move(module: nn.Module) -> None:
    draws = generator(0, "weights")
    scale = float(module.get_parameter("weight").detach().abs().mean()) or 1.0
    with torch.no_grad():
        for parameter in module.parameters(recurse=False):
            draw = torch.randn(parameter.shape, generator=draws, dtype=torch.float64)
            parameter.add_(draw.to(parameter), alpha=_AWAY * scale)


def _is_product(module: Any, layer: Layer, inputs: Tensor, output: Tensor) -> bool:
    flat = by_position(module, output)
    pieces = patches(module, inputs)
    weight = module.weight.T if layer.transposed else module.weight.flatten(1)
    weight = weight.reshape(layer.groups, -1, layer.inputs)
    expected = torch.einsum("ngpd,gmd->npgm", pieces, weight).flatten(2)
    if layer.has_bias:
        expected = expected + module.bias
    if expected.shape != flat.shape:
        return False
    tolerance = _ROUNDING * torch.finfo(flat.dtype).eps ** 0.5 * float(expected.abs().max())
    # That a training has diverged is said of the loss.
    return not bool(expected.isfinite().all()) or bool((flat - expected).abs().max() <= tolerance)
