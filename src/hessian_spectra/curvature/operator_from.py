"""Functions and scipy's operators as operators."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from torch import Tensor

from hessian_spectra.curvature.composition import Derived, Operator
from hessian_spectra.curvature.interface import OperatorError, require_moderate, size_of
from hessian_spectra.seeding import generator

# Relative; rounding of a long sum stays far below.
_DISAGREEMENT = {torch.float64: 1e-7, torch.float32: 1e-3}


def operator_from(
    product: Any,
    size: int | None = None,
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    check: bool = True,
) -> Operator:
    """The operator of a function ``v -> A v``, or of scipy's operator or sparse matrix.

    Args:
        product: from a tensor ``(p,)`` to a tensor ``(p,)``; or what scipy's ``aslinearoperator``
            takes, whose products are made by numpy on the CPU.
        size: ``p``, of a function; scipy's operators have their own.
        dtype: the type of the vectors, float32 or float64.
        device: where they live.
        check: whether random vectors show that ``A`` is linear and symmetric, in three products.

    Raises:
        ValueError: the size is missing, below one, or another than scipy's; or type.
        OperatorError: ``A`` is not linear or not symmetric, or a product has another shape or type.

    Example:
        >>> A = operator_from(lambda v: 2 * v, 3)
        >>> A @ torch.ones(3, dtype=torch.float64)
        tensor([2., 2., 2.], dtype=torch.float64)
        >>> A
        Function(3, float64, cpu)
    """
    if isinstance(product, LinearOperator) or not callable(product):
        product, size = _of_scipy(product, size)
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"size: expected p, the length of the vectors, at least 1, got {size!r}")
    image = partial(_image, product)
    operator = Derived(
        "Function",
        torch.empty(size, 0, dtype=dtype, device=device),
        lambda columns: torch.stack([image(column) for column in columns.T], dim=1),
    )
    size_of(operator)
    if check:
        _require_linear_and_symmetric(operator)
    return operator


def _image(product: Callable[[Tensor], Tensor], vector: Tensor) -> Tensor:
    """A function's value of one vector."""
    # A copy: a function may write into what it is given.
    image = product(vector.clone())
    is_tensor, wanted = isinstance(image, Tensor), (vector.shape, vector.dtype)
    if not is_tensor or (image.shape, image.dtype) != wanted:
        got = f"{tuple(image.shape)} of {image.dtype}" if is_tensor else type(image).__name__
        raise OperatorError(
            f"product: expected a tensor {tuple(vector.shape)} of {vector.dtype}, got {got}"
        )
    return image


def _of_scipy(matrix: Any, size: int | None) -> tuple[Callable[[Tensor], Tensor], int]:
    """A function of tensors that multiplies by scipy's operator, and its size."""
    inner = aslinearoperator(matrix)
    rows, columns = inner.shape
    if rows != columns or size not in (None, rows):
        raise ValueError(
            f"product: expected a square operator{f' of size {size}' if size else ''}, "
            f"got shape {inner.shape}"
        )

    def product(vector: Tensor) -> Tensor:
        return torch.as_tensor(inner.matvec(vector.cpu().numpy())).to(vector)

    return product, rows


def _require_linear_and_symmetric(operator: Operator) -> None:
    draws = generator(0, "probes")
    x, y = (
        torch.randn(operator.shape[0], generator=draws, dtype=torch.float64).to(
            device=operator.device, dtype=operator.dtype
        )
        for _ in range(2)
    )
    # One of them is scaled, so that a function of the direction alone is noticed.
    images = [operator @ vector for vector in (x, y, 2 * x + y)]
    for image in images:
        require_moderate(image, "product")
    limit = _DISAGREEMENT[operator.dtype]
    scale = float(images[0].norm() + images[1].norm())
    off = float((images[2] - 2 * images[0] - images[1]).norm())
    if off > limit * scale:
        raise OperatorError(
            f"product: expected A (2x + y) = 2 A x + A y, off by {off / scale:.1e} of its length; "
            "the function is not linear, or draws random numbers"
        )
    off = float((y @ images[0] - x @ images[1]).abs())
    if off > limit * scale * float(x.norm() + y.norm()):
        raise OperatorError(
            f"product: expected y'Ax = x'Ay of a symmetric matrix, they differ by {off:.1e}; for "
            "the symmetric part give (A + A') / 2"
        )
