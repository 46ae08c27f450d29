"""The errors of theorems: relative, 0 is perfect and 1 is hopeless, and NaN stays NaN."""

from collections.abc import Sequence

import torch
from torch import Tensor

Number = Tensor | float | int


def as_tensor(number: Number) -> Tensor:
    """A number or numbers in float64."""
    return torch.as_tensor(number, dtype=torch.float64)


def relative(stated: Number, measured: Number, over: Number = 0.0) -> float:
    """The largest |stated − measured|, relative.

    Args:
        stated: what a theorem says.
        measured: what brute force says, of the same shape or a single number.
        over: what the error is divided by, if not the largest |measured|; where both are 0 the
            error is absolute.

    Example:
        >>> relative(torch.tensor([1.0, 2.5]), torch.tensor([1.0, 2.0]))
        0.25
    """
    away, measured = (as_tensor(stated) - measured).abs(), as_tensor(measured)
    if away.numel() == 0:
        return 0.0
    return float(away.max() / (float(over) or float(measured.abs().max()) or 1.0))


def excess(value: Number, bound: Number, over: Number) -> float:
    """The largest excess of values over their upper bounds, over a scale; 0 where there is none.

    Example:
        >>> excess(3.0, 2.0, over=10.0), excess(1.0, 2.0, over=10.0)
        (0.1, 0.0)
    """
    return float((as_tensor(value) - bound).clamp_min(0).max() / (float(over) or 1.0))


def worst(*errors: float) -> float:
    """The largest error; NaN if any of them is."""
    return float(torch.tensor(errors, dtype=torch.float64).max())


def residual(matrix: Tensor, vectors: Tensor, values: Tensor) -> float:
    """The largest ‖H z − λ z‖ / (‖z‖ ‖H‖) over the columns ``z (p, k)``, at most a few units.

    A column of zeros is no eigenvector: its error is 1.
    """
    if vectors.shape[1] == 0:
        return 0.0
    norms = vectors.norm(dim=0)
    unit = vectors / torch.where(norms == 0, 1.0, norms)
    away = (matrix @ unit - unit * values).norm(dim=0)
    errors = away / (float(torch.linalg.matrix_norm(matrix, 2)) or 1.0)
    return float(torch.where(norms == 0, 1.0, errors).max())


def vectors_error(matrix: Tensor, vectors: Tensor, values: Tensor) -> float:
    """The :func:`residual` of those columns that are not zero up to round-off.

    A vector that vanishes has no direction; errata look at it on their own.
    """
    kept = ~(vectors.norm(dim=0) <= 1e-9 * matrix.norm())
    return residual(matrix, vectors[:, kept], values[kept])


def pairs_error(matrix: Tensor, pairs: Sequence[tuple[Tensor, Tensor]]) -> float | None:
    """The :func:`vectors_error` of eigenvectors with their eigenvalues; ``None`` of none."""
    if not pairs:
        return None
    vectors, values = zip(*pairs, strict=True)
    return vectors_error(matrix, torch.stack(vectors, dim=1), torch.stack(values))


def basis_error(matrix: Tensor, vectors: Tensor, values: Tensor) -> float:
    """The :func:`residual` of a basis ``(p, p)``, and its distance from orthonormality."""
    gram = vectors.mT @ vectors
    return worst(residual(matrix, vectors, values), relative(gram, torch.eye(len(gram)), over=1.0))


def roots_error(coefficients: Tensor, roots: Tensor) -> float:
    """The error of a polynomial at its roots, the largest |P(λ)| / max_k |c_k R^k|.

    R is the largest |λ|: the argument is brought to the unit interval, and what remains is the
    change of coefficients, relative to the largest of them, that would make λ a root.

    Args:
        coefficients: of the polynomial, that of the highest power first.
        roots: what should be its roots.

    Example:
        >>> roots = torch.tensor([-2.0, 2.0], dtype=torch.float64)
        >>> roots_error(torch.tensor([1.0, 0.0, -3.0], dtype=torch.float64), roots)  # λ² − 3
        0.25
    """
    radius = roots.abs().max()
    powers = torch.arange(len(coefficients) - 1, -1, -1)
    scaled = coefficients * radius**powers
    value = (roots[:, None] / (float(radius) or 1.0)) ** powers @ scaled
    return float(value.abs().max() / (float(scaled.abs().max()) or 1.0))
