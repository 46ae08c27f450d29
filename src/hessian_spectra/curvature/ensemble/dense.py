"""The whole Hessian of every network of an ensemble, for networks with few parameters."""

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.curvature.ensemble.chains import effective_weights
from hessian_spectra.models.ensemble import Ensemble


def dense_hessians(ensemble: Ensemble, x: Tensor, y: Tensor) -> Float[Tensor, "N p p"]:
    """The Hessian of ``1/(2n) Σ (f(x_i) - y_i)²`` of every network with one output.

    With ``h_l`` the activations, ``g_l = ∂f/∂(W_l h_{l−1})`` and ``T_lk = ∂h_{k−1}/∂(W_l h_{l−1})``
    at each input, it is ``mean(∇f ∇fᵀ)`` plus, for layers ``l < k``, the block ``mean((f − y) g_k ⊗
    T_lk ⊗ h_{l−1})`` and its transpose. The derivative of a ReLU at 0 is 0.

    Args:
        ensemble: ``N`` networks.
        x: ``(n, d_0)`` inputs.
        y: ``(n,)`` targets.

    Returns:
        The parameters stand in the order ``W_1, ..., W_L``, each row by row.

    Example:
        >>> item = Ensemble(weights=(torch.full((1, 1, 1), 2.0), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> dense_hessians(item, torch.ones(1, 1), torch.ones(1)).tolist()
        [[[1.0, 3.0], [3.0, 4.0]]]
    """
    weights = effective_weights(ensemble)
    inputs, slopes = _forward(ensemble, weights, x)
    outer = (inputs[-1] @ weights[-1].mT)[..., 0] - y
    back = [outer.new_ones(*outer.shape, 1)]
    for weight, slope in zip(weights[:0:-1], slopes[::-1], strict=True):
        back.insert(0, (back[0] @ weight) * slope)
    back = [a * g for a, g in zip(ensemble.multipliers, back, strict=True)]
    gradients = [
        torch.einsum("Nip,Niq->Nipq", g, h).flatten(2) for g, h in zip(back, inputs, strict=True)
    ]
    jacobian = torch.cat(gradients, dim=2)
    hessians = jacobian.mT @ jacobian / len(y)
    ends = [0]
    for gradient in gradients:
        ends.append(ends[-1] + gradient.shape[2])
    for low, multiplier in enumerate(ensemble.multipliers[:-1]):
        factors = multiplier / len(y) * outer[..., None]
        # For the next layer T is diagonal, and only its diagonal is kept.
        transfer = slopes[low]
        for high in range(low + 1, ensemble.depth):
            left = factors * back[high]
            if high == low + 1:
                block = _next_layer(left, transfer, inputs[low])
            else:
                weight = weights[high - 1][:, None]
                onward = weight * transfer[..., None, :] if high == low + 2 else weight @ transfer
                transfer = slopes[high - 1][..., None] * onward
                block = torch.einsum("Nip,Niqs->Nipqs", left, transfer).flatten(2).mT @ inputs[low]
            rows, columns = slice(*ends[high : high + 2]), slice(*ends[low : low + 2])
            block = block.reshape(len(block), ends[high + 1] - ends[high], -1)
            hessians[:, rows, columns] += block
            hessians[:, columns, rows] += block.mT
    return hessians


def _next_layer(
    left: Float[Tensor, "N n p"], slopes: Float[Tensor, "N n q"], inputs: Float[Tensor, "N n t"]
) -> Float[Tensor, "N p q q t"]:
    """``Σ_i left ⊗ diag(slopes) ⊗ inputs``, without the zeros beside the diagonal in the sum."""
    both = torch.einsum("Nip,Niq->Nipq", left, slopes).flatten(2).mT @ inputs
    diagonal = both.unflatten(1, (left.shape[2], slopes.shape[2])).mT
    return torch.diag_embed(diagonal).permute(0, 1, 3, 4, 2)


def _forward(
    ensemble: Ensemble, weights: list[Tensor], x: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """The input of each layer ``(N, n, d)``, and the slopes of the hidden units ``(N, n, d)``."""
    inputs = [x.expand(ensemble.count, *x.shape)]
    slopes = []
    for weight in weights[:-1]:
        inner = inputs[-1] @ weight.mT
        linear = ensemble.activation == "linear"
        slopes.append(torch.ones_like(inner) if linear else (inner > 0).to(inner))
        inputs.append(slopes[-1] * inner)
    return inputs, slopes
