"""The random weights of networks at initialisation."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor


def standard_parametrisation(
    width: int, variance_times_fan_in: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Zero-mean Gaussian weights whose variance is inversely proportional to the fan-in.

    The first layer of a scalar network has fan-in 1 and variance ``variance_times_fan_in``, the
    second has fan-in ``width`` and variance ``variance_times_fan_in / width``.

    Args:
        width: number of hidden units m, at least 1.
        variance_times_fan_in: 1/3 gives the variance of PyTorch's default for linear layers, which
            is uniform in ±1/√fan_in; 1 gives LeCun's.
        generator: where the numbers come from, on the CPU.

    Returns:
        ``v`` and ``w``, both ``(m,)``, float64.

    Source: singh2026cracking, appendix D.1.3 (variance Θ(1/fan_in), Gaussian by D.1.1, Figure 7).

    Example:
        >>> v, w = standard_parametrisation(10000, 1 / 3, torch.Generator().manual_seed(0))
        >>> round(v.square().mean().item(), 1), round(w.square().sum().item(), 1)
        (0.3, 0.3)
    """
    standard = torch.randn(2, width, dtype=torch.float64, generator=generator)
    v, w = standard * math.sqrt(variance_times_fan_in)
    return v, w / math.sqrt(width)


def kaiming_uniform(sizes: Sequence[int], generator: torch.Generator) -> tuple[Tensor, ...]:
    """PyTorch's default for linear layers: entries uniform in ±1/√fan_in.

    Args:
        sizes: d_0, ..., d_L.
        generator: where the numbers come from, on the CPU.

    Returns:
        W_l ``(d_l, d_{l−1})`` for each layer, float64.

    Source: anon2026data, Figure 2 (middle): "standard in PyTorch".

    Example:
        >>> first, last = kaiming_uniform((4, 100, 10), torch.Generator().manual_seed(0))
        >>> round(first.abs().max().item(), 2), round(last.abs().max().item(), 2)
        (0.5, 0.1)
    """
    return tuple(
        torch.empty(rows, columns, dtype=torch.float64).uniform_(
            -1 / math.sqrt(columns), 1 / math.sqrt(columns), generator=generator
        )
        for columns, rows in itertools.pairwise(sizes)
    )
