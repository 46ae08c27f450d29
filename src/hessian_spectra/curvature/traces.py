"""The trace of a matrix that is only known by its products."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import SymmetricOperator, size_of
from hessian_spectra.curvature.probes import product, rademacher, unit_vectors
from hessian_spectra.seeding import generator


@dataclass(frozen=True, kw_only=True)
class TraceEstimate:
    """A trace with its uncertainty.

    Args:
        value: the estimate.
        standard_error: one standard deviation of the estimate; zero if it is exact.
        products: how many products with the operator it took.
        method: the method that was used.
    """

    value: float
    standard_error: float
    products: int
    method: str


def trace(
    operator: SymmetricOperator,
    method: str = "xtrace",
    *,
    probes: int = 60,
    seed: int = 0,
) -> TraceEstimate:
    """``tr A``, estimated from products with random signs z, for which ``E zᵀ A z = tr A``.

    ``"hutchinson"`` takes the mean of ``zᵀ A z``; its error falls as ``probes^(-1/2)``.
    ``"hutch++"`` finds the range of the large eigenvalues with a third of the products, takes the
    trace there exactly with another, and estimates the rest with the last; its error falls as
    ``1 / probes`` for positive semi-definite matrices. ``"xtrace"`` lets each of ``probes / 2``
    vectors be the probe for the range of all others, which wastes none. ``"exact"`` adds up the
    diagonal.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one.
        method: one of the four.
        probes: how many products to spend. Hutch++ and XTrace turn to the exact sum if they may
            spend ``p`` or more.
        seed: seed of the random signs.

    Returns:
        The estimate with its standard error, from the spread over the probes.

    Raises:
        ValueError: an unknown method, or too few probes for a standard error.
        OperatorError: a product is not finite.

    Source: Hutchinson (1989); Meyer, Musco, Musco and Woodruff (2021), Algorithm 1; Epperly, Tropp
    and Webber (2024), section 2.2.

    Example:
        >>> trace(torch.diag(torch.tensor([1.0, 2.0, 3.0])), "hutchinson", probes=2).value
        6.0
    """
    p = size_of(operator)
    if method not in _ESTIMATORS:
        raise ValueError(f"method: expected one of {sorted(_ESTIMATORS)}, got {method!r}")
    fewest = _FEWEST[method]
    if probes < fewest:
        raise ValueError(f"probes: {method} needs at least {fewest}, got {probes}")
    if method in ("hutch++", "xtrace") and probes >= p:
        method = "exact"
    return _ESTIMATORS[method](operator, probes, generator(seed, "probes"))


def _exact(operator: SymmetricOperator, probes: int, draws: torch.Generator) -> TraceEstimate:
    value = 0.0
    for indices, columns in unit_vectors(operator):
        images = product(operator, columns, "trace")
        value += float(images[list(indices), range(len(indices))].double().sum())
    return TraceEstimate(
        value=value, standard_error=0.0, products=operator.shape[0], method="exact"
    )


def _hutchinson(operator: SymmetricOperator, probes: int, draws: torch.Generator) -> TraceEstimate:
    signs = rademacher(operator, probes, draws)
    samples = _quadratic_forms(signs, product(operator, signs, "trace"))
    return _mean(samples, 0.0, probes, "hutchinson")


def _hutch_plus_plus(
    operator: SymmetricOperator, probes: int, draws: torch.Generator
) -> TraceEstimate:
    third = probes // 3
    sketch = product(operator, rademacher(operator, third, draws), "trace, range")
    basis = torch.linalg.qr(sketch).Q
    inside = float(_quadratic_forms(basis, product(operator, basis, "trace, in range")).sum())
    signs = rademacher(operator, third, draws)
    outside = signs - basis @ (basis.T @ signs)
    samples = _quadratic_forms(outside, product(operator, outside, "trace, outside range"))
    return _mean(samples, inside, 3 * third, "hutch++")


def _xtrace(operator: SymmetricOperator, probes: int, draws: torch.Generator) -> TraceEstimate:
    half = probes // 2
    signs = rademacher(operator, half, draws)
    images = product(operator, signs, "trace, range")
    basis, triangle = torch.linalg.qr(images.double())
    projected = product(operator, basis.to(operator.dtype), "trace, in range").double()
    inside = basis.T @ projected
    total = float(inside.diagonal().sum())
    diagonal = triangle.diagonal().abs()
    if float(diagonal.min()) <= 1e3 * torch.finfo(operator.dtype).eps * float(diagonal.max()):
        # The range is exhausted, so that nothing is left outside it.
        return TraceEstimate(value=total, standard_error=0.0, products=2 * half, method="xtrace")
    # Without image i the basis spans Q (I − s sᵀ), with s the normalised column i of R⁻ᵀ.
    identity = torch.eye(half, dtype=torch.float64, device=triangle.device)
    left_out = torch.linalg.solve_triangular(triangle.T, identity, upper=False)
    left_out = left_out / left_out.norm(dim=0)
    probe = signs.double()
    coordinates = basis.T @ probe
    coordinates = coordinates - left_out * (left_out * coordinates).sum(dim=0)
    # (ω − Q a)ᵀ A (ω − Q a), term by term.
    outside = (
        _quadratic_forms(probe, images.double())
        - 2 * _quadratic_forms(coordinates, projected.T @ probe)
        + _quadratic_forms(coordinates, inside @ coordinates)
    )
    samples = total - _quadratic_forms(left_out, inside @ left_out) + outside
    return _mean(samples, 0.0, 2 * half, "xtrace")


def _quadratic_forms(left: Tensor, right: Tensor) -> Tensor:
    """The dot products of corresponding columns, in float64."""
    return (left.double() * right.double()).sum(dim=0)


def _mean(samples: Tensor, offset: float, products: int, method: str) -> TraceEstimate:
    return TraceEstimate(
        value=offset + float(samples.mean()),
        standard_error=float(samples.std()) / len(samples) ** 0.5,
        products=products,
        method=method,
    )


_ESTIMATORS: dict[str, Callable[[SymmetricOperator, int, torch.Generator], TraceEstimate]] = {
    "exact": _exact,
    "hutchinson": _hutchinson,
    "hutch++": _hutch_plus_plus,
    "xtrace": _xtrace,
}
# Two samples at least, for a standard error.
_FEWEST = {"exact": 0, "hutchinson": 2, "hutch++": 6, "xtrace": 4}
