"""The quantities that a posterior's training minimises, each a bound of its error and ``B_RE``."""

import math
from collections.abc import Callable
from typing import NamedTuple

from hessian_spectra import closed_form as cf


class Objective(NamedTuple):
    """The quantity to minimise, with its derivatives by the error e and by ``B_RE``."""

    value: float
    by_error: float
    by_complexity: float


def _paper(error: float, complexity: float) -> Objective:
    """``e + (B/2)^½``, after Pinsker."""
    root = math.sqrt(complexity / 2)
    return Objective(error + root, 1.0, 1 / (4 * root))


def _quadratic(error: float, complexity: float) -> Objective:
    """``((e + B/2)^½ + (B/2)^½)²``."""
    first, second = math.sqrt(error + complexity / 2), math.sqrt(complexity / 2)
    both = first + second
    return Objective(both**2, both / first, both * (1 / first + 1 / second) / 2)


def _lambda(error: float, complexity: float) -> Objective:
    """``e / (1 − l/2) + B / (l (1 − l/2))`` at its smallest, over l in (0, 2)."""
    weight = 2 / (math.sqrt(2 * error / complexity + 1) + 1)
    by_error, by_complexity = 1 / (1 - weight / 2), 1 / (weight * (1 - weight / 2))
    return Objective(error * by_error + complexity * by_complexity, by_error, by_complexity)


def _inverse(error: float, complexity: float) -> Objective:
    """The bound itself, ``kl⁻¹(e, B)``, with the derivatives that ``kl(e, p) = B`` implies.

    Here e is the rate of errors of the networks that are drawn, and the cross-entropy stands for it
    in proportion. Where it is 0 or 1, or the bound 1, the quadratic objective takes its place.
    """
    bound = float(cf.kl_inverse(error, complexity)) if 1e-6 < error < 1 else 1.0
    if bound > 1 - 1e-9:
        return _quadratic(error, complexity)
    inner = bound * (1 - bound) / (bound - error)
    slope = math.log(bound * (1 - error) / (error * (1 - bound)))
    return Objective(bound, slope * inner, inner)


OBJECTIVES: dict[str, Callable[[float, float], Objective]] = {
    "inverse": _inverse,
    "quadratic": _quadratic,
    "lambda": _lambda,
    "paper": _paper,
}
