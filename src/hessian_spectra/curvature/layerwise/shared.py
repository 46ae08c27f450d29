"""The common part of some layers: an operator, and the sums that passes over the data give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.layerwise.checks import faults, require_products
from hessian_spectra.curvature.layerwise.layers import Layer, left_out
from hessian_spectra.curvature.layerwise.passes import (
    SymmetricSum,
    bends_after,
    layer_batches,
    position_curvature,
)
from hessian_spectra.curvature.operators import Check, hessian
from hessian_spectra.curvature.problem import Problem


def without_fault(problem: Problem, layers: Sequence[Layer]) -> list[Layer]:
    """The layers that are used once, as a matrix product; a warning names the others."""
    wrong = faults(problem, layers)
    for layer, fault in wrong.items():
        left_out(layer, fault)
    right = [layer for layer in layers if layer.name not in wrong]
    if not right:
        raise ValueError(f"layerwise: no layer is left, {'; '.join(wrong.values())}")
    return right


class Shared:
    """The common part of some layers: an operator over all their weights, and passes over the data.

    Each is made when the first layer asks for it.
    """

    def __init__(
        self, problem: Problem, layers: Sequence[Layer], check: Check, *, verified: bool
    ) -> None:
        self.problem, self.layers, self._check = problem, list(layers), check
        self._verified = verified

    def require_products(self) -> None:
        """Refuse, once, layers that are no matrix products."""
        if not self._verified:
            require_products(self.problem, self.layers)
        self._verified = True

    @cached_property
    def hessians(self) -> Mapping[str, Operator]:
        """The Hessian's block of each weight, by its name."""
        return hessian(self.problem, check=self._check).blocks("parameter")

    @cached_property
    def factors(self) -> Mapping[str, "_Factors"]:
        """The factors of each layer, by its name."""
        self.require_products()
        bends = bends_after(self.problem, self.layers)
        piecewise = [at for at, bent in enumerate(bends) if not bent]
        sums = [_Sums(layer, self.problem) for layer in self.layers]
        for batch in layer_batches(self.problem, self.layers):
            for at, (item, inputs) in enumerate(zip(sums, batch.inputs, strict=True)):
                item.add(inputs, batch.weights(at))
            for pairs in batch.squares(piecewise):
                for at, (rows, signed) in zip(piecewise, pairs, strict=True):
                    sums[at].squares.add(signed.flatten(0, 1), rows.flatten(0, 1))
        return {
            layer.name: item.factors(position_curvature(self.problem, layer) if bent else None)
            for layer, item, bent in zip(self.layers, sums, bends, strict=True)
        }


@dataclass(frozen=True, kw_only=True)
class _Factors:
    """Means over the samples that were seen."""

    output_hessian: Tensor
    input_autocorrelation: Tensor
    input_mean: Tensor | None
    positions: float


class _Sums:
    """Sums over the samples that were seen."""

    def __init__(self, layer: Layer, problem: Problem) -> None:
        self._layer = layer
        self._samples = self._places = 0.0
        self._lengths: set[int] = set()
        self.squares = SymmetricSum(layer.outputs, problem)
        self._products = SymmetricSum(layer.groups * layer.inputs, problem)
        self._total: Any = 0.0

    def add(self, inputs: Tensor, weights: Tensor) -> None:
        """Take the inputs ``(n, g, P, d)`` of a batch in, which count as weights ``(n, P)`` say."""
        positions = inputs.shape[2]
        self._lengths.add(positions)
        places = float(weights.double().sum())
        self._places += places
        self._samples += places / positions
        rows = inputs.transpose(1, 2).flatten(0, 1).flatten(1)  # (n P, g d)
        self._products.add(rows * weights.reshape(-1, 1), rows)
        if len(self._lengths) == 1:
            self._total = self._total + (inputs * weights[:, None, :, None]).sum(dim=0)

    def factors(self, curvature: Tensor | None = None) -> _Factors:
        """The means, with the second derivative by the outputs in place of the squares."""
        second = self.squares.matrix if curvature is None else curvature
        positions = self._places / self._samples
        mean = torch.as_tensor(self._total) / self._samples
        return _Factors(
            output_hessian=second / positions,
            input_autocorrelation=self._products.matrix / self._samples,
            input_mean=mean.transpose(1, 2).flatten(0, 1) if len(self._lengths) == 1 else None,
            positions=positions,
        )
