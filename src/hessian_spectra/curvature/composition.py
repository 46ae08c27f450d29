"""Symmetric operators that add, scale, shift and restrict like the matrices they stand for."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator
from torch import Tensor

from hessian_spectra.curvature.dense import require_symmetric
from hessian_spectra.curvature.interface import (
    SymmetricOperator,
    in_own_type,
    require_vectors,
    size_of,
)
from hessian_spectra.curvature.subspaces import require_orthonormal
from hessian_spectra.validation import require

_NUMPY_TYPES = {torch.float32: np.float32, torch.float64: np.float64}


class Operator(ABC):
    """A real symmetric matrix ``A`` of shape ``(p, p)`` that is known by its products.

    With a number ``s``, and ``B`` another operator, a dense symmetric tensor or an operator of
    curvlinops, these are operators again, and nothing ``(p, p)`` is formed: ``A + B``, ``A - B``,
    ``-A``, ``s * A``, ``A / s``, ``A.T``, :meth:`shift`, :meth:`submatrix`, :meth:`projection`,
    and :func:`block_diagonal` of several. All that takes an operator takes them.

    A subclass passes its size, type and device to ``super().__init__`` and writes one method,
    ``_matmat``: the product with the columns of a matrix ``(p, k)`` whose shape, type and device
    have been checked and that carries no graph.

    Args:
        size: ``p``.
        dtype: the type of the vectors that it multiplies, float32 or float64.
        device: where these vectors live.

    Example:
        >>> A = as_operator(torch.diag(torch.tensor([1.0, 2.0, 3.0])))
        >>> (2 * A - torch.eye(3)).shift(5) @ torch.ones(3)
        tensor([ 6.,  8., 10.])
    """

    # The + and * of numpy's arrays and numbers leave the work to those of this class.
    __array_ufunc__ = None
    # What it is, for people; by default the name of the class.
    kind = ""

    def __init__(self, size: int, dtype: torch.dtype, device: torch.device) -> None:
        self.shape = (size, size)
        self.dtype = dtype
        self.device = device

    @abstractmethod
    def _matmat(self, columns: Tensor) -> Tensor:
        """``A X`` for a matrix ``X`` of shape ``(p, k)``."""

    @in_own_type
    def __matmul__(self, x: Any) -> Tensor:
        """The product with a vector ``(p,)`` or with each column of a matrix ``(p, k)``.

        Raises:
            TypeError: ``x`` is no tensor; two symmetric matrices have no symmetric product.
            ValueError: shape, type or device of ``x`` do not fit.
        """
        if not isinstance(x, Tensor):
            raise TypeError(
                f"A @ x: expected a tensor ({self.shape[0]},) or ({self.shape[0]}, k), "
                f"got {type(x).__name__}"
            )
        require_vectors(self, x)
        columns = x.detach().reshape(self.shape[0], -1)
        return self._matmat(columns).detach().reshape(x.shape)

    def __rmatmul__(self, x: Any) -> Tensor:
        """``xᵀ A`` with a vector ``(p,)``, or with each row of a matrix ``(k, p)``.

        Raises:
            TypeError: ``x`` is no tensor.
            ValueError: shape, type or device of ``x`` do not fit.
        """
        if not isinstance(x, Tensor) or x.ndim != 2:
            return self @ x
        p = self.shape[0]
        require(x.shape[1] == p, "x @ A", f"x of shape ({p},) or (k, {p})", tuple(x.shape))
        return (self @ x.T).T

    def __add__(self, other: Any) -> "Operator":
        return _combine(self, other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Operator":
        return _combine(self, other, -1.0)

    def __rsub__(self, other: Any) -> "Operator":
        return _combine(-self, other, 1.0)

    def __neg__(self) -> "Operator":
        return _combination([(-1.0, self)])

    def __mul__(self, factor: Any) -> "Operator":
        return _combination([(_number(factor, "A * s"), self)])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Operator":
        return _combination([(1 / _number(divisor, "A / s"), self)])

    def __repr__(self) -> str:
        kind, dtype = self.kind or type(self).__name__.lstrip("_"), str(self.dtype)
        return f"{kind}({self.shape[0]}, {dtype.removeprefix('torch.')}, {self.device})"

    @property
    def T(self) -> "Operator":  # noqa: N802 -- as tensors call it
        """``Aᵀ``, which is ``A``."""
        return self

    def blocks(self, by: str = "module") -> Mapping[str, "Operator"]:
        """The diagonal blocks that are known by name; an operator without such is its only one.

        Args:
            by: ``"module"`` or ``"parameter"``, for the matrix of a problem.
        """
        return {"": self}

    def shift(self, amount: Any) -> "Operator":
        """``A + s I``: the same eigenvectors, each eigenvalue larger by ``s``.

        Example:
            >>> as_operator(torch.zeros(2, 2)).shift(3) @ torch.ones(2)
            tensor([3., 3.])
        """
        return _combination([(1.0, self)], _number(amount, "A.shift(s)"))

    def submatrix(self, indices: Sequence[int] | Tensor) -> "Operator":
        """The rows and columns of ``A`` at ``indices``, in their order, as an operator ``(k, k)``.

        Each product costs one with ``A``. For the parameters of a layer, a problem with these
        ``parameters`` gives the same matrix for less work.

        Args:
            indices: ``(k,)`` different whole numbers from 0 to ``p - 1``.

        Raises:
            ValueError: there is none, one is out of range or there twice.

        Example:
            >>> A = as_operator(torch.diag(torch.tensor([1.0, 2.0, 3.0])))
            >>> A.submatrix([2, 0]) @ torch.ones(2)
            tensor([3., 1.])
        """
        chosen = _require_indices(self, indices)

        def product(columns: Tensor) -> Tensor:
            padded = columns.new_zeros(self.shape[0], columns.shape[1])
            padded[chosen] = columns
            return (self @ padded)[chosen]

        return Derived("Submatrix", self, product, len(chosen))

    def projection(self, basis: Tensor) -> "Operator":
        """``P A P`` with ``P = U Uᵀ``: what ``A`` does inside a subspace, zero outside, ``(p, p)``.

        Args:
            basis: ``(p, k)`` orthonormal columns ``U``, such as ``Spectrum.eigenvectors()``.

        Raises:
            ValueError: shape, type or device do not fit, or the columns are not orthonormal.

        Example:
            >>> A = as_operator(torch.ones(3, 3))
            >>> A.projection(torch.eye(3)[:, :2]) @ torch.ones(3)
            tensor([2., 2., 0.])
        """
        basis = _require_basis(self, basis)

        def inside(columns: Tensor) -> Tensor:
            return basis @ (basis.T @ columns)

        return Derived("Projection", self, lambda columns: inside(self @ inside(columns)))

    @in_own_type
    def restriction(self, basis: Tensor) -> Tensor:
        """``Uᵀ A U``, the dense ``(k, k)`` matrix of ``A`` in a subspace.

        Its eigenvalues are the Ritz values of the subspace; with :meth:`projection` it shares all
        that are not zero.

        Args:
            basis: as for :meth:`projection`.

        Raises:
            ValueError: as for :meth:`projection`.

        Example:
            >>> as_operator(torch.ones(3, 3)).restriction(torch.eye(3)[:, :2])
            tensor([[1., 1.],
                    [1., 1.]])
        """
        basis = _require_basis(self, basis)
        small = basis.T @ (self @ basis)
        return (small + small.T) / 2

    def to_scipy(self) -> LinearOperator:
        """The operator for scipy: ``scipy.sparse.linalg.eigsh(A.to_scipy())``.

        Vectors are numpy's and of the operator's type; products are taken on its device. Scipy
        itself takes no operator whose ``dtype`` is torch's: ``eigsh(A)`` raises a ``TypeError``.

        Example:
            >>> from scipy.sparse.linalg import eigsh
            >>> A = as_operator(torch.diag(torch.arange(8.0)))
            >>> [round(float(value), 4) for value in eigsh(A.to_scipy(), k=2)[0]]
            [6.0, 7.0]
        """
        kind = _NUMPY_TYPES[self.dtype]

        def product(x: np.ndarray) -> np.ndarray:
            if np.iscomplexobj(x):
                raise ValueError(f"operator @ x: expected real numbers, got {x.dtype}")
            # A copy, because scipy's arrays may be read-only, which tensors cannot be.
            vectors = torch.tensor(x, dtype=self.dtype, device=self.device)
            return (self @ vectors).cpu().numpy()

        return LinearOperator(
            self.shape, matvec=product, rmatvec=product, matmat=product, rmatmat=product, dtype=kind
        )

    def to_curvlinops(self, shapes: Sequence[Sequence[int]] | None = None) -> Any:
        """The ``PyTorchLinearOperator`` for curvlinops, whose functions and operators it goes into.

        Args:
            shapes: the shapes of the tensors that a vector consists of, to be combined with an
                operator of curvlinops over the same parameters: ``problem.shapes``. By default
                one of ``(p,)``.

        Raises:
            ValueError: the shapes do not have ``p`` numbers together.
            ModuleNotFoundError: curvlinops is not installed.

        Example:
            >>> from curvlinops import hutchinson_trace
            >>> A = as_operator(torch.diag(torch.tensor([1.0, 2.0, 3.0])))
            >>> hutchinson_trace(A.to_curvlinops(), num_matvecs=2)
            tensor(6.)
        """
        # That module imports this one, and its library is optional.
        from hessian_spectra.curvature.curvlinops_operators import for_curvlinops

        return for_curvlinops(self, shapes)


def as_operator(matrix: SymmetricOperator | Tensor) -> Operator:
    """A symmetric tensor, or an operator of another library such as curvlinops, as an operator.

    Args:
        matrix: a symmetric tensor ``(p, p)``, or what has ``shape``, ``dtype``, ``device`` and
            ``@`` with tensors ``(p, k)``. Its products lose their graph.

    Raises:
        TypeError: it is neither.
        ValueError: it is not square or not of float32 or float64.
        OperatorError: a tensor is not symmetric.

    Example:
        >>> as_operator(torch.eye(2)).shape
        (2, 2)
    """
    if isinstance(matrix, Operator):
        return matrix
    size_of(matrix)
    if isinstance(matrix, Tensor):
        matrix = matrix.detach()
        require_symmetric(matrix)
    return Derived("Known", matrix, lambda columns: matrix @ columns)


def block_diagonal(blocks: Sequence[SymmetricOperator | Tensor]) -> Operator:
    """The operator with the given ones on its diagonal, one after the other, and zeros elsewhere.

    Args:
        blocks: operators or symmetric tensors ``(p_i, p_i)`` of one type and device.

    Returns:
        An operator ``(Σ p_i, Σ p_i)``.

    Raises:
        ValueError: there is none, or type or device differ.

    Example:
        >>> block_diagonal([torch.eye(2), 3 * torch.eye(1)]) @ torch.ones(3)
        tensor([1., 1., 3.])
    """
    if not blocks:
        raise ValueError("blocks: expected at least one, got none")
    first, *others = operators = [as_operator(block) for block in blocks]
    for block in others:
        if (block.dtype, block.device) != (first.dtype, first.device):
            raise ValueError(
                f"blocks: expected one type and device, got {first.dtype} on {first.device} "
                f"and {block.dtype} on {block.device}"
            )
    sizes = [block.shape[0] for block in operators]

    def product(columns: Tensor) -> Tensor:
        parts = zip(operators, columns.split(sizes), strict=True)
        return torch.cat([block @ part for block, part in parts])

    return Derived("BlockDiagonal", first, product, sum(sizes))


class Derived(Operator):
    """The matrix that a product with columns is of.

    Args:
        kind: what it is, for people.
        like: has its type and device, and its size unless that is given.
        product: ``A X`` for columns ``X (p, k)`` that have been checked.
        size: ``p``.
    """

    def __init__(
        self,
        kind: str,
        like: SymmetricOperator,
        product: Callable[[Tensor], Tensor],
        size: int | None = None,
    ) -> None:
        super().__init__(like.shape[0] if size is None else size, like.dtype, like.device)
        self.kind, self._product = kind, product

    def _matmat(self, columns: Tensor) -> Tensor:
        return self._product(columns)


def _combination(terms: Sequence[tuple[float, Operator]], shift: float = 0.0) -> Operator:
    """``Σ_i c_i A_i + s I``."""

    def product(columns: Tensor) -> Tensor:
        total = columns * shift
        for coefficient, operator in terms:
            total.add_(operator @ columns, alpha=coefficient)
        return total

    return Derived("Combination", terms[0][1], product)


def _combine(left: Operator, other: Any, sign: float) -> Operator:
    """``A + sign B``."""
    if isinstance(other, Real) or (isinstance(other, Tensor) and other.ndim == 0):
        raise TypeError(f"A + s: a number is no matrix, got {other!r}; A + s I is A.shift(s)")
    right = as_operator(other)
    mine, others = ((a.shape, a.dtype, a.device) for a in (left, right))
    if mine != others:
        raise ValueError(
            "A + B: expected operators of one shape, type and device, got "
            + " and ".join(f"{shape} of {kind} on {at}" for shape, kind, at in (mine, others))
        )
    return _combination([(1.0, left), (sign, right)])


def _number(value: Any, where: str) -> float:
    """A finite number, also as a tensor without axes.

    Raises:
        TypeError: it is something else, such as a matrix.
        ValueError: it is infinite or not a number.
    """
    scalar = isinstance(value, Tensor) and value.ndim == 0 and not value.is_complex()
    if not (scalar or isinstance(value, Real)):
        raise TypeError(f"{where}: expected a number s, got {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{where}: expected a finite number s, got {float(value)}")
    return float(value)


def _require_indices(whole: Operator, indices: Sequence[int] | Tensor) -> Tensor:
    """Different positions of rows, as a tensor."""
    chosen = torch.as_tensor(indices, device=whole.device)
    p = whole.shape[0]
    if chosen.ndim != 1 or len(chosen) == 0 or chosen.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            "indices: expected at least one whole number in one dimension, "
            f"got shape {tuple(chosen.shape)} of {chosen.dtype}"
        )
    low, high, different = int(chosen.min()), int(chosen.max()), len(chosen.unique())
    if low < 0 or high >= p or different != len(chosen):
        raise ValueError(
            f"indices: expected each once and from 0 to {p - 1}, got {len(chosen)} from {low} "
            f"to {high}, {different} of them different"
        )
    return chosen


def _require_basis(operator: Operator, basis: Tensor) -> Tensor:
    """Orthonormal columns of the operator's size, without their graph."""
    if basis.ndim != 2:
        raise ValueError(f"basis: expected a matrix (p, k), got shape {tuple(basis.shape)}")
    require_vectors(operator, basis)
    require_orthonormal("basis", basis)
    return basis.detach()
