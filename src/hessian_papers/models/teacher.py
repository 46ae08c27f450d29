"""Regression data from a random one-layer network."""

import math

import torch
from torch import Tensor

from hessian_spectra.models import Activation
from hessian_spectra.seeding import generator


def teacher_data(
    samples: int,
    inputs: int,
    outputs: int,
    activation: Activation,
    seed: int,
    noise_variance: float = 0.01,
    number: int = 0,
    *,
    scale: float = 1.0,
    white: bool = False,
    given: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Inputs x ~ N(0, I) and targets y = φ(s T x) + ε, with one random matrix T for all samples.

    T has independent entries N(0, 1/d), d the number of inputs, so that each coordinate of T x has
    variance 1 whatever d is. The second moments S of n such inputs are near the identity for n ≫ d
    only. White inputs are S^(-1/2) x, whose second moments are the identity.

    Args:
        samples: n.
        inputs: d, the size of x.
        outputs: the size of y.
        activation: φ: ``linear`` or ``relu``.
        seed: seed of T, x and ε.
        noise_variance: of each coordinate of ε.
        number: which of the seed's teachers, each with data of its own.
        scale: s, the standard deviation of a linear teacher's outputs.
        white: whether the inputs are made white; there are then at least d samples.
        given: the inputs, if they are not drawn.

    Returns:
        x ``(n, inputs)`` and y ``(n, outputs)``, float64.

    Source: singh2026cracking, appendix D.1.3 (n = 1024, noise variance 0.01). It says of T that it
    is fixed; its distribution is our choice.

    Example:
        >>> x, y = teacher_data(1000, 3, 2, "linear", 0)
        >>> teacher = torch.linalg.lstsq(x, y).solution
        >>> round((x @ teacher - y).var().item(), 2)
        0.01
    """

    def gaussian(purpose: str, rows: int, columns: int) -> Tensor:
        numbers = generator(seed, f"teacher {number} {purpose}")
        return torch.randn(rows, columns, dtype=torch.float64, generator=numbers)

    x = gaussian("inputs", samples, inputs) if given is None else given
    if white:
        # The polar factor of x is x (xᵀx)^(-1/2).
        left, _, right = torch.linalg.svd(x, full_matrices=False)
        x = math.sqrt(samples) * (left @ right)
    y = x @ gaussian("weights", outputs, inputs).T / math.sqrt(inputs) * scale
    if activation == "relu":
        y = torch.relu(y)
    return x, y + math.sqrt(noise_variance) * gaussian("noise", samples, outputs)
