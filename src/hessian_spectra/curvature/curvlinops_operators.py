"""The operators of the library curvlinops over the batches of a problem."""

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian_spectra.curvature.interface import require_vectors
from hessian_spectra.curvature.problem import Problem


@contextmanager
def _without_deprecations() -> Iterator[None]:
    """The imports of curvlinops and torch's forward mode use torch.jit.script, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _curvlinops() -> ModuleType:
    """The library, loaded at first use, because that takes seconds."""
    with _without_deprecations():
        import curvlinops.hessian
    return curvlinops


@contextmanager
def right_gradient() -> Iterator[None]:
    """Let curvlinops differentiate ``torch.func.grad`` instead of ``torch.func.jacrev``.

    Forward-mode differentiation of ``jacrev``, which vmaps the backward pass, gives wrong products
    for the affine weight of a layer norm and for a batch norm in training mode; of ``grad`` it
    gives the right ones.
    """
    module = _curvlinops().hessian
    released = module.jacrev
    module.jacrev = torch.func.grad
    try:
        yield
    finally:
        module.jacrev = released


class _SquaredError(nn.Module):
    """``nn.MSELoss`` in elementary operations.

    Torch's own raises on forward-mode differentiation of its gradient ("ZeroTensors are
    immutable"), whenever the outer derivative is a constant.
    """

    def __init__(self, reduction: str) -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean or the sum of the squared differences."""
        squares = (outputs - targets).square()
        return squares.mean() if self.reduction == "mean" else squares.sum()


class CurvlinopsOperator:
    """A curvlinops operator over the batches of a problem, weighted as the problem weighs them.

    Args:
        problem: network, loss and data. The network is copied.
        kind: the name of curvlinops' class.
        backend: what the caller asked for, to refuse unknown words.

    Raises:
        ValueError: ``backend`` is not ``"curvlinops"``.
    """

    def __init__(self, problem: Problem, kind: str, backend: str = "curvlinops") -> None:
        if backend != "curvlinops":
            raise ValueError(f"backend: expected 'autograd' or 'curvlinops', got {backend!r}")
        self.problem = problem
        self.shape = (problem.size, problem.size)
        self.dtype = problem.dtype
        self.device = problem.device
        loss = problem.loss
        self._loss = _SquaredError(loss.reduction) if isinstance(loss, nn.MSELoss) else loss
        self._kind = getattr(_curvlinops(), kind)
        self._model = copy.deepcopy(problem.model)
        available = dict(self._model.named_parameters())
        self._parameters = [available[name] for name in problem.names]

    def __matmul__(self, vectors: Tensor) -> Tensor:
        """The product with a vector ``(p,)`` or with each column of a matrix ``(p, k)``."""
        require_vectors(self, vectors)
        total = torch.zeros_like(vectors)
        for inputs, targets, weight in self.problem.batches():
            # One operator a batch: curvlinops weighs batches by samples alone.
            operator = self._kind(
                self._model,
                self._loss,
                self._parameters,
                [(inputs, targets)],
                check_deterministic=False,
                num_data=len(inputs),
            )
            with right_gradient(), _without_deprecations(), sdpa_kernel(SDPBackend.MATH):
                total.add_((operator @ vectors).detach(), alpha=weight)
        return total
