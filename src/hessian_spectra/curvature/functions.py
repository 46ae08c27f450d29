"""Functions of a symmetric matrix, ``f(A) = Σ_i f(λ_i) z_i z_iᵀ``: products, traces, dimensions."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.curvature.dense import DENSE_LIMIT, dense_spectrum
from hessian_spectra.curvature.density import gauss, quadrature, tridiagonals
from hessian_spectra.curvature.interface import (
    ConvergenceWarning,
    SymmetricOperator,
    in_own_type,
    require_vectors,
    size_of,
)
from hessian_spectra.curvature.lanczos import Krylov
from hessian_spectra.curvature.rows import norm
from hessian_spectra.curvature.traces import TraceEstimate, mean_of
from hessian_spectra.seeding import generator
from hessian_spectra.validation import is_count, require

# A map of eigenvalues, a tensor of float64 on the CPU, to as many values.
Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class FunctionTrace(TraceEstimate):
    """The trace of a function of a matrix, with its uncertainty.

    Args:
        truncation: how far the last quarter of the Lanczos steps moved the value: what the
            quadrature leaves open, beside the standard error of the probes.
    """

    truncation: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval of a trace, wider by the truncation on both sides.

        Raises:
            ValueError: the level is not in (0, 1).
        """
        low, high = super().interval(level)
        return low - self.truncation, high + self.truncation


@in_own_type
def trace_of_function(
    operator: SymmetricOperator,
    function: Function,
    *,
    probes: int = 30,
    steps: int = 30,
    seed: int = 0,
) -> FunctionTrace:
    """``tr f(A) = Σ_i f(λ_i)``, by stochastic Lanczos quadrature.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one. Where ``probes * steps``
            products would do for all of the matrix, it is decomposed instead.
        function: ``f``, from a tensor of eigenvalues to one of the same shape: ``torch.exp``.
        probes: vectors of random signs, at least two.
        steps: Lanczos steps from each. The error falls geometrically with them where ``f`` is
            smooth between the smallest and the largest eigenvalue.
        seed: seed of the probes.

    Raises:
        ValueError: an argument is out of its range, or ``f`` is not finite on the spectrum.
        NotFiniteError: a product is not finite, or too large to be squared.

    Source: Ubaru, Chen and Saad (2017), "Fast estimation of tr(f(A)) via stochastic Lanczos
    quadrature".

    Example:
        >>> estimate = trace_of_function(torch.diag(torch.tensor([1.0, 2.0, 3.0])), torch.square)
        >>> round(estimate.value, 4), estimate.method
        (14.0, 'dense eigendecomposition')
    """
    p = size_of(operator)
    if not is_count(probes, 2) or not is_count(steps, 1):
        raise ValueError(
            f"probes, steps: expected at least 2 and at least 1, got {probes} and {steps}"
        )
    draws = generator(seed, "probes")
    if p <= min(probes * steps, DENSE_LIMIT):
        nodes = dense_spectrum(operator).eigenvalues.double().cpu()[None]
        value = float(quadrature(nodes, torch.ones_like(nodes), function))
        method = "dense eigendecomposition"
        return FunctionTrace(
            value=value, standard_error=0.0, products=p, method=method, truncation=0.0
        )
    steps = min(steps, p)
    matrices = tridiagonals(operator, probes, steps, draws, "trace of a function")
    samples = p * quadrature(*gauss(matrices), function)
    fewer = max(1, steps - max(1, steps // 4))
    earlier = p * quadrature(*gauss(matrices[:, :fewer, :fewer]), function)
    estimate = mean_of(samples, probes * steps, "stochastic Lanczos quadrature")
    return FunctionTrace(**vars(estimate), truncation=float((samples - earlier).mean().abs()))


@in_own_type
def log_determinant(
    operator: SymmetricOperator,
    damping: float = 0.0,
    *,
    probes: int = 30,
    steps: int = 30,
    seed: int = 0,
) -> FunctionTrace:
    """``ln det (A + δ I) = Σ_i ln (λ_i + δ)``, as in Laplace's approximation of the evidence.

    Args:
        operator: a symmetric operator ``(p, p)`` with all ``λ_i > −δ``, such as a Gauss-Newton
            matrix.
        damping: ``δ``, the precision of the prior.
        probes: as for :func:`trace_of_function`.
        steps: as there.
        seed: as there.

    Raises:
        ValueError: an eigenvalue is at or below ``−δ``, or as for :func:`trace_of_function`.

    Example:
        >>> log_determinant(torch.diag(torch.tensor([0.0, 1.0])), damping=1.0).value, math.log(2)
        (0.6931471805599453, 0.6931471805599453)
    """
    return trace_of_function(
        operator, lambda values: (values + damping).log(), probes=probes, steps=steps, seed=seed
    )


@in_own_type
def effective_dimension(
    operator: SymmetricOperator,
    damping: float,
    *,
    probes: int = 30,
    steps: int = 30,
    seed: int = 0,
) -> FunctionTrace:
    """``tr A (A + δ I)⁻¹ = Σ_i λ_i / (λ_i + δ)``: how many parameters the data determine.

    Args:
        operator: a symmetric operator ``(p, p)`` with all ``λ_i > −δ``.
        damping: ``δ > 0``, the precision of the prior.
        probes: as for :func:`trace_of_function`.
        steps: as there.
        seed: as there.

    Raises:
        ValueError: the damping is not above zero, an eigenvalue is at or below ``−δ``, or as for
            :func:`trace_of_function`.

    Source: MacKay (1992), "Bayesian interpolation", section 4.

    Example:
        >>> effective_dimension(torch.diag(torch.tensor([0.0, 1.0, 3.0])), damping=1.0).value
        1.25
    """
    require(0 < damping < math.inf, "damping", "a number above 0", damping)

    def share(values: Tensor) -> Tensor:
        return torch.where(values > -damping, values / (values + damping), math.nan)

    return trace_of_function(operator, share, probes=probes, steps=steps, seed=seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionProduct:
    """``f(A) v``, as far as a Krylov space of ``v`` resolves it.

    Args:
        value: ``(p,)``.
        error: relative: ``‖x_m − x_{m−d}‖ / ‖x_m‖``, how far the last steps moved the result.
        converged: whether that is below the tolerance asked for.
        products: how many products with ``A`` it took.
    """

    value: Tensor
    error: float
    converged: bool
    products: int


@in_own_type
def function_product(
    operator: SymmetricOperator,
    function: Function,
    vector: Tensor,
    *,
    tol: float = 1e-6,
    max_steps: int = 200,
) -> FunctionProduct:
    """``f(A) v ≈ ‖v‖ V f(T) e_1`` with ``V`` a basis of the Krylov space of ``v``, ``T = Vᵀ A V``.

    It is exact where ``f`` is a polynomial of a degree below the number of steps, and stops where
    twice in a row a fifth more steps moved it by no more than ``tol``. It keeps a vector ``(p,)``
    for each step.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one.
        function: ``f``, as for :func:`trace_of_function`: ``torch.exp``, ``lambda t: t ** -0.5``.
        vector: ``v (p,)``.
        tol: the relative change at which to stop.
        max_steps: how many products to spend.

    Raises:
        ValueError: the vector is not one, is not finite, or ``f`` is not finite on the spectrum;
            ``tol`` or ``max_steps`` is out of range.
        NotFiniteError: a product is not finite, or too large to be squared.

    Warns:
        ConvergenceWarning: the error is above ``tol`` after ``max_steps``.

    Source: Saad (1992), "Analysis of some Krylov subspace approximations to the matrix exponential
    operator"; Higham (2008), "Functions of Matrices", section 13.2.

    Example:
        >>> matrix = torch.diag(torch.tensor([1.0, 4.0]))
        >>> product = function_product(matrix, torch.sqrt, torch.ones(2))
        >>> product.value.round(decimals=4)
        tensor([1., 2.])
    """
    p = size_of(operator)
    require(vector.ndim == 1, "vector", f"shape ({p},)", tuple(vector.shape))
    require_vectors(operator, vector)
    if not vector.isfinite().all():
        raise ValueError("vector: expected finite numbers, got NaN or infinity")
    if not 0 < tol < 1 or not is_count(max_steps, 1):
        raise ValueError(
            f"tol, max_steps: expected a number in (0, 1) and at least 1, got {tol} and {max_steps}"
        )
    length = norm(vector)
    if not length:
        return FunctionProduct(
            value=torch.zeros_like(vector), error=0.0, converged=True, products=0
        )
    nothing = torch.empty(0, p, dtype=operator.dtype, device=operator.device)
    space = Krylov(
        operator, nothing, max_steps, generator(0, "eigenpairs"), start=vector.detach() / length
    )
    coordinates, error = _resolved(space, function, tol, max_steps)
    if error > tol:
        warnings.warn(
            f"function_product: the last steps moved the result by {error:.1e}, tol is {tol:.1e}; "
            f"raise max_steps above {max_steps}, or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    # Unit vectors come from the basis.
    value = space.vectors(coordinates[:, None])[0] * (length * float(coordinates.norm()))
    return FunctionProduct(
        value=value.to(operator.dtype), error=error, converged=error <= tol, products=space.products
    )


def _resolved(
    space: Krylov, function: Function, tol: float, max_steps: int
) -> tuple[Tensor, float]:
    """``f(T) e_1``, as the space grows until it stays, and its relative change."""
    before = torch.zeros(0, dtype=torch.float64)
    error = math.inf
    while True:
        space.step()
        over = space.full or space.size >= max_steps
        if not over and space.size < 1.2 * len(before) + 1:
            continue
        values, vectors, _ = space.ritz(lambda theta: theta)
        weights = vectors[0].square()
        quadrature(values[None], weights[None], function)
        # Where the Krylov space has ended, the Ritz values of other vectors have no part in it.
        parts = torch.where(weights > torch.finfo(weights.dtype).eps ** 2, function(values), 0.0)
        now = vectors @ (parts * vectors[0])
        change = now.clone()
        change[: len(before)] -= before
        size = float(now.norm())
        error, last = (float(change.norm()) / size if size else 0.0), error
        if space.full:
            # Nothing is left out but rounding.
            return now, 0.0
        # One step may change nothing: of an even function where the spectrum is symmetric.
        if over or (space.size >= 8 and max(error, last) <= tol):
            return now, error
        before = now
