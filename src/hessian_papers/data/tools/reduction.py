"""Least squares with n samples as least squares with r: all that a linear map's loss depends on."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_papers.data.tools.whitening import PrincipalComponents


@dataclass(frozen=True)
class ReducedRegression:
    """The loss of a linear map on n samples, as a function of ``r (K + 1) + 1`` numbers.

    For ``f(x) = P x`` and the loss ``1/(2n) Σ ‖P x_i - y_i‖²``,

        loss(P) = 1/2 ‖P' diag(root) - target‖_F² + floor,

    where P' is P in the coordinates of the principal directions: ``P directions`` for raw inputs,
    P itself for whitened ones. That is exact for any P, and so are the derivatives with respect to
    whatever P is made of, such as the weights of a deep linear network.

    Args:
        root: ``(r,)``, root of the second moment of the inputs in each direction.
        target: ``(K, r)``, what ``P' diag(root)`` should be.
        floor: the part of the loss that no linear map removes.
    """

    root: Tensor
    target: Tensor
    floor: float

    def loss(self, product: Tensor) -> Tensor:
        """The loss of a linear map.

        Args:
            product: P', ``(K, r)``.

        Returns:
            A scalar.

        Example:
            >>> ones = ReducedRegression(torch.ones(1), torch.tensor([[3.0]]), floor=0.5)
            >>> float(ones.loss(torch.tensor([[1.0]])))
            2.5
        """
        return (product * self.root - self.target).square().sum() / 2 + self.floor

    def samples(self) -> tuple[Tensor, Tensor]:
        """Samples, as many as directions, with the same loss less ``floor`` and the same Hessian.

        Returns:
            Inputs ``(r, r)``, ``√r diag(root)``, and targets ``(r, K)``, ``√r targetᵀ``: half the
            squared error on them, averaged over samples, is ``loss - floor``.
        """
        scale = math.sqrt(len(self.root))
        return scale * torch.diag(self.root), scale * self.target.mT.contiguous()


def reduce_regression(
    components: PrincipalComponents, y: Tensor, input_scale: float | None
) -> ReducedRegression:
    """Compress inputs and targets to what the loss of a linear map depends on.

    With ``X = scores diag(s) directionsᵀ``: ``target = Yᵀ scores / √n``; ``root = s / √n`` for raw
    inputs, ``σ_x`` for whitened ones; ``floor = (‖Y‖² / n - ‖target‖²) / 2``, computed as what is
    left of Y off the scores, without the difference.

    Args:
        components: of the inputs.
        y: targets ``(n, K)``, float64.
        input_scale: σ_x if the network gets whitened inputs, ``None`` if it gets the raw ones.

    Returns:
        The reduced problem.

    Source: anon2026data, eqs. (2) and (12): the gradient needs XXᵀ and YXᵀ alone.

    Example:
        >>> from hessian_papers.data.tools.whitening import principal_components
        >>> x = torch.tensor([[3.0], [4.0]], dtype=torch.float64)
        >>> reduced = reduce_regression(principal_components(x), 2 * x, input_scale=None)
        >>> round(float(reduced.loss(torch.tensor([[2.0]], dtype=torch.float64))), 12)
        0.0
    """
    size, rank = components.scores.shape
    if input_scale is None:
        root = components.singular_values / math.sqrt(size)
    else:
        root = torch.full((rank,), input_scale, dtype=y.dtype)
    fitted = components.scores.mT @ y
    left_over = y - components.scores @ fitted
    return ReducedRegression(
        root, fitted.mT.contiguous() / math.sqrt(size), float(left_over.square().sum()) / (2 * size)
    )
