"""Gradient descent with momentum as PyTorch's own optimizer, with its initial velocity exposed."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


def stochastic_gradient_descent(
    model: nn.Module,
    initial_velocity: Sequence[Tensor] | None = None,
    **settings: Any,
) -> torch.optim.SGD:
    """``torch.optim.SGD`` on all parameters of a model, started with a given velocity.

    One step with gradient ``g`` (weight decay ``ρ`` included, ``g = ∇ℓ + ρ θ``) is

        u ← μ u + g,   θ ← θ − η u              (heavy ball)
        u ← μ u + g,   θ ← θ − η (g + μ u)      (Nesterov)

    with learning rate ``η`` and momentum ``μ``. The velocity ``u`` is zero at the start unless
    ``initial_velocity`` says otherwise.

    Args:
        model: the network; its parameters are changed in place by the optimizer's steps.
        initial_velocity: one tensor per parameter, in the order of ``model.parameters()``; it
            needs momentum.
        settings: those of ``torch.optim.SGD``: ``lr``, ``momentum``, ``nesterov``,
            ``weight_decay``.

    Example:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> optimizer = stochastic_gradient_descent(model, lr=0.1, momentum=0.9)
        >>> optimizer.param_groups[0]["momentum"]
        0.9
    """
    optimizer = torch.optim.SGD(model.parameters(), **settings)
    if initial_velocity is not None:
        for parameter, velocity in zip(model.parameters(), initial_velocity, strict=True):
            optimizer.state[parameter]["momentum_buffer"] = velocity.detach().to(parameter).clone()
    return optimizer
