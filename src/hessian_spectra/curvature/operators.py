"""The Hessian and the Gauss-Newton matrix of a problem, as operators."""

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args, overload

from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.curvlinops_operators import CurvlinopsOperator
from hessian_spectra.curvature.plain_derivatives import or_plainly
from hessian_spectra.curvature.problem import Problem, require_problem
from hessian_spectra.curvature.products import (
    DifferentiatedOperator,
    GaussNewtonOperator,
    HessianOperator,
    require_curved_loss,
)
from hessian_spectra.curvature.self_check import (
    check_gauss_newton,
    check_hessian,
    check_repeatable,
)
from hessian_spectra.curvature.undisturbed import undisturbed
from hessian_spectra.curvature.weighting import training_modes
from hessian_spectra.validation import require, require_word

Backend = Literal["autograd", "curvlinops"]
Check = Literal["once", "always", False]

# So many samples tell whether derivatives are right, whatever the size of the batches.
_SAMPLES = 4
# What a problem remembers of a loss that is not linear in the outputs.
_CURVED = "curved loss"


@overload
def hessian(
    problem: Problem, *, check: Check = "once", keep_graph: bool = True
) -> DifferentiatedOperator: ...


@overload
def hessian(
    problem: Problem, *, backend: Backend, check: Check = "once", keep_graph: bool = True
) -> Operator: ...


def hessian(
    problem: Problem,
    *,
    backend: Backend = "autograd",
    check: Check = "once",
    keep_graph: bool = True,
) -> Operator:
    """The Hessian ``H = ∇²L(θ)`` of the loss over all data, ``(p, p)``.

    The operator belongs to the parameters' values at this moment; training may go on.

    Args:
        problem: network, loss and data.
        backend: ``"autograd"`` differentiates the gradient in reverse; ``"curvlinops"`` is that
            library's product, with its error for layer norms removed, as an independent reference.
        check: compare two passes over the data, then, on a batch's first samples and in float64,
            the products with differences of the gradient in random directions. ``"once"`` does so
            for the first operator of a problem, ``"always"`` for each; ``False`` trusts.
        keep_graph: whether the gradient's graph is kept from one product to the next, where the
            data is one batch and the backend ours. Else each product builds it and lets go of it as
            it passes, in up to a quarter less memory and twice the time.

    Raises:
        OperatorError: the check failed; the message names the cause, as far as the model shows it.
        ValueError: ``backend`` or ``check`` is another word.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
        >>> operator = hessian(Problem(model, nn.MSELoss(), [(x, x)]))
        >>> operator @ torch.ones(1, dtype=torch.float64)  # 2 mean(x²)
        tensor([10.], dtype=torch.float64)
    """
    return _checked("HessianLinearOperator", problem, backend, check, keep_graph)


@overload
def ggn(
    problem: Problem, *, check: Check = "once", keep_graph: bool = True
) -> DifferentiatedOperator: ...


@overload
def ggn(
    problem: Problem, *, backend: Backend, check: Check = "once", keep_graph: bool = True
) -> Operator: ...


def ggn(
    problem: Problem,
    *,
    backend: Backend = "autograd",
    check: Check = "once",
    keep_graph: bool = True,
) -> Operator:
    """The generalised Gauss-Newton matrix ``G = Σ_b c_b Jᵀ (∇²_f L_b) J / Σ_b c_b``, ``(p, p)``.

    ``J`` is the Jacobian of the outputs ``f`` of batch ``b`` with respect to θ. ``G`` is the
    Hessian of the loss with the network replaced by its linearisation, and is positive
    semi-definite for losses that are convex in the outputs.

    Args and errors are those of :func:`hessian`; the check is with differences of the outputs. A
    loss that is linear in the outputs, or that depends on the parameters beside through them,
    raises an ``OperatorError`` in any case.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
        >>> operator = ggn(Problem(model, nn.MSELoss(), [(x, x)]))
        >>> operator @ torch.ones(1, dtype=torch.float64)
        tensor([10.], dtype=torch.float64)
    """
    return _checked("GGNLinearOperator", problem, backend, check, keep_graph)


# What is checked by which differences, by the name of curvlinops' class.
_KINDS: dict[str, tuple[type[DifferentiatedOperator], Callable[..., None]]] = {
    "HessianLinearOperator": (HessianOperator, check_hessian),
    "GGNLinearOperator": (GaussNewtonOperator, check_gauss_newton),
}


@undisturbed()
def _checked(name: str, problem: Problem, backend: str, check: Check, keep_graph: bool) -> Operator:
    """An operator of our own, or curvlinops' of that ``name``, checked where asked for."""
    require_problem(problem)
    require_word("backend", backend, get_args(Backend))
    allowed = check is False or check in ("once", "always")
    require(allowed, "check", "'once', 'always' or False", check)
    kind, compare = _KINDS[name]
    if kind is GaussNewtonOperator and _CURVED not in problem.checked:
        require_curved_loss(problem)
        problem.checked.add(_CURVED)

    def built(at: Problem, keep_graph: bool = False) -> Operator:
        return kind(at, keep_graph) if backend == "autograd" else CurvlinopsOperator(at, name)

    known = f"{name} by {backend} in modes {training_modes(problem.model)}"
    if check == "always" or (check == "once" and known not in problem.checked):
        check_repeatable(problem)
        sample = problem.sample(_SAMPLES)
        # Before the graph of the whole is built and kept.
        checked = partial(compare, partial(built, sample), sample)
        if backend == "autograd":
            or_plainly(problem.checked, checked)
        else:
            checked()
        problem.checked.add(known)
    return built(problem, keep_graph)
