"""Whitened inputs: uncorrelated coordinates of equal variance, from a thin SVD."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PrincipalComponents:
    """The thin SVD ``X = scores diag(singular_values) directionsᵀ`` of inputs of rank r.

    The inputs are not centred: the assumption to be met is on XᵀX / n, not on a covariance.

    Args:
        directions: ``(d, r)``, orthonormal columns.
        singular_values: ``(r,)``, positive, descending.
        scores: ``(n, r)``, orthonormal columns.
    """

    directions: Tensor
    singular_values: Tensor
    scores: Tensor

    def inputs(self, input_scale: float) -> Tensor:
        """The whitened inputs ``√n σ_x scores``, ``(n, r)``."""
        return math.sqrt(len(self.scores)) * input_scale * self.scores


def principal_components(x: Tensor) -> PrincipalComponents:
    """The thin SVD of the inputs, cut at their numerical rank.

    Constant zero columns, duplicated ones and ``n < d`` all make the rank r less than d; what is
    left out are directions in which the samples do not vary at all. The sign of each direction is
    such that its entry of largest absolute value is positive.

    Args:
        x: ``(n, d)``, float64. Singular values up to ``max(n, d)`` units of round-off of the
            largest one count as zero.

    Returns:
        Components with ``r`` up to ``min(n, d)``.

    Raises:
        ValueError: inputs that are all zero.

    Example:
        >>> x = torch.tensor([[3.0, 0.0], [4.0, 0.0]], dtype=torch.float64)
        >>> principal_components(x).singular_values.tolist()
        [5.0]
    """
    left, values, right = torch.linalg.svd(x, full_matrices=False)
    # Those above the round-off of the largest one.
    rank = int((values > max(x.shape) * torch.finfo(x.dtype).eps * values[0]).sum())
    if rank == 0:
        raise ValueError("x: expected inputs of rank at least 1, got zeros only")
    directions = right[:rank].mT
    largest = directions.abs().argmax(dim=0, keepdim=True)
    signs = directions.gather(0, largest).sign()
    return PrincipalComponents(directions * signs, values[:rank].clone(), left[:, :rank] * signs)


def whiten(x: Tensor, input_scale: float) -> tuple[Tensor, int]:
    """Inputs with second moments ``inputsᵀ inputs / n = σ_x² I``, and the rank of the given ones.

    They are the r directions in which the inputs vary. The recipe as printed, a QR, returns
    ``min(n, d)`` columns whatever the rank is. Where the rank is less, some of them are not
    combinations of the inputs' columns: a zero column becomes nearly the indicator of a single
    sample, the later columns have to be orthogonal to it, and no linear map gives the same for test
    data.

    Args:
        x: ``(n, d)``, float64.
        input_scale: σ_x, positive.

    Returns:
        The whitened inputs ``(n, r)``, and the numerical rank.

    Source: anon2026data, assumption 2 and appendix C ("Data Whitening", by QR).

    Example:
        >>> x = torch.tensor([[3.0, 0.0], [4.0, 0.0]], dtype=torch.float64)
        >>> inputs, rank = whiten(x, input_scale=1.0)
        >>> [round(float(value), 12) for value in inputs.mT @ inputs / 2], rank
        ([1.0], 1)
    """
    components = principal_components(x)
    return components.inputs(input_scale), len(components.singular_values)
