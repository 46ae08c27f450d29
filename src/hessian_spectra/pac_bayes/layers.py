"""The layers of a network that have weights, and the network with what they compute replaced."""

import copy
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from hessian_spectra.curvature.layerwise.layers import CONVOLUTIONS, KINDS, in_shape, patches

# The way out for statistics that are fixed.
FOLD = "fold it into the layer before it by torch.nn.utils.fusion"
EXPECTED = "linear and convolutional layers, and modules without parameters"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The place of a layer among the numbers of all: its weight's rows, and then its bias.

    Args:
        name: of the module.
        outputs: ``m``, the rows of the weight.
        inputs: ``d``, of a convolution the input channels times the kernel.
        shape: of the weight as a parameter.
        start: the place of the weight's first number.
        has_bias: whether a bias follows.
    """

    name: str
    outputs: int
    inputs: int
    shape: torch.Size
    start: int
    has_bias: bool

    @property
    def end(self) -> int:
        """The place behind the layer's last number."""
        return self.start + self.outputs * (self.inputs + self.has_bias)

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """The shapes of the weight, and of the bias if there is one, by the names in the state."""
        prefix = f"{self.name}." if self.name else ""
        bias = {f"{prefix}bias": torch.Size([self.outputs])} if self.has_bias else {}
        return {f"{prefix}weight": self.shape, **bias}

    def weight(self, numbers: Tensor) -> Tensor:
        """The layer's weight ``(m, d)`` among the numbers of all, a view."""
        size = self.outputs * self.inputs
        return numbers[self.start : self.start + size].view(self.outputs, self.inputs)

    def bias(self, numbers: Tensor) -> Tensor | None:
        """The layer's bias ``(m,)`` among the numbers of all, a view."""
        return numbers[self.end - self.outputs : self.end] if self.has_bias else None

    def parts(self, numbers: Tensor) -> list[Tensor]:
        """The weight, and the bias if there is one, among the numbers of all: views."""
        bias = self.bias(numbers)
        return [self.weight(numbers), *([] if bias is None else [bias])]


def layers_of(model: nn.Module) -> list[Layer]:
    """The layers of a network that have weights, in the order of its modules.

    Raises:
        ValueError: a module of another kind has parameters; a weight is shared; there is none.
    """
    layers: list[Layer] = []
    for name, module in model.named_modules():
        if not [*module.parameters(recurse=False)]:
            continue
        _require_layer(name, module)
        rows, *columns = module.weight.shape
        layer = Layer(
            name=name,
            outputs=rows,
            inputs=torch.Size(columns).numel(),
            shape=module.weight.shape,
            start=layers[-1].end if layers else 0,
            has_bias=module.bias is not None,
        )
        layers.append(layer)
    if not layers:
        raise ValueError("model: expected at least one linear or convolutional layer, got none")
    if not sum(layer.outputs * layer.inputs for layer in layers):
        raise ValueError("model: expected layers with weights, got an empty one")
    _require_no_ties(model)
    return layers


def _require_layer(name: str, module: nn.Module) -> None:
    kind = type(module).__name__
    if not isinstance(module, KINDS):
        remedy = f": {FOLD}" if isinstance(module, _BatchNorm) else ""
        raise ValueError(f"model: expected {EXPECTED}, got {kind} at {name!r}{remedy}")
    if getattr(module, "groups", 1) != 1:
        raise ValueError(f"model: expected convolutions with groups=1, got {kind} at {name!r} with "
                         f"groups={module.groups}")  # fmt: skip
    if "weight" not in module._parameters:
        raise ValueError(f"model: expected weights that are parameters, got one at {name!r} that "
                         "is computed from others: remove its parametrisation")  # fmt: skip


def _require_no_ties(model: nn.Module) -> None:
    names = defaultdict(list)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names[id(parameter)].append(name)
    tied = next((entry for entry in names.values() if len(entry) > 1), None)
    if tied is not None:
        raise ValueError(f"model: expected each layer's weights to be its own, got "
                         f"{' and '.join(tied)} tied")  # fmt: skip


# From a layer and what it is given at P positions, (n, P, d), to what it computes, (n, P, m).
Compute = Callable[[Layer, Tensor], Tensor]


@dataclass
class Wiring:
    """The computation of a network's layers at this moment."""

    compute: Compute | None = field(default=None)


class _Slot(nn.Module):
    """The place of a layer, whose own module tells its geometry alone."""

    def __init__(self, layer: Layer, module: nn.Module, wiring: Wiring) -> None:
        super().__init__()
        # In a list no module is a part of this one: its weights are those of no one.
        self._layer, self._module, self._wiring = layer, [module], wiring

    def forward(self, x: Tensor) -> Tensor:
        """The layer's outputs in its own shape."""
        (module,) = self._module
        assert self._wiring.compute is not None
        flat = self._wiring.compute(self._layer, patches(module, x)[:, 0])
        return in_shape(module, flat, _shape(module, x))


def _shape(module: Any, x: Tensor) -> torch.Size:
    """The shape of a layer's outputs."""
    if not isinstance(module, CONVOLUTIONS):
        return torch.Size([*x.shape[:-1], module.weight.shape[0]])
    convolve: Any = next(kind for kind in CONVOLUTIONS if isinstance(module, kind))._conv_forward
    sizes = (torch.empty(shape, device="meta") for shape in (x.shape, module.weight.shape))
    shape: torch.Size = convolve(module, *sizes, None).shape
    return shape


def wired(model: nn.Module, layers: list[Layer]) -> tuple[nn.Module, Wiring]:
    """A copy of a network whose layers compute what its wiring says."""
    wiring, network = Wiring(), copy.deepcopy(model).eval()
    for layer in layers:
        slot = _Slot(layer, network.get_submodule(layer.name), wiring)
        if not layer.name:
            return slot, wiring
        parent, _, own = layer.name.rpartition(".")
        network.get_submodule(parent)._modules[own] = slot
    return network, wiring
