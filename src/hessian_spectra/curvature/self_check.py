"""Does an operator multiply by the matrix it stands for? Symmetry and differences tell."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hessian_spectra.curvature.batches import Batch
from hessian_spectra.curvature.diagnosis import cause_of_change, cause_of_difference
from hessian_spectra.curvature.interface import (
    DIVERGED,
    NotFiniteError,
    OperatorError,
    SymmetricOperator,
    require_moderate,
)
from hessian_spectra.curvature.network import (
    FixedNetwork,
    first_derivatives,
    flatten,
)
from hessian_spectra.curvature.problem import Problem
from hessian_spectra.curvature.rows import all_finite, gram, norm
from hessian_spectra.curvature.undisturbed import undisturbed
from hessian_spectra.seeding import generator

# A product as differences see it: (network, direction, step) -> vector (p,).
Difference = Callable[[FixedNetwork, Tensor, float], Tensor]
Build = Callable[[], SymmetricOperator]


@dataclass(frozen=True)
class _Tolerances:
    """The deviations that right operators of one type have, with a margin.

    ``repeat``: two passes differ by the order of sums alone. ``symmetry``: rounding of the product.
    ``difference``: the same, and the truncation of the difference quotient. Wrong products that
    were met in practice are off by 2e-3 (a layer norm's weight in a language model) or more.
    """

    repeat: float
    symmetry: float
    difference: float


_TOLERANCES = {
    torch.float64: _Tolerances(repeat=1e-10, symmetry=1e-8, difference=1e-5),
    torch.float32: _Tolerances(repeat=1e-4, symmetry=1e-3, difference=1e-3),
}
# Operations in bfloat16 keep two to three digits each.
_AUTOCAST = _Tolerances(repeat=1e-4, symmetry=5e-2, difference=5e-2)
# Relative to ‖θ‖. Differences are taken in float64, whose rounding allows steps so small that
# hardly any ReLU of any sample switches on the way (one that does makes the quotient useless);
# smaller steps follow for the case that one does, and large ones for a model that rounds to a
# shorter type inside.
_STEPS = (1e-7, 1e-8, 1e-9, 1e-5, 1e-3)
_ENDLESS = "the gradient of the loss is not finite at these parameters"
# Where a model runs in float32 only, differences are a coarse check.
_COARSE_STEPS = (3e-3, 1e-2, 1e-3)
_COARSE_TOLERANCE = 5e-2


def check_repeatable(problem: Problem) -> None:
    """Compare the gradients of two passes over all data.

    Raises:
        OperatorError: they differ; NotFiniteError: they are not finite.
    """
    network = problem.fixed()
    with undisturbed(problem.device):
        gradient, again = problem.gradient(network), problem.gradient(network)
    if not all_finite(gradient):
        raise NotFiniteError(f"{_ENDLESS}; {DIVERGED}")
    change, size = float(again.sub_(gradient).norm()), float(gradient.norm())
    tolerance = _TOLERANCES[problem.dtype].repeat
    if change > tolerance * size:
        # At a minimum the gradient is rounding; what cancels there is as large as the loss over θ.
        size += abs(problem.value(network)) / network.length()
    if change > tolerance * size:
        raise OperatorError(
            f"two passes over the data give gradients that differ by {change / size:.1e} "
            f"(relative): {cause_of_change(problem)}"
        )


def check_hessian(build: Build, problem: Problem) -> None:
    """Compare ``H v`` with ``(g(θ + h v) − g(θ − h v)) / 2h``, ``g`` the gradient of the loss.

    Args:
        build: makes the operator to check, ``(p, p)``, which is let go before the differences.
        problem: the problem whose Hessian it should be, with the parameters it was built at.

    Raises:
        OperatorError: the gradient or a product is not finite, the operator is not symmetric, or it
            disagrees with the differences.
    """
    differences = partial(_gradient_differences, problem)
    _check(build, problem, "Hessian", "differences of the gradient", differences)


def _gradient_differences(
    problem: Problem, network: FixedNetwork, direction: Tensor, step: float
) -> Tensor:
    total = torch.zeros(problem.size, dtype=network.dtype, device=problem.device)
    for sign in (1.0, -1.0):
        with network.moved(direction, sign * step):
            problem.add_gradient(network, total, sign)
    return total.div_(2 * step)


def check_gauss_newton(build: Build, problem: Problem) -> None:
    """Compare ``G v`` with ``Σ_b c_b Jᵀ (∇²_f L_b) d / Σ_b c_b``, ``d ≈ J v`` from differences.

    ``d = (f(θ + h v) − f(θ − h v)) / 2h`` with the outputs ``f``.

    Args:
        build: makes the operator to check, ``(p, p)``, which is let go before the differences.
        problem: the problem whose Gauss-Newton matrix it should be.

    Raises:
        OperatorError: as for :func:`check_hessian`.
    """
    differences = partial(_output_differences, problem)
    _check(build, problem, "Gauss-Newton matrix", "differences of the outputs", differences)


def _output_differences(
    problem: Problem, network: FixedNetwork, direction: Tensor, step: float
) -> Tensor:
    total = torch.zeros(problem.size, dtype=network.dtype, device=problem.device)
    for batch, weight in problem.batches():
        with network.moved(direction, step):
            ahead = _outputs(network, batch)
        with network.moved(direction, -step):
            change = (ahead - _outputs(network, batch)) / (2 * step)
        loss, outputs = network.forward(batch)
        assert outputs is not None
        (residual,) = first_derivatives(loss, [outputs], keep_graph=True)
        (curved,) = first_derivatives((residual * change).sum(), [outputs], keep_graph=True)
        pieces = first_derivatives((outputs * curved.detach()).sum(), network.parameters)
        total.add_(flatten(pieces), alpha=weight)
    return total


def _outputs(network: FixedNetwork, batch: Batch) -> Tensor:
    outputs = network.value(batch)[1]
    assert outputs is not None
    return outputs


@torch.enable_grad()
def _check(
    build: Build,
    problem: Problem,
    name: str,
    reference: str,
    differences: Difference,
) -> None:
    """The checks in the order in which a failure of one would explain those of the next."""
    direction = _direction(problem, 0)
    product, tolerances = _product(build, problem, direction, name)
    network, steps, tolerance = _differences_network(problem, tolerances)
    quotient = partial(differences, network)
    length = network.length()

    @functools.cache
    def slope() -> float:
        # Needed where rounding may be what differs: mostly it is not.
        gradient = problem.gradient()
        if not all_finite(gradient):
            raise NotFiniteError(f"{name}: {_ENDLESS}; {DIVERGED}")
        return float(gradient.norm()) / length

    # Where differences are coarse, symmetry says more; else what agrees with them is symmetric.
    if steps is _STEPS:
        errors, _ = _errors(direction, product, quotient, steps, length, slope, tolerance)
        if errors[-1] <= tolerance:
            return
    other = _direction(problem, 1)
    second, _ = _product(build, problem, other, name)
    asymmetry = _asymmetry([direction, other], [product, second])
    if asymmetry > tolerances.symmetry:
        raise OperatorError(
            f"{name}: not symmetric, u'Hv and v'Hu differ by {asymmetry:.1e} of their typical size "
            f"(tolerance {tolerances.symmetry:.0e}): {cause_of_difference(problem)}"
        )
    # A direction that happens to meet a kink says nothing; the next one decides.
    pairs = [(other, second)] if steps is _STEPS else [(direction, product), (other, second)]
    for vector, image in pairs:
        errors, sizes = _errors(vector, image, quotient, steps, length, slope, tolerance)
        if errors[-1] <= tolerance:
            return
    raise OperatorError(
        f"{name}: a product differs from {reference} by {min(errors):.1e} (relative, tolerance "
        f"{tolerance:.0e}){_kink_note(sizes, steps) or ': ' + cause_of_difference(problem)}"
    )


def _product(
    build: Build, problem: Problem, direction: Tensor, name: str
) -> tuple[Tensor, _Tolerances]:
    """A product with an operator that is let go, and how exact it should be."""
    operator = build()
    product = operator @ direction
    require_moderate(product, name)
    autocast = getattr(operator, "autocast", False)
    return product, _AUTOCAST if autocast else _TOLERANCES[problem.dtype]


def _direction(problem: Problem, number: int) -> Tensor:
    draw = torch.randn(problem.size, generator=generator(number, "self-check"), dtype=problem.dtype)
    return draw.div_(norm(draw)).to(problem.device)


def _asymmetry(directions: list[Tensor], products: list[Tensor]) -> float:
    """|u'Hv − v'Hu| over what the dot product of a unit vector with such a product typically is."""
    (u, v), (Hu, Hv) = directions, products
    difference = abs(float(gram(u[None], Hv[None]) - gram(v[None], Hu[None])))
    typical = (norm(Hu) + norm(Hv)) / len(u) ** 0.5
    return difference / typical if typical else 0.0


def _differences_network(
    problem: Problem, tolerances: _Tolerances
) -> tuple[FixedNetwork, tuple[float, ...], float]:
    """The network in float64 if it runs there, the steps to try, and the tolerance."""
    network = problem.fixed(torch.float64) if problem.device.type != "mps" else None
    try:
        if network is not None:
            problem.value(network)
            return network, _STEPS, tolerances.difference
    except RuntimeError:
        # A type that is written into the model; it ran in its own type before.
        pass
    return problem.fixed(), _COARSE_STEPS, _COARSE_TOLERANCE


def _errors(
    direction: Tensor,
    product: Tensor,
    quotient: Callable[[Tensor, float], Tensor],
    steps: tuple[float, ...],
    length: float,
    slope: Callable[[], float],
    tolerance: float,
) -> tuple[list[float], list[float]]:
    """The relative errors of a product at one step after the other, until one is small enough.

    The second list holds the norms of the difference quotients.
    """
    errors, sizes = [], []
    for step in steps:
        expected = quotient(direction, step * length)
        sizes.append(float(expected.norm()))
        size = max(float(product.norm()), sizes[-1])
        precision = torch.finfo(expected.dtype).eps / step + torch.finfo(product.dtype).eps
        excess = float(expected.sub_(product).norm())
        if not excess <= tolerance * size:
            # Rounding of the gradient, over the step, and of a product that is zero but for it.
            excess = max(excess - 100 * slope() * precision, 0.0)
        errors.append(excess / size if size else 0.0)
        if errors[-1] <= tolerance:
            break
    return errors, sizes


def _kink_note(sizes: list[float], steps: tuple[float, ...]) -> str:
    """At a kink the gradient jumps, so the quotient grows as the step shrinks."""
    by_step = dict(zip(steps, sizes, strict=True))
    if steps is _STEPS and by_step[1e-9] > 30 * by_step[1e-7]:
        return (
            ", which grow as the step shrinks: the gradient jumps at these parameters, so "
            "that there is no Hessian, as at a ReLU of zero: move them (check=False takes torch's "
            "choice of derivative at the kink)"
        )
    return ""
