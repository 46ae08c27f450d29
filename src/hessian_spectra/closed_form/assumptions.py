"""The checks of a theorem's assumptions, and the error of inputs that break one."""

from collections.abc import Iterable
from dataclasses import dataclass

# A violation up to this comes from rounding. A formula that ignores it is off by no more, relative
# to the largest eigenvalue, than the rounding of the Hessian's own entries in a large network.
ROUNDING = 1e-13


class AssumptionError(ValueError):
    """The inputs break an assumption of the theorem.

    Args:
        assumption: the assumption as a formula, for example ``E[x] = 0``.
        violation: how far it is violated, on the scale of ``tolerance``.
        tolerance: the largest violation that is let through.
        source: theorem, paper and equation.
        advice: what the caller can do.

    Example:
        >>> error = AssumptionError("E[x] = 0", 0.5, 1e-8, "Theorem 0 (paper, eq. 1)", "centre x")
        >>> print(error)
        Theorem 0 (paper, eq. 1) assumes E[x] = 0; violated by 0.5 (tolerance 1e-08): centre x
        >>> error.violation
        0.5
    """

    def __init__(
        self, assumption: str, violation: float, tolerance: float, source: str, advice: str
    ) -> None:
        super().__init__(assumption, violation, tolerance, source, advice)
        self.assumption = assumption
        self.violation = violation
        self.tolerance = tolerance
        self.source = source
        self.advice = advice

    def __str__(self) -> str:
        """The message; the arguments stay apart from it, so that the error can be pickled."""
        return (
            f"{self.source} assumes {self.assumption}; violated by {self.violation:.6g} "
            f"(tolerance {self.tolerance:g}): {self.advice}"
        )


def tolerance_of(is_double: bool) -> float:
    """The violation of an assumption that inputs may have from rounding alone, with some room.

    ``1e-8`` where all inputs are float64, ``1e-4`` where some came in float32.
    """
    return 1e-8 if is_double else 1e-4


@dataclass(frozen=True)
class Assumption:
    """One assumption of a theorem, measured on some inputs.

    Args:
        formula: what is assumed, for example ``E[x] = 0``.
        violation: how far the inputs are from it, on the scale of ``tolerance``.
        tolerance: the largest violation that is let through.
        advice: what the caller can do.

    Example:
        >>> Assumption("E[x] = 0", 0.5, 1e-8, "centre x").holds
        False
    """

    formula: str
    violation: float
    tolerance: float
    advice: str

    @property
    def holds(self) -> bool:
        """Whether the violation is within the tolerance; one that is not a number never is."""
        return self.violation <= self.tolerance


def require(assumptions: Iterable[Assumption], source: str) -> None:
    """Refuse inputs that break an assumption of a closed form, which ``check=False`` would pass.

    Raises:
        AssumptionError: the first one that does not hold.
    """
    for assumption in assumptions:
        if not assumption.holds:
            advice = f"{assumption.advice}, or pass check=False"
            raise AssumptionError(
                assumption.formula, assumption.violation, assumption.tolerance, source, advice
            )
