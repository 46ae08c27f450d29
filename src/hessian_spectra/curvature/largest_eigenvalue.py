"""The largest eigenvalue of the Hessian of one network's loss."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.eigenpairs import top_eigenpairs
from hessian_spectra.curvature.interface import SymmetricOperator
from hessian_spectra.curvature.operators import hessian
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.selection import Selection


@dataclass(frozen=True, eq=False, kw_only=True)
class Sharpness:
    """The largest (algebraic) eigenvalue ``λ`` of a Hessian ``H``.

    Args:
        value: ``λ``.
        residual: ``‖H z − λ z‖ / |λ_max|`` of the eigenpair; there is an eigenvalue this close, and
            ``λ`` is off by about the square of it.
        converged: whether the residual is below the tolerance asked for.
        products: how many products with ``H`` it took.
        eigenvector: ``z (p,)``, of length one, in the order of the parameters.
    """

    value: float
    residual: float
    converged: bool
    products: int
    eigenvector: Tensor


class CountedProducts(Operator):
    """An operator that counts the vectors it multiplies.

    Args:
        operator: a symmetric operator.
    """

    def __init__(self, operator: SymmetricOperator) -> None:
        super().__init__(operator.shape[0], operator.dtype, operator.device)
        self._operator, self.count = operator, 0

    def _matmat(self, columns: Tensor) -> Tensor:
        self.count += columns.shape[1]
        return self._operator @ columns


def sharpness(
    model: nn.Module | Problem,
    loss: Callable[..., Any] | None = None,
    data: Iterable[Batch] | None = None,
    parameters: Selection | None = None,
    *,
    loss_fn: Callable[..., Any] | None = None,
    num_batches: int | None = None,
    tol: float = 1e-5,
    seed: int = 0,
) -> Sharpness:
    """The sharpness of a network: the largest eigenvalue of the Hessian of its loss over the data.

    Args:
        model: the network, or a :class:`Problem` that holds all three. It is differentiated in the
            mode it is in; call ``model.eval()`` before if it has dropout or batch norm.
        loss: a map from outputs and targets to a scalar, such as ``nn.CrossEntropyLoss()``.
        data: a list of ``(inputs, targets)`` batches, or a loader that gives the same batches each
            time.
        parameters: which parameters vary, as for a :class:`Problem`; all by default.
        loss_fn: instead of ``loss``: from the model and a batch to a scalar.
        num_batches: how many batches to take of data without an end, as for a :class:`Problem`.
        tol: the largest relative residual accepted.
        seed: seed of the starting vector.

    Raises:
        ValueError: loss, data or parameters are given with a problem, loss or data are missing
            without one, or the problem refuses them.
        OperatorError: the Hessian does not stand its check.

    Warns:
        ConvergenceWarning: the residual is above ``tol``.

    Example:
        >>> import torch
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
        >>> round(sharpness(model, nn.MSELoss(), [(x, x)]).value, 9)  # 2 mean(x²)
        10.0
    """
    if isinstance(model, Problem):
        if any(part is not None for part in (loss, data, parameters, loss_fn, num_batches)):
            raise ValueError(
                "loss, data, parameters, loss_fn, num_batches: a problem has its own; give the "
                "problem alone"
            )
        problem = model
    else:
        problem = Problem(model, loss, data, parameters, loss_fn=loss_fn, num_batches=num_batches)
    return _largest(hessian(problem), tol, seed)


def layer_sharpness(problem: Problem, *, tol: float = 1e-5, seed: int = 0) -> dict[str, Sharpness]:
    """The sharpness of each layer's diagonal block of the Hessian, by the layer's name.

    Args:
        problem: network, loss and data.
        tol: the largest relative residual accepted.
        seed: seed of the starting vectors.

    Raises:
        OperatorError: the Hessian does not stand its check.

    Warns:
        ConvergenceWarning: a residual is above ``tol``.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
        >>> model[0].weight.data.fill_(2.0), model[1].weight.data.fill_(3.0)
        (tensor([[2.]]), tensor([[3.]]))
        >>> x = torch.ones(1, 1)
        >>> sharpness = layer_sharpness(Problem(model, nn.MSELoss(), [(x, x)]))
        >>> {name: layer.value for name, layer in sharpness.items()}
        {'0': 18.0, '1': 8.0}
    """
    blocks = hessian(problem).blocks()
    return {name: _largest(block, tol, seed) for name, block in blocks.items()}


def _largest(matrix: SymmetricOperator, tol: float, seed: int) -> Sharpness:
    operator = CountedProducts(matrix)
    pairs = top_eigenpairs(operator, 1, tol, seed=seed)
    assert pairs.residuals is not None
    assert pairs.converged is not None
    return Sharpness(
        value=float(pairs.eigenvalues[0]),
        residual=float(pairs.residuals[0]),
        converged=bool(pairs.converged[0]),
        products=operator.count,
        eigenvector=pairs.eigenvectors()[:, 0],
    )
