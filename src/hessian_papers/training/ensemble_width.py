"""Two-layer linear networks without the hidden directions that training never uses."""

from dataclasses import replace

import torch
from torch import Tensor

from hessian_papers.training.ensemble_samples import pad, padded, twice_if_alone
from hessian_spectra.models import Ensemble


def narrow(ensemble: Ensemble) -> tuple[Ensemble, Tensor]:
    """The same functions, trained alike, need no more hidden units than inputs and outputs.

    The gradients of f(x) = W_2 W_1 x are W_2' M and M W_1' for some M, so the columns of W_2' and
    W_1 stay in the span of those at the start. In an orthonormal basis Q of it, gradient descent on
    W_1 = Q W̃_1 and W_2 = W̃_2 Q' is gradient descent on W̃_1 and W̃_2.

    Args:
        ensemble: two-layer linear networks, hidden width m.

    Returns:
        The networks with weights W̃ and hidden width d_0 + d_2, and Q ``(N, m, d_0 + d_2)``.
    """
    first, second = (weight.double() for weight in ensemble.weights)
    width, inputs = first.shape[1:]
    both = torch.cat([first, second.mT], dim=2)
    basis, inner = torch.linalg.qr(pad(both, padded(width, both.dtype), both.shape[2]))
    weights = inner[:, :, :inputs], inner[:, :, inputs:].mT
    narrowed = tuple(weight.to(ensemble.weights[0]) for weight in weights)
    return replace(ensemble, weights=narrowed), basis[:, :width]


def widen(narrowed: Ensemble, basis: Tensor) -> Ensemble:
    """The networks that :func:`narrow` made narrow, after their training.

    Args:
        narrowed: networks with weights W̃.
        basis: Q ``(N, m, d_0 + d_2)``.
    """
    first, second = (weight.double() for weight in narrowed.weights)
    inputs, width = first.shape[2], basis.shape[1]
    lines = padded(width, basis.dtype), padded(basis.shape[2], basis.dtype)
    both = torch.cat([first.mT, second], dim=1)
    rows = twice_if_alone(pad(both, both.shape[1], lines[1]))
    wide = torch.bmm(rows, twice_if_alone(pad(basis, *lines)).mT)[: len(basis), :, :width]
    weights = wide[:, :inputs].mT.contiguous(), wide[:, inputs:].contiguous()
    return replace(narrowed, weights=tuple(weight.to(narrowed.weights[0]) for weight in weights))
