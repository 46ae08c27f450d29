"""The subspace that gradient descent never leaves: singh2026cracking, Corollary 3.1."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, read


class GradientDescentSubspace(NamedTuple):
    """An orthonormal basis of the parameters ``(v, w)``, in two parts.

    Attributes:
        outlier: ``(2m, 2)`` contains the span of ``(v, w)`` and ``(w, v)``: the iterates, gradients
            and outlier eigenvectors.
        bulk: ``(2m, 2m - 2)`` bulk eigenvectors; the first ``m - 1`` belong to ``+δx``.
    """

    outlier: Tensor
    bulk: Tensor


def gradient_descent_subspace(w: ArrayLike, v: ArrayLike) -> GradientDescentSubspace:
    """The plane of gradient descent on ``f(x) = ⟨w, v⟩ x``, and the bulk eigenspace beside it.

    A step multiplies ``w + v`` and ``w - v`` by numbers. So the span of ``(v, w)`` and ``(w, v)``
    is the same before and after, and so is its complement, the bulk eigenspace, to which every
    iterate is orthogonal. It holds for any step sizes and for stochastic gradients, weight decay
    and momentum from zero velocity, but not for Adam; and for any loss of the outputs, also one
    with kinks or that couples samples, because the gradient is a number ``G`` times ``(w, v)``. For
    the bulk to be eigenvectors the loss must have two derivatives.

    Where ``w = ±v`` (or a layer vanishes with the other) the iterates stay in one dimension or
    none; the second column is then one of many choices.

    Args:
        w: ``(m,)`` second layer.
        v: ``(m,)`` first layer.

    Returns:
        Both parts of the basis, in the parameter order ``(v, w)``.

    Raises:
        ValueError: bad shape or type, empty or not finite weights.

    Source: singh2026cracking, Corollary 3.1. In print ``(v, w)`` and ``(w, v)`` "form an
    orthonormal basis"; they span the subspace but are neither orthogonal nor of length 1.

    Example:
        >>> basis = gradient_descent_subspace(w=[1.0, 0.0], v=[0.0, 1.0])
        >>> basis.outlier.shape, basis.bulk.shape
        (torch.Size([4, 2]), torch.Size([4, 2]))
        >>> bool((basis.bulk.T @ torch.tensor([0.0, 1.0, 1.0, 0.0]).double()).abs().max() < 1e-15)
        True
    """
    w, v = read({"w": "m", "v": "m"}, w=w, v=v)
    size = torch.maximum(w.abs().max(), v.abs().max())
    if float(size) > 0:
        w, v = w / size, v / size
    root = math.sqrt(0.5)
    sums = torch.linalg.qr((w + v)[:, None], mode="complete").Q
    differences = torch.linalg.qr((w - v)[:, None], mode="complete").Q
    plus = root * torch.cat([sums, sums])
    minus = root * torch.cat([-differences, differences])
    return GradientDescentSubspace(
        outlier=torch.stack([plus[:, 0], minus[:, 0]], dim=1),
        bulk=torch.cat([plus[:, 1:], minus[:, 1:]], dim=1),
    )
