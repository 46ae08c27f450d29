"""The output Hessian of a two-layer ReLU classifier whose activations do not depend on its logits.

The pre-activations of the hidden layer are ``u``, its activations ``D = diag(1[u > 0])``, the
logits ``z = W relu(u)``. The Hessian of the cross-entropy with respect to ``u`` is ``D Wᵀ A W D``
with ``A = diag(p) − p pᵀ``, ``p = softmax(z)``. What is said here is exact for an independent copy
of ``D`` with independent entries; that of the network itself tends to it with growing width.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, finite, read, require_all


class RectifiedMoments(NamedTuple):
    """The moments of ``relu(u)`` with Gaussian ``u``, each of the common shape of its arguments.

    Attributes:
        active: the probability of ``u > 0``.
        mean: of ``relu(u)``.
        variance: of ``relu(u)``.
    """

    active: Tensor
    mean: Tensor
    variance: Tensor


def rectified_moments(mean: ArrayLike, deviation: ArrayLike) -> RectifiedMoments:
    """The moments of a rectified Gaussian variable ``relu(u)``, ``u ~ N(m, s²)``.

    With ``t = m/s``: ``P(u > 0) = Φ(t)``, ``E relu(u) = s (t Φ(t) + φ(t))`` and
    ``E relu(u)² = s² ((1 + t²) Φ(t) + t φ(t))``.

    Args:
        mean: ``m``, any shape.
        deviation: ``s``, positive, of a shape that broadcasts with it.

    Raises:
        ValueError: a deviation that is not positive, shapes that do not broadcast, or numbers that
            are not finite.

    Source: wu2022dissecting, eq. (80) and (90), for ``m = 0``.

    Example:
        >>> moments = rectified_moments(0.0, 1.0)
        >>> moments.active.item()
        0.5
        >>> bool(moments.mean.isclose(torch.tensor((2 * math.pi) ** -0.5).double()))
        True
    """
    m, s = broadcast(mean=mean, deviation=deviation)
    require_all("deviation", s, s > 0, "positive numbers")
    t = m / s
    active = torch.special.ndtr(t)
    density = torch.exp(-t.square() / 2) / math.sqrt(2 * math.pi)
    first = t * active + density
    second = (1 + t.square()) * active + t * density
    # Far below 0 both are differences of nearly equal numbers.
    variance = (second - first.square()).clamp_min(0.0)
    return RectifiedMoments(active, finite(s * first.clamp_min(0.0)), finite(s.square() * variance))


def decoupled_output_hessian(
    weight: ArrayLike, softmax_hessian: ArrayLike, active: ArrayLike
) -> Tensor:
    """The output Hessian ``M* = E[D' Wᵀ A W D']`` for activations ``D'`` independent of ``A``.

    ``M* = Π X Π + diag(π_j (1 − π_j) X_jj)`` with ``X = Wᵀ E[A] W`` and ``Π = diag(π_j)``, if the
    entries of ``D'`` are independent and 1 with probability ``π_j``. With ``π_j = 1/2`` this is the
    paper's ``(X + diag X)/4``; but given the first layer's weights the probabilities differ from
    unit to unit where the inputs' mean is not 0.

    Args:
        weight: ``W`` ``(c, n)``, of the second layer.
        softmax_hessian: ``E[A]`` ``(c, c)``.
        active: ``π`` ``(n,)``, in ``[0, 1]``.

    Returns:
        ``(n, n)``, float64, symmetric if ``E[A]`` is.

    Raises:
        ValueError: bad shapes or types, numbers that are not finite, or no probabilities.

    Source: wu2022dissecting, eq. (8), corrected for probabilities other than 1/2.

    Example:
        >>> item = [[1.0]]
        >>> decoupled_output_hessian([[1.0, 2.0]], item, active=[0.5, 1.0])
        tensor([[0.5000, 1.0000],
                [1.0000, 4.0000]], dtype=torch.float64)
    """
    weight, active, softmax_hessian = _read(weight, active, softmax_hessian)
    whole = weight.T @ softmax_hessian @ weight
    rest = torch.diag(active * (1 - active) * whole.diagonal())
    return finite(active[:, None] * whole * active + rest)


def decoupled_top_space(weight: ArrayLike, active: ArrayLike) -> Tensor:
    """The space ``{Π Wᵀ a: Σ a_k = 0}``, to which the top of ``M*`` tends with growing width.

    It is the range of ``Π Wᵀ E[A] W Π``, the part of :func:`decoupled_output_hessian` that has
    rank ``c − 1``: the sums of ``A``'s columns are 0. With ``π_j = 1``, or any other constant, it
    is the paper's space of the rows ``W_i`` without ``1ᵀW``.

    Args:
        weight: ``W`` ``(c, n)``, of the second layer; at least two classes, and ``c ≤ n + 1``.
        active: ``π`` ``(n,)``, in ``[0, 1]``.

    Returns:
        ``(n, c − 1)``, an orthonormal basis.

    Raises:
        ValueError: as for :func:`decoupled_output_hessian`, or the space has fewer dimensions.

    Source: wu2022dissecting, Theorem 4.2, corrected by Π.

    Example:
        >>> basis = decoupled_top_space([[1.0, 0.0], [0.0, 1.0]], active=[0.75, 1.0])
        >>> (basis / basis[1]).T
        tensor([[-0.7500,  1.0000]], dtype=torch.float64)
    """
    weight, active = _read(weight, active)
    classes = len(weight)
    if not 2 <= classes <= weight.shape[1] + 1:
        raise ValueError(
            "weight: expected (c, n) with at least 2 classes and at least c − 1 units, "
            f"got {tuple(weight.shape)}"
        )
    differences = active * (weight[1:] - weight[:1])
    basis, sizes, _ = torch.linalg.svd(differences.T, full_matrices=False)
    if not float(sizes[-1]) > 1e-12 * float(sizes[0]):
        raise ValueError(
            f"weight, active: expected {classes - 1} independent differences of rows of W Π, got "
            f"{int((sizes > 1e-12 * sizes[0]).sum())}"
        )
    return basis


def _read(weight: ArrayLike, active: ArrayLike, *softmax_hessian: ArrayLike) -> tuple[Tensor, ...]:
    """The arguments in this order; the probabilities are some."""
    shapes = {"weight": "cn", "active": "n", "softmax_hessian": "cc"}
    given = dict(zip(shapes, (weight, active, *softmax_hessian), strict=False))
    values = read(shapes, **given)
    good = (values[1] >= 0) & (values[1] <= 1)
    require_all("active", values[1], good, "probabilities in [0, 1]")
    return values
