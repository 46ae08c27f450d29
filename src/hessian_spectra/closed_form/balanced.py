"""Balanced linear networks on any inputs: the Gauss-Newton spectrum from the product alone.

With ``B = W_L ... W_1`` and balanced layers, ``W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}``, the products of
layers are powers of ``B``: ``P_lᵀP_l = (BᵀB)^((l-1)/L)`` before layer ``l`` and ``S_l S_lᵀ =
(BBᵀ)^((L-l)/L)`` after it. In the left singular vectors of ``B`` the Gauss-Newton matrix falls
apart into one problem of the size of the inputs for each singular value.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, finite, is_double, read
from hessian_spectra.closed_form._pairs import power_sum
from hessian_spectra.closed_form.assumptions import tolerance_of


def balanced_sharpness(product: ArrayLike, second_moment: ArrayLike, depth: int) -> Tensor:
    """The largest Gauss-Newton eigenvalue of a balanced linear network, from its product alone.

    ``λ_max`` of ``S^{1/2} [Σ_l s^{2(L-l)/L} (BᵀB)^{(l-1)/L}] S^{1/2}`` with ``s = ‖B‖₂``, ``l = 1,
    ..., L`` and ``0⁰ = 1``, under the loss ``1/(2n) Σ_i ‖f(x_i) - y_i‖²`` on inputs with second
    moments ``S``. Wherever the residual is uncorrelated with the inputs, ``B S = Y Xᵀ / n``, it is
    the sharpness, the largest eigenvalue of the Hessian. Each hidden layer has at least as many
    units as the product has rank; how many does not matter.

    Singular values of the product that rounding explains, below ``max(K, D) ‖B‖₂`` times 2.2e-16,
    count as 0: those of the layers are their ``L``-th roots, which small errors make large.

    Args:
        product: ``(..., K, D)`` ``B = W_L ... W_1``.
        second_moment: ``(..., D, D)`` ``S = X Xᵀ / n``; the leading dimensions broadcast.
        depth: ``L``, at least 1.

    Returns:
        ``(...)`` the sharpness, in the unit of ``S`` times that of ``B`` to the power ``2 - 2/L``.

    Raises:
        ValueError: bad shape or type, empty or not finite input, no layer, second moments that are
            not symmetric or have a negative eigenvalue, or a sharpness beyond float64.

    Source: this project; for ``S = σ_x² I`` anon2026data, eq. (9b), with (12).

    Example:
        >>> balanced_sharpness([[4.0, 0.0]], [[1.0, 0.0], [0.0, 4.0]], depth=2)  # 1 · 8 < 4 · 4
        tensor(16., dtype=torch.float64)
    """
    return _problems(product, second_moment, depth, rows=1)[..., 0, -1]


def balanced_spectrum(product: ArrayLike, second_moment: ArrayLike, depth: int) -> Tensor:
    """The Gauss-Newton eigenvalues of a balanced linear network, from its product alone.

    For each singular value ``s`` of ``B``, zeros included, ``K`` in all, the ``D`` eigenvalues of
    the matrix of :func:`balanced_sharpness`. Those that are not zero are the network's, with
    multiplicities, and all its others are zero. Narrow layers may have fewer than ``K D``
    parameters: then at least the surplus of these numbers is zero. In balanced layers ``P_lᵀP_l =
    (BᵀB)^{(l-1)/L}`` and ``S_l S_lᵀ = (BBᵀ)^{(L-l)/L}``, so that ``Σ_l (S_l S_lᵀ) ⊗ S^{1/2} P_lᵀP_l
    S^{1/2}``, which shares its non-zero eigenvalues with the Gauss-Newton matrix, falls apart in
    the left singular vectors of ``B``.

    Args and errors are those of :func:`balanced_sharpness`.

    Returns:
        ``(..., K, D)`` for each singular value of the product, descending, the eigenvalues,
        ascending. No more than ``K`` problems of size ``D`` are solved, one after the other.

    Source: this project; for ``S = σ_x² I`` anon2026data, eq. (9).

    Example:
        >>> balanced_spectrum([[4.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 4.0]], depth=2)
        tensor([[ 8.0000, 20.0000],
                [ 5.0000,  8.0000]], dtype=torch.float64)
    """
    return _problems(product, second_moment, depth)


def _problems(
    product: ArrayLike, second_moment: ArrayLike, depth: int, rows: int | None = None
) -> Float[Tensor, "... rows D"]:
    """The eigenvalues of the problems of the first ``rows`` singular values, or of all ``K``."""
    if depth < 1:
        raise ValueError(f"depth: expected at least 1 layer, got {depth}")
    tolerance = tolerance_of(is_double(product, second_moment))
    shapes = {"product": ("...", "K", "D"), "second_moment": ("...", "D", "D")}
    product, moments = read(shapes, product=product, second_moment=second_moment)
    _require_same_batches(product, moments)
    size = moments.abs().amax((-2, -1), keepdim=True)
    moments = moments / torch.where(size > 0, size, 1.0)
    if bool(((moments - moments.mT).abs() > tolerance).any()):
        away = float((moments - moments.mT).abs().max())
        raise ValueError(
            f"second_moment: expected a symmetric matrix, got entries that differ by {away:.3g} of "
            "the largest"
        )
    largest = product.abs().amax((-2, -1), keepdim=True)
    scaled = product / torch.where(largest > 0, largest, 1.0)
    _, values, right = torch.linalg.svd(scaled, full_matrices=False)
    first = values[..., :1]
    # Of a zero that rounding has made 1e-16 the fifth root is 1e-3.
    cut = max(product.shape[-2:]) * torch.finfo(values.dtype).eps * first
    values = torch.where(values > cut, values, 0.0)
    # Of each layer, relative to the largest.
    ratios = (values / torch.where(first > 0, first, 1.0)) ** (1 / depth)
    unit = ((first * largest[..., 0]) ** (1 - 1 / depth))[..., None]
    count = product.shape[-2] if rows is None else rows
    problems = []
    for row in range(min(count, values.shape[-1] + 1)):
        inside = row < values.shape[-1]
        ratio = ratios[..., row : row + 1] if inside else torch.zeros_like(first)
        # The square root of the sum over the layers: a multiple of the identity, and a correction
        # in the right singular vectors.
        beyond = power_sum(torch.zeros_like(ratio), ratio, depth).sqrt()
        along = power_sum(ratios, ratio, depth).sqrt() - beyond
        root = (right.mT * along[..., None, :]) @ right
        root.diagonal(dim1=-2, dim2=-1).add_(beyond)
        problems.append(torch.linalg.eigvalsh(root @ moments @ root))
    problems += problems[-1:] * (count - len(problems))
    eigenvalues = torch.stack(problems, dim=-2)
    if bool((eigenvalues < -tolerance * depth).any()):
        raise ValueError(
            "second_moment: expected no negative eigenvalue, as of mean(x xᵀ), but with it the "
            f"network has {float(eigenvalues.min()):.3g} of the largest"
        )
    # One after the other: the unit's square may be no number where the product is one.
    return finite(unit * size * unit * eigenvalues.clamp(min=0))


def _require_same_batches(product: Tensor, moments: Tensor) -> None:
    try:
        torch.broadcast_shapes(product.shape[:-2], moments.shape[:-2])
    except RuntimeError:
        raise ValueError(
            "expected leading dimensions that broadcast together, got product "
            f"{tuple(product.shape)} and second_moment {tuple(moments.shape)}"
        ) from None
