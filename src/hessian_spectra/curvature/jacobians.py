"""The Jacobian of a network's outputs, as curvlinops multiplies with it."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian_spectra.curvature.curvlinops_operators import (
    load_curvlinops,
    require_pairs,
    without_deprecations,
)
from hessian_spectra.curvature.interface import require_vectors
from hessian_spectra.curvature.problem import Problem


class Jacobian:
    """What :func:`jacobian` returns."""

    def __init__(self, problem: Problem) -> None:
        require_pairs(problem, "jacobian")
        self.problem = problem
        self.dtype, self.device = problem.dtype, problem.device
        self._network = problem.fixed()
        self._rows = [operator.shape[0] for operator in self._operators()]
        self.shape = (sum(self._rows), problem.size)

    def _operators(self) -> Iterator[Any]:
        """Curvlinops' Jacobian of each batch, one after the other."""
        kind = load_curvlinops().JacobianLinearOperator
        # A copy for each call: curvlinops replaces the parameters of a module that is used twice.
        network = copy.deepcopy(self._network)
        for batch, _ in self.problem.batches():
            with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
                operator = kind(
                    network.model,
                    network.parameters,
                    [batch],
                    check_deterministic=False,
                    num_data=len(batch[0]),
                )
            yield operator

    def __matmul__(self, vectors: Tensor) -> Tensor:
        """``J V`` of shape ``(q,)`` or ``(q, k)``, for ``V`` of shape ``(p,)`` or ``(p, k)``."""
        require_vectors(self, vectors)
        with without_deprecations(), sdpa_kernel(SDPBackend.MATH):
            parts = [(operator @ vectors).detach() for operator in self._operators()]
        return torch.cat(parts)

    @property
    def T(self) -> "TransposedJacobian":  # noqa: N802 -- as tensors call it
        """``Jᵀ``, ``(p, q)``."""
        return TransposedJacobian(self)


class TransposedJacobian:
    """``Jᵀ`` of a :class:`Jacobian`, ``(p, q)``."""

    def __init__(self, jacobian: Jacobian) -> None:
        self.T = jacobian
        self.shape = jacobian.shape[::-1]
        self.dtype, self.device = jacobian.dtype, jacobian.device

    def __matmul__(self, vectors: Tensor) -> Tensor:
        """``Jᵀ U`` of shape ``(p,)`` or ``(p, k)``, for ``U`` of shape ``(q,)`` or ``(q, k)``."""
        require_vectors(self, vectors)
        total = vectors.new_zeros(self.shape[0], *vectors.shape[1:])
        parts = vectors.split(self.T._rows)
        with without_deprecations(), sdpa_kernel(SDPBackend.MATH):
            for operator, part in zip(self.T._operators(), parts, strict=True):
                total += (operator.adjoint() @ part).detach()
        return total


def jacobian(problem: Problem) -> Jacobian:
    """The Jacobian ``J = ∂f/∂θ`` of all outputs ``f`` in the parameters θ, ``(q, p)``.

    ``J @ v`` is how the outputs change along ``v``, ``J.T @ u`` the gradient of ``uᵀ f``; both take
    matrices of columns. With ``nn.MSELoss``, ``(2 / q) Jᵀ J`` is the Gauss-Newton matrix; ``J Jᵀ``
    is the neural tangent kernel. Rows are ordered batch by batch, sample by sample, and within a
    sample as its output is flattened. Batches are not weighted, for there is no loss to weigh them.

    Args:
        problem: network and data. The network is copied, so that training may go on.

    Raises:
        ValueError: the problem has a loss function of model and batch.
        ModuleNotFoundError: curvlinops is not installed.

    Source: Jacot, Gabriel and Hongler (2018) for the kernel; the products are those of curvlinops.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(2, 1, bias=False)
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> J = jacobian(Problem(model, nn.MSELoss(), [(x, x[:, :1])]))
        >>> J @ torch.tensor([1.0, 0.0]), J.T @ torch.tensor([1.0, 1.0])
        (tensor([1., 3.]), tensor([4., 6.]))
    """
    return Jacobian(problem)
