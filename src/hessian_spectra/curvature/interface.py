"""The interface of a matrix to the eigen-solvers, and the error of one not to be trusted."""

from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from hessian_spectra.validation import NotFiniteError as NotFiniteError
from hessian_spectra.validation import OperatorError as OperatorError


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
    """The ``p`` of a ``(p, p)`` operator.

    Raises:
        ValueError: the operator is not square, is empty, or is not of float32 or float64.
    """
    shape = tuple(operator.shape)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(f"operator: expected a square matrix (p, p), got shape {shape}")
    if operator.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"operator: expected float32 or float64, got {operator.dtype}")
    return shape[0]


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
