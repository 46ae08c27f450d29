r"""The functional Hessian by operation: whose second derivatives ``F = H − G`` is made of.

A network is a composition of operations, such as a softmax or a product of two activations. By the
chain rule its second derivative along a direction is a sum over them: the second derivative of each
along the tangents that enter it, mapped on by the Jacobian of all that follows. Hence ``F`` is a
sum of matrices, one for each operation. An operation that is linearised, replaced by its Taylor
polynomial of degree one at the current point, loses its matrix; loss, gradient and ``G`` stay.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.called_operations import Call, Modules, Operations, require_modules
from hessian_spectra.curvature.operators import Check, ggn, hessian
from hessian_spectra.curvature.plain_derivatives import is_plain
from hessian_spectra.curvature.problem import Problem, require_problem
from hessian_spectra.curvature.products import DifferentiatedOperator, HessianOperator
from hessian_spectra.curvature.undisturbed import undisturbed
from hessian_spectra.validation import did_you_mean, require


@dataclass(frozen=True, kw_only=True)
class FunctionalParts:
    """The parts of ``vᵀFv`` by operation, with ``F = H − G``.

    Args:
        parts: of each operation that has a second derivative, in the network's order.
        hessian: ``vᵀHv``.
        gauss_newton: ``vᵀGv``.
    """

    parts: Mapping[str, float]
    hessian: float
    gauss_newton: float

    @property
    def functional(self) -> float:
        """``vᵀFv``, by the two matrices."""
        return self.hessian - self.gauss_newton

    @property
    def rest(self) -> float:
        """The part of ``vᵀFv`` that no operation has: round-off, or operations that are not seen.

        Example:
            >>> parts = FunctionalParts(parts={"softmax": 2.0}, hessian=5.0, gauss_newton=3.0)
            >>> parts.functional, parts.rest
            (2.0, 0.0)
        """
        return self.functional - math.fsum(self.parts.values())


def operations(problem: Problem, modules: Modules | None = None) -> tuple[str, ...]:
    """The names of a model's operations that have a second derivative, in the network's order.

    They are ``"linear map"`` (of weights and inputs: bilinear), ``"softmax"``, ``"normalisation"``,
    ``"product"`` of activations, ``"product by softmax"``, and for what else happens the class of
    the innermost module, where it has none inside, or the name of torch's function. The loss is
    none of them: its second derivative makes ``G``. What is computed in place, or by a
    ``torch.autograd.Function``, is not seen.

    Args:
        problem: network, loss and data. The first batch is run.
        modules: other names: patterns of modules' names, such as ``"*.act"``, and the name of all
            that happens in a module that fits.

    Raises:
        ValueError: a pattern fits no module.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        >>> problem = Problem(model, nn.MSELoss(), [(torch.ones(1, 2), torch.ones(1, 1))])
        >>> operations(problem)
        ('Tanh', 'linear map')
        >>> operations(problem, {"2": "head"})  # the first layer is linear in its weights
        ('Tanh', 'head')
    """
    require_problem(problem)
    return undisturbed(problem.device)(_operations)(problem, modules or {})


def _operations(problem: Problem, modules: Modules) -> tuple[str, ...]:
    require_modules(problem.model, modules)
    network = problem.fixed()
    batch, _ = next(problem.batches())
    with torch.enable_grad(), Operations(network.model, modules) as mode, mode.named():
        network.forward(batch)
    return tuple(dict.fromkeys(call.name for call in mode.calls))


def linearised_hessian(
    problem: Problem, names: Collection[str], modules: Modules | None = None
) -> DifferentiatedOperator:
    """The Hessian ``H − Σ_o F_o`` of a network in which some operations ``o`` are linearised.

    Loss, gradient and Gauss-Newton matrix are those of the network itself: each such operation is
    replaced by its Taylor polynomial of degree one at the values that it meets. With all operations
    linearised, the matrix is ``G``.

    Args:
        problem: network, loss and data.
        names: some of :func:`operations`.
        modules: as for :func:`operations`.

    Returns:
        A symmetric operator ``(p, p)``. Each product builds its graph anew.

    Raises:
        ValueError: the model has no such operation, or a pattern fits no module.
        OperatorError: an operation cannot be differentiated twice, or the model or the loss takes
            derivatives itself.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
        >>> _ = [nn.init.constant_(layer.weight, 3.0) for layer in model]
        >>> x = torch.ones(1, 1)
        >>> problem = Problem(model, nn.MSELoss(), [(x, x)])  # (w₂ w₁ − 1)²
        >>> e1 = torch.eye(2)[:, 0]
        >>> hessian(problem) @ e1  # 2 w₂², 4 w₁ w₂ − 2
        tensor([18., 34.])
        >>> linearised_hessian(problem, ["linear map"]) @ e1  # 2 w₂², 2 w₁ w₂
        tensor([18., 18.])
    """
    known = operations(problem, modules)
    for name in names:
        expected = f"some of {', '.join(known) or 'none'}{did_you_mean(name, known)}"
        require(name in known, "names", expected, name)
    return _HessianByOperation(problem, names, modules or {})


def functional_parts(
    problem: Problem,
    vector: Tensor,
    modules: Modules | None = None,
    *,
    check: Check = "once",
) -> FunctionalParts:
    r"""The parts of ``vᵀFv`` by operation: ``vᵀFv = Σ_o vᵀF_o v`` with ``F = H − G``.

    ``vᵀF_o v = Σ_c ⟨∂L/∂y_c, D²o(x_c)[x'_c, x'_c]⟩`` sums over the calls ``c`` of operation ``o``,
    with inputs ``x_c`` and outputs ``y_c``; ``x'_c`` is the derivative of the inputs along ``v``.
    All are found within one product ``H v``, which meets the derivatives of each call.

    Args:
        problem: network, loss and data.
        vector: ``v (p,)``.
        modules: as for :func:`operations`.
        check: as for :func:`hessian_spectra.curvature.hessian`.

    Raises:
        ValueError: the vector does not fit, or a pattern fits no module.
        OperatorError: as for :func:`hessian_spectra.curvature.ggn` and
            :func:`linearised_hessian`.

    Source: Schraudolph (2002), "Fast curvature matrix-vector products for second-order gradient
    descent", for ``H = G + F``; the chain rule for its parts.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
        >>> _ = [nn.init.constant_(layer.weight, 3.0) for layer in model]
        >>> x = torch.ones(1, 1)
        >>> problem = Problem(model, nn.MSELoss(), [(x, x)])  # (w₂ w₁ − 1)²: r = 16
        >>> result = functional_parts(problem, torch.ones(2), {"0": "first", "1": "second"})
        >>> result.parts, result.gauss_newton  # 2 r, 2 (w₁ + w₂)²
        ({'second': 32.0}, 72.0)
    """
    require_problem(problem)
    require(vector.ndim == 1, "vector", f"shape ({problem.size},)", tuple(vector.shape))

    def along(operator: DifferentiatedOperator) -> float:
        return float(torch.dot(vector, operator @ vector))

    whole = along(hessian(problem, check=check, keep_graph=False))
    linear = along(ggn(problem, check=check, keep_graph=False))
    by_operation = _HessianByOperation(problem, (), modules or {})
    _ = by_operation @ vector
    return FunctionalParts(parts=by_operation.parts, hessian=whole, gauss_newton=linear)


class _HessianByOperation(HessianOperator):
    """The Hessian of a network in which some operations are linearised.

    Its ``parts`` are those of all operations in the last product with one vector.
    """

    def __init__(self, problem: Problem, linear: Collection[str], modules: Modules) -> None:
        require_modules(problem.model, modules)
        super().__init__(problem, keep_graph=False)
        self._linear, self._modules = frozenset(linear), modules
        self._calls: list[Call] = []
        self.parts: dict[str, float] = {}

    def _forward(self, batch: Batch) -> tuple[Tensor, Any]:
        plain = is_plain(self.problem.checked)
        mode = Operations(self.network.model, self._modules, self._linear, plain=plain)
        self._calls = mode.calls
        with mode, mode.named():
            return super()._forward(batch)

    def _blockwise(self, *args: Any) -> Tensor:
        self.parts = {}
        return super()._blockwise(*args)

    def _multiplied(self, built: Any, *args: Any) -> Sequence[Tensor]:
        images = super()._multiplied(built, *args)
        for call in self._calls:
            before = self.parts.get(call.name, 0.0)
            self.parts[call.name] = before + built.weight * call.part
        return images
