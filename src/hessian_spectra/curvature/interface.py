"""The interface of a matrix to the eigen-solvers, and the error of one not to be trusted."""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ParamSpec, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from hessian_spectra.matrix_products import full_precision
from hessian_spectra.validation import NotFiniteError as NotFiniteError
from hessian_spectra.validation import OperatorError as OperatorError

P = ParamSpec("P")
R = TypeVar("R")


@runtime_checkable
class SymmetricOperator(Protocol):
    """A symmetric ``(p, p)`` matrix that may only know how to multiply.

    ``operator @ x`` takes a vector ``(p,)`` or a matrix ``(p, k)``; ``shape``, ``dtype`` and
    ``device`` are those of a tensor. A dense symmetric tensor is one, and so are this package's and
    curvlinops' operators.
    """

    @property
    def shape(self) -> Any:
        """``(p, p)``."""

    @property
    def dtype(self) -> torch.dtype:
        """The type of the vectors that it multiplies."""

    @property
    def device(self) -> torch.device:
        """Where these vectors live."""

    def __matmul__(self, x: Any) -> Any:
        """The product with a vector ``(p,)`` or a matrix ``(p, k)``."""


# What parameters say that are not finite, or whose loss or gradient is not.
DIVERGED = "if they were trained, the training has diverged: choose a smaller learning rate"


class PlainDerivativesWarning(UserWarning):
    """A model does not fit the fast second derivatives, so that torch's own are used."""


class ConvergenceWarning(UserWarning):
    """A result is less accurate than was asked for; it says by how much."""


def size_of(operator: SymmetricOperator) -> int:
    """The ``p`` of a ``(p, p)`` operator: what every function of an operator asks first.

    Raises:
        TypeError: it is no operator, such as a problem or a network.
        ValueError: the operator is not square, is empty, or is not of float32 or float64.
    """
    if not isinstance(getattr(operator, "dtype", None), torch.dtype) or not isinstance(
        operator, SymmetricOperator
    ):
        raise TypeError(
            "operator: expected a symmetric tensor (p, p), or an operator with shape, dtype, "
            f"device and @ for tensors, got {type(operator).__name__}; a problem has "
            "hessian(problem) and ggn(problem), a function or an operator of scipy becomes one by "
            "operator_from"
        )
    shape = tuple(operator.shape)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(f"operator: expected a square matrix (p, p), got shape {shape}")
    if operator.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"operator: expected float32 or float64, got {operator.dtype}")
    return shape[0]


# Squares of float32 numbers fit into float32, and fourth powers of float64's, as the variance of a
# variance takes them, into float64.
_LARGEST = {torch.float32: 1e18, torch.float64: 1e70}


def require_moderate(images: Tensor, of: str = "operator") -> None:
    """Refuse products that are not finite, or so large that what is computed of them is not.

    Args:
        images: the products.
        of: what multiplied, for the message.

    Raises:
        NotFiniteError: their length together is above 1e18 in float32, 1e70 in float64.
    """
    most = _LARGEST.get(images.dtype, 1e18)
    if not float(torch.linalg.vector_norm(images)) <= most:
        largest = float(images.abs().max())
        if not largest < float("inf"):
            raise NotFiniteError(f"{of}: a product is not finite")
        raise NotFiniteError(
            f"{of}: expected products below {most:g} ({images.dtype}), so that sums of their "
            f"powers are finite, got {largest:.1e}; multiply the loss by a small constant, or "
            "scale the data"
        )


def in_own_type(function: Callable[P, R]) -> Callable[P, R]:
    """A function of an operator or a problem that computes in its type, with all of its digits.

    Where autocast is on sums would be in bfloat16, where TF32 is allowed products: three digits.
    """

    @functools.wraps(function)
    def computed(*args: P.args, **settings: P.kwargs) -> R:
        first: Any = next(iter([*args, *settings.values()]), None)
        device = getattr(first, "device", None)
        kind = device.type if isinstance(device, torch.device) else "cpu"
        lowered = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
        own = torch.autocast(kind, enabled=False) if lowered else nullcontext()
        with full_precision(), own:
            return function(*args, **settings)

    return computed


def require_vectors(operator: SymmetricOperator, vectors: Tensor) -> None:
    """Refuse a right-hand side that an operator cannot multiply.

    Raises:
        ValueError: its shape is neither ``(p,)`` nor ``(p, k)``, or type or device differ.
    """
    p = operator.shape[1]
    if vectors.ndim not in (1, 2) or len(vectors) != p:
        raise ValueError(
            f"operator @ x: expected x of shape ({p},) or ({p}, k), got {tuple(vectors.shape)}"
        )
    if vectors.dtype != operator.dtype or vectors.device != operator.device:
        raise ValueError(
            f"operator @ x: expected x of {operator.dtype} on {operator.device}, "
            f"got {vectors.dtype} on {vectors.device}"
        )
