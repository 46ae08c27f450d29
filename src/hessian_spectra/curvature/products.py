"""Hessian and Gauss-Newton products by reverse-mode differentiation, with the graph kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from tqdm import tqdm

from hessian_spectra.curvature.interface import OperatorError, require_vectors
from hessian_spectra.curvature.network import FixedNetwork, first_derivatives, flatten
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives

# Multiplies a list of tensors of the parameters' shapes by one batch's matrix.
Product = Callable[[Sequence[Tensor]], Sequence[Tensor]]


@contextmanager
def _explaining_missing_derivatives() -> Iterator[None]:
    """Say what to do where torch lacks the derivative of a derivative."""
    try:
        yield
    except RuntimeError as error:
        # Some operations raise NotImplementedError, which is a RuntimeError, others only say so.
        if "not implemented" not in str(error):
            raise
        raise OperatorError(
            f"the model has an operation that cannot be differentiated twice ({error}); "
            "for attention use the eager form or torch.nn.functional.scaled_dot_product_attention, "
            "whose twice differentiable kernel is chosen here"
        ) from error


class DifferentiatedOperator(ABC):
    """A symmetric matrix over the parameters that is a weighted sum over batches.

    With a single batch the differentiated graph is built once and kept: that takes no more memory
    than any product takes at its peak. With several batches each product builds the graphs anew,
    one after the other, so that memory does not grow with the data.

    Args:
        problem: network, loss and data. Their values at this moment are copied.

    Raises:
        OperatorError: an operation in the model cannot be differentiated twice.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.network = FixedNetwork(problem)
        self.shape = (problem.size, problem.size)
        self.dtype = problem.dtype
        self.device = problem.device
        self._kept = list(self._build()) if problem.batch_count == 1 else None

    @abstractmethod
    def _differentiate(self, inputs: Tensor, targets: Tensor) -> Product:
        """Build one batch's graph and return the product with its matrix."""

    def _build(self) -> Iterator[tuple[Product, float]]:
        for inputs, targets, weight in self.problem.batches():
            # The caller may have switched gradients off, and means those of training.
            with torch.enable_grad(), _explaining_missing_derivatives(), FastSecondDerivatives():
                product = self._differentiate(inputs, targets)
            yield product, weight

    def __matmul__(self, vectors: Tensor) -> Tensor:
        """The product with a vector ``(p,)`` or with each column of a matrix ``(p, k)``."""
        require_vectors(self, vectors)
        # Rows are contiguous; the columns of a matrix would be copied piece by piece.
        rows = vectors.detach().reshape(self.shape[0], -1).T.contiguous()
        total = torch.zeros_like(rows)
        for product, weight in self._kept or self._build():
            pairs = zip(rows, total, strict=True)
            for row, result in tqdm(
                pairs,
                total=len(rows),
                desc="products",
                # Few products are counted by the solver that asks for them.
                disable=None if len(rows) > 50 else True,
                leave=False,
            ):
                with _explaining_missing_derivatives():
                    pieces = product(self.problem.split(row))
                result.add_(flatten(pieces), alpha=weight)
        return total.T.reshape(vectors.shape)


class HessianOperator(DifferentiatedOperator):
    """``H = Σ_b c_b ∇²L_b / Σ_b c_b``: the gradient is differentiated once more, in reverse."""

    def _differentiate(self, inputs: Tensor, targets: Tensor) -> Product:
        parameters = self.network.parameters
        loss = self.network.loss(parameters, inputs, targets)
        gradient = first_derivatives(loss, parameters, keep_graph=True)
        # A gradient that is constant in θ has no graph and adds nothing.
        varying = [piece.requires_grad for piece in gradient]
        outputs = [piece for piece, varies in zip(gradient, varying, strict=True) if varies]

        def product(vector: Sequence[Tensor]) -> Sequence[Tensor]:
            if not outputs:
                return [torch.zeros_like(piece) for piece in vector]
            weights = [piece for piece, varies in zip(vector, varying, strict=True) if varies]
            return torch.autograd.grad(
                outputs, parameters, weights, retain_graph=True, materialize_grads=True
            )

        return product


class GaussNewtonOperator(DifferentiatedOperator):
    """``G = Σ_b c_b Jᵀ (∇²_f L_b) J / Σ_b c_b`` with ``J`` the Jacobian of the outputs ``f``.

    ``J v`` is the derivative of ``u ↦ Jᵀ u`` along v, so that reverse mode is all it takes.
    """

    def _differentiate(self, inputs: Tensor, targets: Tensor) -> Product:
        parameters = self.network.parameters
        outputs = self.network.outputs(parameters, inputs)
        if not outputs.requires_grad:
            return lambda vector: [torch.zeros_like(piece) for piece in vector]
        leaf = outputs.detach().requires_grad_()
        loss = self.network.loss_of_outputs(leaf, targets)
        (residual,) = first_derivatives(loss, [leaf], keep_graph=True)
        dummy = torch.zeros_like(outputs, requires_grad=True)
        transposed = torch.autograd.grad(
            outputs, parameters, dummy, create_graph=True, materialize_grads=True
        )
        varying = [piece.requires_grad for piece in transposed]
        linear = [piece for piece, varies in zip(transposed, varying, strict=True) if varies]

        def product(vector: Sequence[Tensor]) -> Sequence[Tensor]:
            weights = [piece for piece, varies in zip(vector, varying, strict=True) if varies]
            (forward,) = torch.autograd.grad(linear, dummy, weights, retain_graph=True)
            if not residual.requires_grad:
                return [torch.zeros_like(piece) for piece in vector]
            (curved,) = torch.autograd.grad(
                residual, leaf, forward, retain_graph=True, materialize_grads=True
            )
            return torch.autograd.grad(
                outputs, parameters, curved, retain_graph=True, materialize_grads=True
            )

        return product
