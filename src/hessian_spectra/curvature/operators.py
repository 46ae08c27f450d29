"""The Hessian and the Gauss-Newton matrix of a problem, as operators."""

from hessian_spectra.curvature.curvlinops_operators import CurvlinopsOperator
from hessian_spectra.curvature.interface import SymmetricOperator
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.products import (
    DifferentiatedOperator,
    GaussNewtonOperator,
    HessianOperator,
)
from hessian_spectra.curvature.self_check import check_gauss_newton, check_hessian


def hessian(
    problem: Problem, *, backend: str = "autograd", check: bool = True
) -> SymmetricOperator:
    """The Hessian ``H = ∇²L(θ)`` of the loss over all data, ``(p, p)``.

    The operator belongs to the parameters' values at this moment; training may go on.

    Args:
        problem: network, loss and data.
        backend: ``"autograd"`` differentiates the gradient in reverse and keeps its graph where the
            data is one batch; ``"curvlinops"`` is that library's product, with its error for layer
            norms removed, as an independent reference.
        check: compare the operator with differences of the gradient and test its symmetry, on
            random directions; costs about as much as 15 gradients.

    Raises:
        OperatorError: the check failed; the message lists likely causes.
        ValueError: ``backend`` is another word.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
        >>> operator = hessian(Problem(model, nn.MSELoss(), [(x, x)]))
        >>> operator @ torch.ones(1, dtype=torch.float64)  # 2 mean(x²)
        tensor([10.], dtype=torch.float64)
    """
    operator = _operator(HessianOperator, "HessianLinearOperator", problem, backend)
    if check:
        check_hessian(operator, problem)
    return operator


def ggn(problem: Problem, *, backend: str = "autograd", check: bool = True) -> SymmetricOperator:
    """The generalised Gauss-Newton matrix ``G = Σ_b c_b Jᵀ (∇²_f L_b) J / Σ_b c_b``, ``(p, p)``.

    ``J`` is the Jacobian of the outputs ``f`` of batch ``b`` with respect to θ. ``G`` is the
    Hessian of the loss with the network replaced by its linearisation, and is positive
    semi-definite for losses that are convex in the outputs.

    Args and errors are those of :func:`hessian`; the check is with differences of the outputs.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
        >>> operator = ggn(Problem(model, nn.MSELoss(), [(x, x)]))
        >>> operator @ torch.ones(1, dtype=torch.float64)
        tensor([10.], dtype=torch.float64)
    """
    operator = _operator(GaussNewtonOperator, "GGNLinearOperator", problem, backend)
    if check:
        check_gauss_newton(operator, problem)
    return operator


def _operator(
    kind: type[DifferentiatedOperator], name: str, problem: Problem, backend: str
) -> SymmetricOperator:
    """An operator of our own ``kind``, or curvlinops' of that ``name``."""
    if backend == "autograd":
        return kind(problem)
    return CurvlinopsOperator(problem, name, backend)
