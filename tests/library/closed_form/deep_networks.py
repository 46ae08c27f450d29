"""Deep linear networks drawn by plain recipes, and their Gauss-Newton matrices by brute force."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor


def normal(random: torch.Generator, *shape: int) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(shape, dtype=torch.float64, generator=random)


def orthonormal(random: torch.Generator, rows: int, columns: int) -> Tensor:
    """Random orthonormal columns."""
    return torch.linalg.qr(normal(random, rows, columns)).Q


def balanced(random: torch.Generator, widths: Sequence[int], values: Tensor) -> list[Tensor]:
    """``W_l = U_l S U_{l-1}ᵀ``: layers that are balanced, with the given singular values."""
    bases = [orthonormal(random, width, len(values)) for width in widths]
    return [(after * values) @ before.T for before, after in pairwise(bases)]


def unbalanced(random: torch.Generator, widths: Sequence[int]) -> list[Tensor]:
    """Layers of independent normal entries."""
    return [normal(random, after, before) for before, after in pairwise(widths)]


def whitened(random: torch.Generator, inputs: int, samples: int, scale: float = 1.0) -> Tensor:
    """``(d_0, n)`` with ``X Xᵀ / n = σ_x² I``."""
    return scale * samples**0.5 * orthonormal(random, samples, inputs).T


def outputs(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """``W_L ... W_1 x``."""
    for weight in weights:
        x = weight @ x
    return x


def flat(weights: Sequence[Tensor]) -> Tensor:
    """All parameters, ``(p,)``."""
    return torch.cat([weight.flatten() for weight in weights])


def network(weights: Sequence[Tensor], x: Tensor) -> Callable[[Tensor], Tensor]:
    """The outputs at ``x`` as a function of the flat parameters."""
    shapes = [weight.shape for weight in weights]

    def function(theta: Tensor) -> Tensor:
        pieces = theta.split([shape.numel() for shape in shapes])
        return outputs([p.view(s) for p, s in zip(pieces, shapes, strict=True)], x)

    return function


def gauss_newton(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """``Jᵀ J / n``, the Jacobian by automatic differentiation."""
    theta = flat(weights)
    jacobian = torch.autograd.functional.jacobian(network(weights, x), theta)
    jacobian = jacobian.reshape(-1, len(theta))
    return jacobian.T @ jacobian / x.shape[1]


def hessian(weights: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """The dense Hessian of ``1/(2n) ‖f(X) - Y‖²``."""
    function = network(weights, x)
    return torch.autograd.functional.hessian(
        lambda theta: (function(theta) - y).square().sum() / (2 * x.shape[1]), flat(weights)
    )
