"""The curvature that Adam and its like see: ``P^{-1/2} A P^{-1/2}`` with their diagonal ``P``."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adagrad, Adam, AdamW, Optimizer, RMSprop

from hessian_spectra.curvature.composition import Derived, Operator, as_operator
from hessian_spectra.curvature.interface import SymmetricOperator, require_vectors
from hessian_spectra.validation import require


def preconditioner(optimizer: Optimizer, parameters: Iterable[nn.Parameter]) -> Tensor:
    """The diagonal ``P (p,)`` by which an optimiser divides its step, as its state is now.

    Of Adam and AdamW after step ``t`` it is ``(1 − β₁ᵗ) (√(ν / (1 − β₂ᵗ)) + ε)``, so that a step is
    ``θ − η P⁻¹ m`` with ``m`` the running mean of the gradients; of RMSprop and Adagrad it is what
    the gradient is divided by. Learning rates and weight decay are not in it. A parameter that
    never had a gradient is not moved: its entries are infinite.

    Args:
        optimizer: ``Adam``, ``AdamW``, ``RMSprop`` or ``Adagrad`` of torch, after its first step;
            no subclass, whose step may be another.
        parameters: ``model.parameters()``; those that require a gradient are taken, in this order,
            which is that of a problem.

    Raises:
        TypeError: an optimiser of another kind, whose step is divided by no diagonal that is known.
        ValueError: a parameter is not the optimiser's, or it has made no step.

    Source: Cohen et al. (2022), "Adaptive gradient methods at the edge of stability", section 2:
    with Adam's ``β₁`` the largest eigenvalue of ``P^{-1/2} H P^{-1/2}`` settles at
    ``(2 + 2 β₁) / ((1 − β₁) η)``.

    Example:
        >>> weight = nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = Adam([weight], lr=0.1)
        >>> (weight**2 / 2).sum().backward()
        >>> optimizer.step()
        >>> preconditioner(optimizer, [weight])  # (1 − β₁) |g|
        tensor([0.2000])
    """
    diagonal = diagonal_of(optimizer)
    if not has_stepped(optimizer):
        raise ValueError("optimizer: it has made no step, and knows no gradient; call it after one")
    groups = {id(item): group for group in optimizer.param_groups for item in group["params"]}
    pieces = []
    for number, parameter in enumerate(item for item in parameters if item.requires_grad):
        if id(parameter) not in groups:
            raise ValueError(f"parameters: number {number} is none of the optimizer's")
        state = optimizer.state.get(parameter)
        entries = (
            diagonal(state, groups[id(parameter)]).detach()
            if state
            else torch.full_like(parameter, torch.inf, requires_grad=False)
        )
        pieces.append(entries.reshape(-1))
    return torch.cat(pieces)


def has_stepped(optimizer: Optimizer) -> bool:
    """Whether an optimiser has made a step."""
    return any(float(state.get("step", 1)) > 0 for state in optimizer.state.values())


def diagonal_of(optimizer: Optimizer) -> Callable[[dict[str, Any], dict[str, Any]], Tensor]:
    """The function from a parameter's state and group to what its step is divided by.

    Raises:
        TypeError: the optimiser is of another kind.
    """
    kind = type(optimizer)
    # A subclass has the state of its parent and may make another step of it.
    if kind in _DIAGONALS:
        return _DIAGONALS[kind]
    parent = next((known.__name__ for known in _DIAGONALS if issubclass(kind, known)), None)
    raise TypeError(
        "optimizer: expected Adam, AdamW, RMSprop or Adagrad of torch itself, whose step is "
        f"divided by a diagonal, got {kind.__name__}"
        + (f", a subclass of {parent} that may step otherwise" if parent else "")
    )


def _adam(state: dict[str, Any], group: dict[str, Any]) -> Tensor:
    first, second = (float(beta) for beta in group["betas"])
    step = float(state["step"])
    squares = state["max_exp_avg_sq"] if group["amsgrad"] else state["exp_avg_sq"]
    return (1 - first**step) * ((squares / (1 - second**step)).sqrt() + group["eps"])


def _rmsprop(state: dict[str, Any], group: dict[str, Any]) -> Tensor:
    squares = state["square_avg"]
    if group["centered"]:
        squares = squares - state["grad_avg"].square()
    return squares.sqrt() + group["eps"]


def _adagrad(state: dict[str, Any], group: dict[str, Any]) -> Tensor:
    return state["sum"].sqrt() + group["eps"]


_DIAGONALS: dict[type[Optimizer], Callable[[dict[str, Any], dict[str, Any]], Tensor]] = {
    AdamW: _adam,
    Adam: _adam,
    RMSprop: _rmsprop,
    Adagrad: _adagrad,
}


def preconditioned(operator: SymmetricOperator | Tensor, diagonal: Tensor) -> Operator:
    """``P^{-1/2} A P^{-1/2}``, which has the eigenvalues of ``P⁻¹ A`` and is symmetric.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one.
        diagonal: ``P (p,)``, above zero, such as :func:`preconditioner`'s; an infinite entry leaves
            the parameter out.

    Raises:
        ValueError: the diagonal's shape, type or device is not the operator's, or an entry is not
            above zero.

    Example:
        >>> A = preconditioned(torch.diag(torch.tensor([2.0, 9.0])), torch.tensor([1.0, 3.0]))
        >>> A @ torch.ones(2)
        tensor([2.0000, 3.0000])
    """
    inner = as_operator(operator)
    require(diagonal.ndim == 1, "diagonal", f"shape ({inner.shape[0]},)", diagonal.shape)
    require_vectors(inner, diagonal)
    smallest = float(diagonal.min())
    require(smallest > 0, "diagonal", "numbers above 0", smallest)
    roots = diagonal.detach().rsqrt()[:, None]
    return Derived("Preconditioned", inner, lambda columns: roots * (inner @ (roots * columns)))
