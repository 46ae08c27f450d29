"""A loss of one output and one target: its derivatives, and the network and data scaled by them."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form._inputs import normalise

Loss = nn.Module | Callable[[Tensor, Tensor], Tensor]

# A jump of a derivative from one side of an output to the other, relative to the derivative.
_JUMP = 1e-3
# A saturated loss, such as log cosh far out, has a second derivative that is rounding of 1.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class KnownDerivatives:
    """A loss of which nothing is needed but its derivatives at the outputs, which are known.

    Args:
        first: ``l'``, for each output.
        second: ``l''``, likewise.
    """

    first: Tensor
    second: Tensor

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """There are no values: closed forms take the derivatives alone."""
        raise ValueError("loss: expected a function of outputs, got derivatives at some")


def derivatives(loss: Loss | None, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second derivative of a loss by each output, at these outputs.

    Args:
        loss: a module of torch, whose ``reduction`` does not matter, or a function of outputs and
            targets with a number for each; ``None`` is half the squared error.
        outputs: of any shape; each entry is an output of its own.
        targets: of the same shape.

    Returns:
        ``l'`` and ``l''`` in float64, of the shape of the outputs.

    Raises:
        ValueError: the loss has not one number for each output, couples outputs, is not finite
            there, or is not twice differentiable there, as at a kink.

    Source: this project.

    Example:
        >>> first, second = derivatives(nn.HuberLoss(), torch.tensor([0.5, 3.0]), torch.zeros(2))
        >>> first.tolist(), second.tolist()
        ([0.5, 1.0], [1.0, 0.0])
    """
    outputs, targets = (part.detach().to(torch.float64) for part in (outputs, targets))
    if loss is None:
        return outputs - targets, torch.ones_like(outputs)
    if isinstance(loss, KnownDerivatives):
        return loss.first.reshape(outputs.shape), loss.second.reshape(outputs.shape)
    each = _each(loss)

    def total(at: Tensor) -> Tensor:
        values = each(at, targets)
        shape = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        if shape != tuple(outputs.shape):
            raise ValueError(
                f"loss: expected one number for each output, of shape {tuple(outputs.shape)}, "
                f"got {shape} from {name_of(loss)}"
            )
        return values.sum()

    return separable_derivatives(total, outputs, targets, name_of(loss))


def output_derivatives(
    loss: Loss | None, outputs: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """The first and the second derivatives of samples' losses, which may couple their outputs.

    Args:
        loss: as for :func:`derivatives`, with a number for each output, which are added up, or for
            each sample.
        outputs: ``(n, K)``.
        targets: ``(n, K)``.

    Returns:
        Gradients ``(n, K)`` and second derivatives ``(n, K, K)``.

    Raises:
        ValueError: as :func:`derivatives`, where "outputs" are those of a sample.

    Source: this project.

    Example:
        >>> even = torch.zeros(1, 2)
        >>> first, second = output_derivatives(nn.CrossEntropyLoss(), even, torch.eye(2)[:1])
        >>> first.tolist(), second.tolist()  # p - y and diag(p) - p pᵀ
        ([[-0.5, 0.5]], [[[0.25, -0.25], [-0.25, 0.25]]])
    """
    outputs, targets = (part.detach().to(torch.float64) for part in (outputs, targets))
    if loss is None or isinstance(loss, KnownDerivatives):
        first, second = derivatives(loss, outputs, targets)
        return first, torch.diag_embed(second)
    each, name = _each(loss), name_of(loss)
    shape = getattr(each(outputs, targets), "shape", None)
    if shape == outputs.shape:
        first, second = derivatives(loss, outputs, targets)
        return first, torch.diag_embed(second)
    if shape != outputs.shape[:1]:
        raise ValueError(
            f"loss: expected one number for each output or each sample, of shape "
            f"{tuple(outputs.shape)} or {tuple(outputs.shape[:1])}, got {shape} from {name}"
        )
    # Along one direction it is a loss of one number a sample, with the same checks.
    step = torch.linspace(1, 2, outputs.shape[1], dtype=outputs.dtype, device=outputs.device)

    def along(distance: Tensor) -> Tensor:
        return each(outputs + distance[:, None] * step, targets).sum()

    separable_derivatives(along, torch.zeros_like(outputs[:, 0]), outputs.abs().amax(1), name)
    with torch.enable_grad():
        at = outputs.clone().requires_grad_()
        first = _gradient(each(at, targets).sum(), at)
        second = torch.stack([_gradient(part.sum(), at) for part in first.unbind(1)], dim=1)
    return first.detach(), second.detach()


def separable_derivatives(
    total: Callable[[Tensor], Tensor], outputs: Tensor, targets: Tensor, name: str
) -> tuple[Tensor, Tensor]:
    """The derivatives of a sum of losses, of which each depends on one output alone.

    Args:
        total: from the outputs to a number.
        outputs: where, in float64.
        targets: whose size counts for the distance to a kink.
        name: what messages call the loss.

    Raises:
        ValueError: as :func:`derivatives`, but for the shape.
    """
    first, second = _first_and_second(total, outputs, name, check=True)
    size = torch.maximum(outputs.abs(), targets.abs())
    near = 8 * torch.finfo(torch.float64).eps * torch.where(size > 0, size, 1.0)
    sides = [_first_and_second(total, outputs + sign * near, name) for sign in (1, -1)]
    firsts = torch.stack([first, *(side[0] for side in sides)])
    seconds = torch.stack([second, *(side[1] for side in sides)])
    # A slope may change by its own derivative times the distance, as next to a minimum.
    steep = 1e3 * near * seconds.abs().amax(0)
    kinks = _jumps(firsts, steep) | _jumps(seconds, torch.zeros_like(steep))
    if bool(kinks.any()):
        raise ValueError(
            f"loss: expected {name} to be twice differentiable at every output, got a kink at "
            f"output {float(outputs[kinks][0]):g} with target {float(targets[kinks][0]):g}"
        )
    return first, second


def _jumps(values: Tensor, allowed: Tensor) -> Tensor:
    """Whether derivatives at an output and on both of its sides differ by more than rounding."""
    spread, size = values.amax(0) - values.amin(0), values.abs().amax(0)
    rounding = _ROUNDING * torch.clamp(values.abs().max(), min=1.0)
    return (spread > _JUMP * size) & (spread > rounding) & (spread > allowed)


@torch.enable_grad()
def _first_and_second(
    total: Callable[[Tensor], Tensor], outputs: Tensor, name: str, *, check: bool = False
) -> tuple[Tensor, Tensor]:
    """Gradient and row sums of the Hessian, which are its diagonal if there is nothing else."""
    at = outputs.clone().requires_grad_()
    value = total(at)
    if not value.requires_grad:
        raise ValueError(f"loss: expected {name} to depend on the outputs, by torch.autograd")
    try:
        first = _gradient(value, at)
        second = _gradient(first.sum(), at)
        # A matrix that acts on two vectors like the same diagonal one is diagonal: the second
        # vector has different entries.
        steps = torch.linspace(1, 2, at.numel(), dtype=at.dtype, device=at.device).view_as(at)
        mixed = _gradient((first * steps).sum(), at) if check else steps * second
    except (RuntimeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"loss: expected {name} to be twice differentiable by torch.autograd ({reason})"
        ) from None
    # Where autograd knows of zeros they have no memory, until something is added.
    first, second, mixed = (torch.zeros_like(at) + part.detach() for part in (first, second, mixed))
    if check and not all(bool(torch.isfinite(part).all()) for part in (value, first, second)):
        raise ValueError(f"loss: expected {name} finite with two derivatives, got NaN or infinity")
    away, size = (mixed - steps * second).abs().max(), torch.maximum(second.abs(), mixed.abs())
    if check and bool(away > 1e-10 * size.max() + _ROUNDING):
        raise ValueError(
            f"loss: expected a mean of losses of one output each, got {name}, which couples outputs"
        )
    return first, second


def _gradient(value: Tensor, at: Tensor) -> Tensor:
    """The derivative, which is 0 where the value does not depend on ``at``."""
    if not value.requires_grad:
        return torch.zeros_like(at)
    (gradient,) = torch.autograd.grad(
        value, at, create_graph=True, allow_unused=True, materialize_grads=True
    )
    return gradient


def _each(loss: Loss) -> Loss:
    """The loss with a number for each output, in float64."""
    if not isinstance(loss, nn.Module):
        return loss
    own = copy.deepcopy(loss).double()
    if hasattr(own, "reduction"):
        setattr(own, "reduction", "none")  # noqa: B010 - a module's attributes have no types
    return own


def elementwise(loss: Loss | None) -> Callable[[Tensor, Tensor], Tensor]:
    """A loss of outputs and targets with a number for each; ``None`` is half the squared error."""
    if loss is None:
        return lambda outputs, targets: (outputs - targets).square() / 2
    return _each(loss)


def name_of(loss: object) -> str:
    """The name of a loss in messages."""
    if isinstance(loss, nn.Module):
        return str(loss)
    return getattr(loss, "__name__", type(loss).__name__)


def scaled(
    loss: Loss | None,
    network: Callable[[Sequence[Tensor], Tensor], Tensor],
    parameters: Sequence[Tensor],
    x: Tensor,
    y: Tensor,
    differentiate: Callable[[Loss | None, Tensor, Tensor], tuple[Tensor, Tensor]] = derivatives,
) -> tuple[list[Tensor], Tensor, Tensor, Tensor, int]:
    """A two-layer network and its data as :func:`normalise` scales them, with any loss.

    A Hessian ``H(θ, x, l', l'')`` is linear in both derivatives: the slopes are scaled in the place
    of the targets. Those of the squared error need no outputs beyond float64 on the way.

    Args:
        loss: see :func:`derivatives`.
        network: from parameters and inputs to outputs of the shape of ``y``; of degree two in the
            parameters and one in the inputs.
        parameters: of both layers.
        x: inputs.
        y: targets.
        differentiate: :func:`output_derivatives` where the loss may couple outputs.

    Returns:
        The scaled parameters and inputs, ``l'`` likewise, ``l''``, and the ``e`` with ``H = 2**e
        H_scaled``.
    """
    if loss is None:
        parameters, x, y, power = normalise(parameters, x, y)
        first, second = differentiate(None, network(parameters, x), y)
        return list(parameters), x, first, second, power
    first, second = differentiate(loss, network(parameters, x), y)
    parameters, x, first, power = normalise(parameters, x, first)
    return parameters, x, first, second, power
