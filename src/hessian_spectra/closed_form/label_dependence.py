"""The labels' part in the spectrum of a balanced linear network: anon2026data, Section 4."""

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import (
    ArrayLike,
    broadcast,
    finite,
    is_double,
    read,
    require_all,
)
from hessian_spectra.closed_form._layers import whitened
from hessian_spectra.closed_form.assumptions import require, tolerance_of


def sharpness_from_labels(
    largest_share: ArrayLike, depth: ArrayLike, input_scale: ArrayLike
) -> Tensor:
    """The largest eigenvalue at a balanced solution of zero loss, from the labels alone.

    ``λ_max = L σ_x^{2/L} α^{1 - 1/L}`` with ``α = σ_max²(Y)/n``. For one-hot labels, not centred,
    the numbers ``σ_i²(Y)/n`` are the shares of the classes, and ``α`` is the largest of them.

    At a solution with a loss that is not zero it is too large: there the labels count only as far
    as the inputs explain them, see :func:`least_squares_sharpness`.

    Args:
        largest_share: ``α``, any shape that broadcasts with the others.
        depth: ``L``, at least 1.
        input_scale: ``σ_x``, with ``X Xᵀ / n = σ_x² I``; positive.

    Returns:
        The largest eigenvalue, of the common shape.

    Raises:
        ValueError: a number out of its range, shapes that do not broadcast, or numbers that are not
            finite.

    Source: anon2026data, eq. (14).

    Example:
        >>> sharpness_from_labels(0.25, depth=2, input_scale=1.0)
        tensor(1., dtype=torch.float64)
    """
    alpha, layers, sigma = _read(depth, input_scale, largest_share=largest_share)
    return finite(layers * sigma ** (2 / layers) * alpha ** (1 - 1 / layers))


def least_squares_sharpness(
    solution_norm: ArrayLike, depth: ArrayLike, input_scale: ArrayLike
) -> Tensor:
    """The largest eigenvalue at a balanced network that solves the least-squares problem.

    ``λ_max = L σ_x² ‖W‖₂^{2(1 - 1/L)}``, where ``W = W_L ... W_1 = Y Xᵀ / (n σ_x²)``. The Hessian
    equals the Gauss-Newton matrix there although the loss need not be zero, because it depends on
    the residual only through ``(f(X) - Y) Xᵀ``.

    Args:
        solution_norm: ``‖W‖₂ = σ_max(Y Xᵀ)/(n σ_x²)``, see :func:`least_squares_singular_values`;
            any shape that broadcasts with the others.
        depth: as for :func:`sharpness_from_labels`, with its errors.
        input_scale: likewise.

    Returns:
        The largest eigenvalue, of the common shape.

    Source: anon2026data, eq. (9b) and (12), without the assumption that the loss is zero, on which
    eq. (14) depends.

    Example:
        >>> least_squares_sharpness(0.25, depth=2, input_scale=3.0)  # 2 · 9 · 0.25
        tensor(4.5000, dtype=torch.float64)
    """
    norm, layers, sigma = _read(depth, input_scale, solution_norm=solution_norm)
    return finite(layers * sigma**2 * norm ** (2 * (1 - 1 / layers)))


def least_squares_singular_values(
    x: ArrayLike, y: ArrayLike, depth: int = 1, *, check: bool = True
) -> Tensor:
    """The singular values of every layer of a balanced network that solves least squares.

    ``σ_i(W_l) = σ_i(W)^{1/L}`` with ``W = Y Xᵀ / (n σ_x²)``, the solution. Where the loss is zero,
    ``σ_i(W) = σ_i(Y)/(√n σ_x)``.

    Args:
        x: ``(d_0, n)`` inputs, one sample a column.
        y: ``(d_L, n)`` targets.
        depth: ``L``; with 1, the default, the singular values of the solution itself.
        check: whether to refuse inputs that are not whitened. Unchecked, ``σ_x²`` is the mean
            square of their entries, and ``W`` no longer the solution.

    Returns:
        ``(min(d_0, d_L),)`` singular values, descending; layers may have zeros besides.

    Raises:
        AssumptionError: the inputs are not whitened, to 1e-8 (float32: 1e-4).
        ValueError: bad shape or type, empty or not finite data, inputs of 0, or no layer.

    Source: anon2026data, eq. (12) and (13), the latter only for zero loss in print.

    Example:
        >>> x = [[2.0, 0.0], [0.0, 2.0]]  # X Xᵀ / n = 2 I
        >>> least_squares_singular_values(x, [[2.0, 0.0], [0.0, 0.5]], depth=2)
        tensor([1.0000, 0.5000], dtype=torch.float64)
    """
    exact = is_double(x, y)
    x, y = read({"x": ("d_0", "n"), "y": ("d_L", "n")}, x=x, y=y)
    if depth < 1:
        raise ValueError(f"depth: expected at least 1 layer, got {depth}")
    second_moments = x @ x.T / x.shape[1]
    sigma_squared = second_moments.diagonal().mean()
    if float(sigma_squared) == 0:
        raise ValueError("x: expected inputs that are not all 0")
    if check:
        source = "The least-squares solution (anon2026data, eq. 12)"
        require([whitened(second_moments, tolerance_of(exact))], source)
    return torch.linalg.svdvals(y @ x.T / (x.shape[1] * sigma_squared)) ** (1 / depth)


def _read(depth: ArrayLike, input_scale: ArrayLike, **size: ArrayLike) -> list[Tensor]:
    """One more number, which may be 0, then depth and scale, each of the common shape."""
    values, layers, sigma = broadcast(**size, depth=depth, input_scale=input_scale)
    (first,) = size
    require_all(first, values, values >= 0, "no negative number")
    require_all("depth", layers, layers >= 1, "at least 1")
    require_all("input_scale", sigma, sigma > 0, "a positive number")
    return [values, layers, sigma]
