"""The diagonal of a matrix that is only known by its products."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator, as_operator
from hessian_spectra.curvature.curvlinops_operators import load_curvlinops, without_deprecations
from hessian_spectra.curvature.interface import OperatorError, SymmetricOperator
from hessian_spectra.curvature.probes import dots, each_product, unit_vectors
from hessian_spectra.seeding import generator

_ESTIMATORS = {"hutchinson": "hutchinson_diag", "xdiag": "xdiag"}


@dataclass(frozen=True, eq=False, kw_only=True)
class DiagonalEstimate:
    """A diagonal with its uncertainty.

    Args:
        value: ``(p,)`` the estimate.
        standard_error: ``(p,)`` one standard deviation of it; zero if it is exact.
        products: how many products with the operator it took.
        method: the method that was used.
    """

    value: Tensor
    standard_error: Tensor
    products: int
    method: str


def diagonal(
    operator: SymmetricOperator | Tensor,
    method: Literal["xdiag", "hutchinson", "exact"] = "xdiag",
    *,
    probes: int = 60,
    repeats: int = 5,
    seed: int = 0,
) -> DiagonalEstimate:
    """``diag A``, estimated by curvlinops from products with random signs ``z``.

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
        seed: seed of the random signs, which are drawn on the operator's device.

    Returns:
        The mean of the estimates, with its standard error.

    Raises:
        ValueError: an unknown method, fewer than two repeats, or fewer than two probes for each.
        OperatorError: a product is not finite, or XDiag meets a matrix of zeros.
        ModuleNotFoundError: curvlinops is not installed.

    Source: Bekas, Kokiopoulou and Saad (2007); Epperly, Tropp and Webber (2024), section 2.4.

    Example:
        >>> diagonal(torch.diag(torch.arange(3.0)), "exact").value
        tensor([0., 1., 2.])
    """
    if method not in (*_ESTIMATORS, "exact"):
        raise ValueError(f"method: expected 'xdiag', 'hutchinson' or 'exact', got {method!r}")
    if repeats < 2 or probes < 2 * repeats:
        raise ValueError(
            "repeats, probes: expected at least 2 and at least 2 probes for each, "
            f"got {repeats} and {probes}"
        )
    matrix = as_operator(operator)
    if method == "exact" or probes >= matrix.shape[0]:
        return _exact(matrix)
    each = probes // repeats // 2 * 2
    samples = torch.stack(_samples(matrix, method, each, repeats, seed))
    if not torch.isfinite(samples).all():
        raise OperatorError("operator: a product is not finite")
    return DiagonalEstimate(
        value=samples.mean(dim=0),
        standard_error=samples.std(dim=0) / repeats**0.5,
        products=each * repeats,
        method=method,
    )


def _samples(matrix: Operator, method: str, each: int, repeats: int, seed: int) -> list[Tensor]:
    """Independent estimates, with the global random state as it was afterwards."""
    estimate = getattr(load_curvlinops(), _ESTIMATORS[method])
    at_curvlinops = matrix.to_curvlinops()
    start = int(torch.randint(2**62, (), generator=generator(seed, "probes")))
    with torch.random.fork_rng([matrix.device] if matrix.device.type == "cuda" else []):
        torch.manual_seed(start)
        try:
            with without_deprecations():
                return [estimate(at_curvlinops, each) for _ in range(repeats)]
        except torch.linalg.LinAlgError as error:
            raise OperatorError(
                "diagonal: the products with random signs are exactly dependent, which XDiag "
                "cannot take; use 'hutchinson' or 'exact'"
            ) from error


def _exact(matrix: Operator) -> DiagonalEstimate:
    parts = each_product(matrix, unit_vectors(matrix), matrix.shape[0], "diagonal", dots)
    value = torch.cat(parts).to(matrix.dtype).to(matrix.device)
    return DiagonalEstimate(
        value=value,
        standard_error=torch.zeros_like(value),
        products=matrix.shape[0],
        method="exact",
    )
