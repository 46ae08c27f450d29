"""A network and its loss, held at the values they had when an operator was built."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian_spectra.curvature.problem import Problem

# Broadcasting outputs (n, 1) against targets (n,) gives these losses a wrong value, not an error.
_ELEMENTWISE = (nn.MSELoss, nn.BCEWithLogitsLoss)


class FixedNetwork:
    """A private copy of a problem's parameters and buffers, so that training may go on elsewhere.

    Args:
        problem: the problem whose network, loss and data are meant.
        dtype: floating-point type to compute in; the problem's own by default.
    """

    def __init__(self, problem: Problem, dtype: torch.dtype | None = None) -> None:
        self.problem = problem
        self.dtype = dtype or problem.dtype
        state = {
            name: self._cast(tensor)
            for name, tensor in (
                *problem.model.named_parameters(),
                *problem.model.named_buffers(),
            )
        }
        self.parameters = [state.pop(name).requires_grad_() for name in problem.names]
        self._fixed = state
        self._loss_state = {
            name: self._cast(tensor)
            for name, tensor in (*problem.loss.named_parameters(), *problem.loss.named_buffers())
        }

    def _cast(self, tensor: Tensor) -> Tensor:
        dtype = self.dtype if tensor.is_floating_point() else tensor.dtype
        return tensor.detach().to(dtype, copy=True)

    def outputs(self, parameters: Sequence[Tensor], inputs: Tensor) -> Tensor:
        """The network's outputs for one batch."""
        state = {**self._fixed, **dict(zip(self.problem.names, parameters, strict=True))}
        if inputs.is_floating_point():
            inputs = inputs.to(self.dtype)
        # The fused attention kernels cannot be differentiated twice; this one is the same function.
        with sdpa_kernel(SDPBackend.MATH):
            return functional_call(self.problem.model, state, (inputs,))

    def loss_of_outputs(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of one batch, given the outputs.

        Raises:
            ValueError: outputs and targets of an elementwise loss differ in shape.
        """
        if targets.is_floating_point():
            targets = targets.to(self.dtype)
        loss = self.problem.loss
        if isinstance(loss, _ELEMENTWISE) and outputs.shape != targets.shape:
            raise ValueError(
                f"{type(loss).__name__}: expected outputs and targets of one shape, "
                f"got {tuple(outputs.shape)} and {tuple(targets.shape)}"
            )
        return functional_call(loss, self._loss_state, (outputs, targets))

    def loss(self, parameters: Sequence[Tensor], inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of one batch."""
        return self.loss_of_outputs(self.outputs(parameters, inputs), targets)

    @torch.enable_grad()
    def gradient(self, parameters: Sequence[Tensor] | None = None) -> Tensor:
        """The gradient ``(p,)`` of the loss over all data, in one pass over the batches."""
        at = self.parameters if parameters is None else parameters
        leaves = [tensor.detach().requires_grad_() for tensor in at]
        total = torch.zeros(self.problem.size, dtype=self.dtype, device=self.problem.device)
        for inputs, targets, weight in self.problem.batches():
            pieces = first_derivatives(self.loss(leaves, inputs, targets), leaves)
            total.add_(flatten(pieces), alpha=weight)
        return total

    def shifted(self, vector: Tensor, step: float) -> list[Tensor]:
        """The parameters θ + step · vector."""
        pieces = self.problem.split(vector.to(self.dtype))
        return [
            parameter.detach().add(piece, alpha=step)
            for parameter, piece in zip(self.parameters, pieces, strict=True)
        ]


def first_derivatives(
    value: Tensor, variables: Sequence[Tensor], *, keep_graph: bool = False
) -> tuple[Tensor, ...]:
    """The derivatives of a scalar, zero where it does not depend on a variable."""
    if not value.requires_grad:
        return tuple(torch.zeros_like(variable) for variable in variables)
    return torch.autograd.grad(value, variables, create_graph=keep_graph, materialize_grads=True)


def flatten(pieces: Sequence[Tensor]) -> Tensor:
    """Tensors of the parameters' shapes as one vector ``(p,)``."""
    return torch.cat([piece.reshape(-1) for piece in pieces])
