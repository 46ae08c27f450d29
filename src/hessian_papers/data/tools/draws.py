"""Random numbers of the data sets that are drawn."""

import torch
from torch import Tensor

from hessian_spectra.seeding import generator


def gaussian(seed: int, purpose: str, *shape: int) -> Tensor:
    """Standard normal numbers, float64; each purpose of a seed has its own."""
    draws = generator(seed, f"data {purpose}")
    return torch.randn(shape, dtype=torch.float64, generator=draws)
