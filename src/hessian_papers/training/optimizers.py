"""Gradient descent with momentum as PyTorch's own optimizer, with its initial velocity exposed."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hessian_spectra.validation import require


def stochastic_gradient_descent(
    model: nn.Module,
    *,
    learning_rate: float,
    momentum: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    initial_velocity: Sequence[Tensor] | None = None,
) -> torch.optim.SGD:
    """``torch.optim.SGD`` on all parameters of a model, started with a given velocity.

    One step with gradient ``g`` (weight decay ``ρ`` included, ``g = ∇ℓ + ρ θ``) is

        u ← μ u + g,   θ ← θ − η u              (heavy ball)
        u ← μ u + g,   θ ← θ − η (g + μ u)      (Nesterov)

    with learning rate ``η`` and momentum ``μ``. The velocity ``u`` is zero at the start unless
    ``initial_velocity`` says otherwise.

    Args:
        model: the network; its parameters are changed in place by the optimizer's steps.
        learning_rate: ``η > 0``.
        momentum: ``0 ≤ μ < 1``.
        nesterov: look ahead; needs momentum.
        weight_decay: ``ρ ≥ 0``.
        initial_velocity: one tensor per parameter, in the order of ``model.parameters()``.

    Raises:
        ValueError: a setting is out of range, or the velocities do not have the parameters' shapes.

    Example:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> optimizer = stochastic_gradient_descent(model, learning_rate=0.1, momentum=0.9)
        >>> optimizer.param_groups[0]["momentum"]
        0.9
    """
    require(0 < learning_rate < math.inf, "learning_rate", "a positive number", learning_rate)
    require(0 <= momentum < 1, "momentum", "a number in [0, 1)", momentum)
    ahead = nesterov or initial_velocity is not None
    name = "nesterov" if nesterov else "initial_velocity"
    require(momentum > 0 or not ahead, name, "momentum above 0 with it", momentum)
    expected = "a number of at least 0"
    require(0 <= weight_decay < math.inf, "weight_decay", expected, weight_decay)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=learning_rate,
        momentum=momentum,
        nesterov=nesterov,
        weight_decay=weight_decay,
    )
    if initial_velocity is not None:
        parameters = list(model.parameters())
        known = [tuple(parameter.shape) for parameter in parameters]
        shapes = [tuple(velocity.shape) for velocity in initial_velocity]
        require(shapes == known, "initial_velocity", f"shapes {known}", shapes)
        for parameter, velocity in zip(parameters, initial_velocity, strict=True):
            optimizer.state[parameter]["momentum_buffer"] = velocity.detach().to(parameter).clone()
    return optimizer
