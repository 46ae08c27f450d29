"""The loss along a direction of parameter space, and in a plane of two."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from tqdm import tqdm

from hessian_spectra.curvature.operators import hessian
from hessian_spectra.curvature.problem import Problem, require_problem
from hessian_spectra.curvature.undisturbed import undisturbed
from hessian_spectra.validation import require

# Two directions are as good as parallel when less of the second than this is outside the first.
_PARALLEL = 1e-4


@dataclass(frozen=True, eq=False, kw_only=True)
class LossCurve:
    """The loss ``L(θ + s u)`` along a unit vector u.

    Args:
        distances: ``(n,)`` the distances s, ascending.
        loss: ``(n,)`` the loss there.
        quadratic: ``(n,)`` ``L(θ) + s uᵀ∇L + s²/2 uᵀHu``.
        slope: ``uᵀ∇L``.
        curvature: ``uᵀHu``; an eigenvalue where u is an eigenvector.
    """

    distances: Tensor
    loss: Tensor
    quadratic: Tensor
    slope: float
    curvature: float


@dataclass(frozen=True, eq=False, kw_only=True)
class LossPlane:
    """The loss ``L(θ + s u + t v)`` in the plane of two orthonormal vectors.

    Args:
        first: ``(a,)`` the distances s along u, ascending.
        second: ``(b,)`` the distances t along v, ascending.
        loss: ``(a, b)`` the loss there.
        directions: ``(p, 2)`` the vectors u and v.
    """

    first: Tensor
    second: Tensor
    loss: Tensor
    directions: Tensor


@undisturbed()
def loss_along(
    problem: Problem, direction: Tensor, distances: Sequence[float] | Tensor
) -> LossCurve:
    """The loss along a direction, beside its quadratic approximation at θ.

    Network, parameters and random numbers of the user are left as they are; each point is computed
    with a copy, over all data, in the parameters' type. What a model draws at random, such as
    dropout, it draws alike at each point.

    Args:
        problem: network, loss and data.
        direction: ``(p,)``, such as an eigenvector; it is divided by its length.
        distances: Euclidean distances from θ in parameter space, ascending, of either sign.

    Returns:
        Distances, losses and the approximation, in float64 on the CPU.

    Raises:
        ValueError: the direction has another shape, or is zero or not finite; the distances are
            not ascending.
        OperatorError: the loss cannot be differentiated twice.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(2, 1, bias=False, dtype=torch.float64)
        >>> model.weight.data.fill_(1.0)
        tensor([[1., 1.]], dtype=torch.float64)
        >>> x = torch.tensor([[3.0, 0.0]], dtype=torch.float64)
        >>> problem = Problem(model, nn.MSELoss(), [(x, torch.zeros(1, 1, dtype=torch.float64))])
        >>> losses = loss_along(problem, torch.tensor([2.0, 0.0]), [-1.0, 0.0, 1.0])
        >>> losses.loss, losses.curvature  # 9 (1 + s)²
        (tensor([ 0.,  9., 36.], dtype=torch.float64), 18.0)
    """
    unit = _unit(problem, direction, "direction")
    steps = _ascending(distances, "distances")
    losses = _losses(problem, unit[:, None], torch.cat([steps.new_zeros(1), steps])[:, None])
    slope = float(problem.gradient().double() @ unit)
    curvature = float((hessian(problem) @ unit.to(problem.dtype)).double() @ unit)
    return LossCurve(
        distances=steps,
        loss=losses[1:],
        quadratic=losses[0] + slope * steps + curvature / 2 * steps**2,
        slope=slope,
        curvature=curvature,
    )


@undisturbed()
def loss_plane(
    problem: Problem,
    u: Tensor,
    v: Tensor,
    first: Sequence[float] | Tensor,
    second: Sequence[float] | Tensor | None = None,
) -> LossPlane:
    """The loss on a grid in the plane of two directions through θ.

    What is left as it is and what is drawn alike is so as for :func:`loss_along`.

    Args:
        problem: network, loss and data.
        u: ``(p,)``, such as an eigenvector; it is divided by its length.
        v: ``(p,)``, of which the part orthogonal to u is taken and divided by its length.
        first: Euclidean distances along u, ascending.
        second: those along v, by default the same.

    Returns:
        The distances, the losses and the two orthonormal directions, in float64 on the CPU.

    Raises:
        ValueError: a direction has another shape, or is zero or not finite; they are parallel; the
            distances are not ascending.

    Example:
        >>> from torch import nn
        >>> model = nn.Linear(2, 1, bias=False, dtype=torch.float64)
        >>> _ = model.weight.data.fill_(0.0)
        >>> x = torch.eye(2, dtype=torch.float64)
        >>> problem = Problem(model, nn.MSELoss(), [(x, torch.zeros(2, 1, dtype=torch.float64))])
        >>> u, v = torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])
        >>> loss_plane(problem, u, v, [0.0, 2.0], [0.0, 4.0]).loss  # (s² + t²) / 2
        tensor([[ 0.,  8.],
                [ 2., 10.]], dtype=torch.float64)
    """
    along, other = _unit(problem, u, "u"), _unit(problem, v, "v")
    for _ in range(2):
        other = other - (along @ other) * along
        outside = float(other.norm())
        if outside < _PARALLEL:
            raise ValueError(
                "u, v: expected two directions that span a plane, got two that are parallel to "
                f"{outside:.0e}"
            )
        other = other / outside
    directions = torch.stack([along, other], dim=1)
    rows = _ascending(first, "first")
    columns = rows if second is None else _ascending(second, "second")
    losses = _losses(problem, directions, torch.cartesian_prod(rows, columns))
    return LossPlane(
        first=rows,
        second=columns,
        loss=losses.view(len(rows), len(columns)),
        directions=directions.cpu(),
    )


def _unit(problem: Problem, direction: Tensor, name: str) -> Tensor:
    """A direction, of length one in float64, where the problem's parameters are."""
    require_problem(problem)
    shape = (problem.size,)
    require(direction.shape == shape, name, f"a vector of shape {shape}", tuple(direction.shape))
    vector = direction.detach().to(problem.device).double()
    length = float(vector.norm())
    if not 0 < length < float("inf"):
        raise ValueError(
            f"{name}: expected finite numbers that are not all zero, got length {length}"
        )
    return vector / length


def _ascending(distances: Sequence[float] | Tensor, name: str) -> Tensor:
    steps = torch.as_tensor(distances, dtype=torch.float64).detach().cpu()
    row = steps.ndim == 1 and len(steps) > 0 and bool(torch.isfinite(steps).all())
    require(row, name, "at least one finite distance in a row", distances)
    ascends = bool((steps.diff() > 0).all())
    require(ascends, name, "ascending distances", steps.tolist())
    return steps


def _losses(problem: Problem, directions: Tensor, points: Tensor) -> Tensor:
    """The loss at ``θ + directions · point`` for each of some points ``(n, k)``."""
    network = problem.fixed()
    losses = []
    for point in tqdm(points, desc="loss", unit="point", disable=None, leave=False):
        offset = directions @ point.to(directions.device)
        with undisturbed(problem.device), network.moved(offset, 1.0):
            losses.append(problem.value(network))
    return torch.tensor(losses, dtype=torch.float64)
