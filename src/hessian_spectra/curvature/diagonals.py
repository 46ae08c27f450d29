"""The diagonal of a matrix that is only known by its products."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator, as_operator
from hessian_spectra.curvature.interface import SymmetricOperator, in_own_type
from hessian_spectra.curvature.probes import chunk, each_product, exact_diagonal, rademacher
from hessian_spectra.seeding import generator
from hessian_spectra.validation import is_count, require_word

DiagonalMethod = Literal["xdiag", "hutchinson", "exact"]

# How many roundings, for each vector, an image has to be away from the span of the others.
_DEPENDENT = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class DiagonalEstimate:
    """A diagonal with its uncertainty.

    Args:
        value: ``(p,)`` the estimate.
        standard_error: ``(p,)`` one standard deviation of it; zero if it is exact.
        products: how many products with the operator it took, at most.
        method: the method that was used.
    """

    value: Tensor
    standard_error: Tensor
    products: int
    method: str


@in_own_type
def diagonal(
    operator: SymmetricOperator | Tensor,
    method: DiagonalMethod = "xdiag",
    *,
    probes: int = 60,
    repeats: int = 5,
    seed: int = 0,
) -> DiagonalEstimate:
    """``diag A``, estimated from products with random signs ``z``.

    ``"hutchinson"`` takes the mean of ``z ∘ A z``, whose error is the size of what is beside the
    diagonal; ``"xdiag"`` takes the diagonal in the range of the large eigenvalues exactly and
    estimates the rest, which is far better where eigenvalues decay and no better where they do not.
    ``"exact"`` multiplies the ``p`` unit vectors.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one.
        method: one of the three. The first two turn to the exact one if they may spend ``p``
            products or more.
        probes: how many products to spend, at most.
        repeats: how many independent estimates share them; their spread gives the standard error.
        seed: seed of the random signs.

    Returns:
        The mean of the estimates, with its standard error.

    Raises:
        ValueError: an unknown method, fewer than two repeats, or fewer than two probes for each.
        NotFiniteError: a product is not finite, or too large to be squared.

    Source: Bekas, Kokiopoulou and Saad (2007); Epperly, Tropp and Webber (2024), section 2.4.

    Example:
        >>> diagonal(torch.diag(torch.arange(3.0)), "exact").value
        tensor([0., 1., 2.])
    """
    require_word("method", method, get_args(DiagonalMethod))
    if not is_count(repeats, 2) or not is_count(probes, 2 * repeats):
        raise ValueError(
            "repeats, probes: expected at least 2 and at least 2 probes for each, "
            f"got {repeats} and {probes}"
        )
    matrix, draws = as_operator(operator), generator(seed, "probes")
    if method == "exact" or probes >= matrix.shape[0]:
        return _exact(matrix)
    each = probes // repeats // 2 * 2
    estimate = _xdiag if method == "xdiag" else _hutchinson
    samples = torch.stack([estimate(matrix, each, draws) for _ in range(repeats)])
    return DiagonalEstimate(
        value=samples.mean(dim=0),
        standard_error=samples.std(dim=0) / repeats**0.5,
        products=each * repeats,
        method=method,
    )


def _hutchinson(matrix: Operator, count: int, draws: torch.Generator) -> Tensor:
    """The mean of ``z ∘ A z`` over ``count`` vectors of random signs, ``(p,)``."""
    parts = each_product(
        matrix,
        rademacher(matrix, count, draws),
        count,
        "diagonal",
        lambda signs, images: (signs * images).sum(dim=0),
    )
    return torch.stack(parts).sum(dim=0) / count


def _xdiag(matrix: Operator, count: int, draws: torch.Generator) -> Tensor:
    """XDiag from ``count`` products, half of them with random signs ``Ω``; ``(p,)``.

    With ``A Ω = Q R`` the images of all vectors but i span ``Q (I − s sᵀ)``, ``s`` the normalised
    column i of ``R⁻ᵀ``. The diagonal inside it is exact, and vector i is the probe of the rest:
    ``diag(Q Qᵀ A) − (Q s) ∘ (A Q s) + ω_i ∘ (Q s) (sᵀ R e_i)``, of which the mean is taken over i.
    """
    size, eps = count // 2, torch.finfo(matrix.dtype).eps
    signs = torch.cat([*rademacher(matrix, size, draws)]).T
    basis, triangle = torch.linalg.qr(_products(matrix, signs))
    left, sizes, right = torch.linalg.svd(triangle)
    kept = sizes > _DEPENDENT * size * eps * sizes[0]
    basis, sizes, right = basis @ left[:, kept], sizes[kept, None], right[kept]
    left_out = right / sizes
    left_out = left_out / left_out.norm(dim=0)
    # Where image i lies in the span of the others, they leave nothing out.
    left_out = left_out * (right.square().sum(dim=0) > 1 - eps**0.5)
    images = _products(matrix, basis)
    outside = basis @ left_out
    rest = signs * outside * (left_out * sizes * right).sum(dim=0) - outside * (images @ left_out)
    return (basis * images).sum(dim=1) + rest.mean(dim=1)


def _products(matrix: Operator, columns: Tensor) -> Tensor:
    """``A X``, a few columns at a time, ``(p, k)``."""
    if not columns.shape[1]:
        return columns
    blocks = columns.T.split(chunk(matrix))
    parts = each_product(matrix, blocks, columns.shape[1], "diagonal", lambda _, images: images)
    return torch.cat(parts).T


def _exact(matrix: Operator) -> DiagonalEstimate:
    value = exact_diagonal(matrix, "diagonal").to(matrix.dtype).to(matrix.device)
    return DiagonalEstimate(
        value=value,
        standard_error=torch.zeros_like(value),
        products=matrix.shape[0],
        method="exact",
    )
