"""The way to the library curvlinops and back: its operators over a problem, ours as one of its."""

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.network import FixedNetwork, loss_and_outputs
from hessian_spectra.curvature.problem import Problem, require_problem
from hessian_spectra.curvature.undisturbed import differentiable_attention
from hessian_spectra.validation import optional_import, require


@contextmanager
def without_deprecations() -> Iterator[None]:
    """The imports of curvlinops and torch's forward mode use torch.jit.script, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def load_curvlinops(module: str = "curvlinops") -> ModuleType:
    """The library or a module of it, loaded at first use, because that takes seconds.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    with without_deprecations():
        return optional_import(module, "curvlinops")


@contextmanager
def right_gradient() -> Iterator[None]:
    """Let curvlinops differentiate ``torch.func.grad`` instead of ``torch.func.jacrev``.

    Forward-mode differentiation of ``jacrev``, which vmaps the backward pass, gives wrong products
    for the affine weight of a layer norm and for a batch norm in training mode; of ``grad`` it
    gives the right ones.
    """
    module: Any = load_curvlinops("curvlinops.hessian")
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


class _LossOfBatch(nn.Module):
    """A network whose output is the loss of one batch, as a loss function of both gives it.

    That is all that a Hessian needs; the library's inputs and targets then say nothing.
    """

    def __init__(self, network: FixedNetwork, batch: Batch) -> None:
        super().__init__()
        self.model, self._loss_fn, self._batch = network.model, network.loss_fn, batch

    def forward(self, _: Tensor) -> Tensor:
        """The loss, a scalar."""
        loss: Tensor = loss_and_outputs(self._loss_fn(self.model, self._batch))[0]
        return loss


class _Itself(nn.Module):
    """The loss of a network whose output is the loss."""

    reduction = "sum"

    def forward(self, loss: Tensor, _: Tensor) -> Tensor:
        """The loss, a scalar."""
        return loss


class CurvlinopsOperator(Operator):
    """A curvlinops operator over the batches of a problem, weighted as the problem weighs them.

    Args:
        problem: network, loss and data. The network is copied.
        kind: the name of curvlinops' class, of the Hessian or the Gauss-Newton matrix.

    Raises:
        ValueError: the problem has a loss function of model and batch, which the Hessian alone
            takes, or a loss that does not say whether it is a mean or a sum.
        ModuleNotFoundError: curvlinops is not installed.
    """

    def __init__(self, problem: Problem, kind: str) -> None:
        if problem.loss is not None or kind != "HessianLinearOperator":
            _required_reduction(problem, "backend")
        super().__init__(problem.size, problem.dtype, problem.device)
        self.problem = problem
        self._network = problem.fixed()
        self._kind = getattr(load_curvlinops(), kind)

    def _matmat(self, columns: Tensor) -> Tensor:
        total = torch.zeros_like(columns)
        # A copy for each call: curvlinops replaces the parameters of a module that is used twice.
        network = copy.deepcopy(self._network)
        for batch, weight in self.problem.batches():
            model, loss, (inputs, targets) = self._parts(network, batch)
            # One operator a batch: curvlinops weighs batches by samples alone.
            operator = self._kind(
                model,
                loss,
                network.parameters,
                [(inputs, targets)],
                check_deterministic=False,
                num_data=len(inputs),
            )
            with right_gradient(), without_deprecations(), differentiable_attention():
                total.add_((operator @ columns).detach(), alpha=weight)
        return total

    def _parts(self, network: FixedNetwork, batch: Batch) -> tuple[nn.Module, Any, Batch]:
        """Model, loss of outputs and targets, and the pair of these, of one batch."""
        loss = network.loss
        if loss is None:
            nothing = torch.zeros(1, dtype=self.dtype, device=self.device)
            return _LossOfBatch(network, batch), _Itself(), (nothing, nothing)
        if isinstance(loss, nn.MSELoss):
            loss = _SquaredError(loss.reduction)
        return network.model, loss, batch


def curvlinops_arguments(problem: Problem) -> tuple[nn.Module, Any, list[Tensor], Iterable[Batch]]:
    """The arguments of curvlinops' constructors: ``(model, loss, parameters, data)`` of a problem.

    With them its operators are those of the problem: ``EKFACLinearOperator(*arguments)``,
    ``FisherMCLinearOperator(*arguments)``, ``JacobianLinearOperator(model, parameters, data)``.
    :func:`as_operator` makes each symmetric one an operator of ours, for all solvers and sums. What
    it is right for is that library's matter: for class weights and ignored targets, say, its Fisher
    matrices, KFAC and EKFAC are not.

    Args:
        problem: network, loss and data. The network is copied, so that training may go on.

    Raises:
        ValueError: the problem has a loss function of model and batch, a loss that does not say
            whether it is a mean or a sum, or batches that the loss does not weigh by their samples,
            as curvlinops does.

    Example:
        >>> from curvlinops import KFACLinearOperator
        >>> from hessian_spectra.curvature import as_operator
        >>> model = nn.Linear(2, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
        >>> arguments = curvlinops_arguments(Problem(model, nn.MSELoss(), [(x, x[:, :1])]))
        >>> kfac = as_operator(KFACLinearOperator(*arguments, fisher_type="type-2"))
        >>> (kfac.shift(1) @ torch.eye(2, dtype=torch.float64)).round(decimals=9)  # 2 xᵀx / n + I
        tensor([[3., 2.],
                [2., 5.]], dtype=torch.float64)
    """
    require_problem(problem)
    mean = _required_reduction(problem, "curvlinops_arguments") == "mean"
    lengths = [(len(inputs), weight) for (inputs, _), weight in problem.batches()]
    total = sum(length for length, _ in lengths)
    for length, weight in lengths:
        share = length / total if mean else 1.0
        if abs(weight - share) > 1e-9:
            raise ValueError(
                f"curvlinops_arguments: curvlinops weighs a batch of {length} of {total} samples "
                f"by {share:.3g}, the loss by {weight:.3g}; give batches of one shape, or all data "
                "as one"
            )
    network = problem.fixed()
    return network.model, network.loss, network.parameters, _Batches(problem)


class _Batches:
    """The batches alone, one after the other, as often as they are asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def __iter__(self) -> Iterator[Batch]:
        return (batch for batch, _ in self._problem.batches())


def _required_reduction(problem: Problem, what: str) -> str:
    """Whether the loss is a mean or a sum, which curvlinops reads from it.

    Raises:
        ValueError: it is one of model and batch, or does not say.
    """
    loss = problem.loss
    if loss is None:
        raise ValueError(f"{what}: curvlinops takes a loss of outputs and targets, no loss_fn")
    reduction: str = getattr(loss, "reduction", "")
    if reduction not in ("mean", "sum"):
        raise ValueError(
            f"{what}: curvlinops takes a loss with reduction 'mean' or 'sum', got "
            f"{getattr(loss, '__name__', type(loss).__name__)}"
        )
    return reduction


def for_curvlinops(operator: Operator, shapes: Sequence[Sequence[int]] | None) -> Any:
    """The operator of curvlinops that :meth:`Operator.to_curvlinops` returns."""
    p = operator.shape[0]
    spaces = [(p,)] if shapes is None else [tuple(shape) for shape in shapes]
    numbers = sum(prod(space) for space in spaces)
    require(numbers == p, "shapes", f"p = {p} numbers together", spaces)

    # The base class is there once curvlinops is.
    base: Any = load_curvlinops("curvlinops._torch_base").PyTorchLinearOperator

    class SymmetricPyTorchLinearOperator(base):
        SELF_ADJOINT = True
        dtype, device = operator.dtype, operator.device

        def _matmat(self, X: list[Tensor]) -> list[Tensor]:
            columns = torch.cat([piece.reshape(-1, piece.shape[-1]) for piece in X])
            pieces = (operator @ columns).split([prod(space) for space in spaces])
            return [piece.view(like.shape) for piece, like in zip(pieces, X, strict=True)]

    return SymmetricPyTorchLinearOperator(spaces, spaces)
