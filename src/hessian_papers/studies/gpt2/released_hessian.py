"""The Hessian product of curvlinops as it is released: wrong on purpose, to see what it does.

Its forward mode over ``torch.func.jacrev`` gives wrong rows for the weights of layer norms (and for
a batch norm in training mode), so that the matrix is not the Hessian, and not symmetric.
"""

import copy
import warnings

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian_spectra import curvature as cv


class _Loss(nn.Module):
    """A language model whose output is the loss of its batch, which is all that a Hessian needs."""

    def __init__(self, problem: cv.Problem) -> None:
        super().__init__()
        network = problem.fixed()
        self.model, self.parameters_that_vary = network.model, network.parameters
        self._loss_fn = network.loss_fn

    def forward(self, batch: Tensor) -> Tensor:
        """The loss, a scalar."""
        assert self._loss_fn is not None
        loss: Tensor = self._loss_fn(self.model, batch)[0]
        return loss


class _Itself(nn.Module):
    """The loss of a network whose output is the loss."""

    reduction = "sum"

    def forward(self, loss: Tensor, _: Tensor) -> Tensor:
        """The loss, a scalar."""
        return loss


class ReleasedHessian(cv.Operator):
    """The matrix by which ``curvlinops.HessianLinearOperator`` multiplies, over some batches.

    Args:
        problem: a network with a ``loss_fn`` that gives ``(loss, outputs)``. It is copied.

    Source: curvlinops 3.0.1, ``HessianLinearOperator``.
    """

    def __init__(self, problem: cv.Problem) -> None:
        super().__init__(problem.size, problem.dtype, problem.device)
        self._problem, self._loss = problem, _Loss(problem)

    def _matmat(self, columns: Tensor) -> Tensor:
        total = torch.zeros_like(columns)
        with warnings.catch_warnings(), sdpa_kernel(SDPBackend.MATH):
            # Its import and torch's forward mode use torch.jit.script, which is deprecated.
            warnings.simplefilter("ignore", FutureWarning)
            from curvlinops import HessianLinearOperator

            # A copy each time: curvlinops replaces the parameters of a module that is used twice.
            loss = copy.deepcopy(self._loss)
            for batch, weight in self._problem.batches():
                # One operator a batch, because curvlinops weighs batches by samples alone.
                operator = HessianLinearOperator(
                    loss,
                    _Itself(),
                    loss.parameters_that_vary,
                    [(batch, batch)],
                    check_deterministic=False,
                    num_data=len(batch),
                )
                total.add_((operator @ columns).detach(), alpha=weight)
        return total
