"""What is compared of one instance of a theorem, and the errors that are taken of it.

Every error is relative, so that 0 is perfect and 1 is hopeless, and NaN stays NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# The project's rule for float64; observed errors are some thousand times smaller.
EXACT = 1e-10
# At a double root, round-off of 1e-16 under a root or an arccos moves the result by 1e-8.
ROOT = 1e-7

REASONS = {
    EXACT: "relative, float64; round-off is near 1e-14, a wrong formula errs by 1e-3 or more",
    ROOT: "relative; a square root or an arccos at a double root loses half of the 16 digits",
}


def square(flat: np.ndarray) -> np.ndarray:
    """Flat numbers as the square matrix that they were."""
    size = round(len(flat) ** 0.5)
    return flat.reshape(size, size)


@dataclass(frozen=True)
class Compared:
    """One instance of a theorem: what closed forms state about it and what brute force measures.

    Args:
        stated: gives the closed forms' numbers of a name, flat.
        measured: gives brute force's.
    """

    stated: Callable[[str], np.ndarray]
    measured: Callable[[str], np.ndarray]

    def number(self, name: str) -> np.float64:
        """A single number that is stated, 0 or 1 for what is false or true."""
        found = self.stated(name)
        if len(found) != 1:
            raise ValueError(f"{name}: expected one number an instance, got {len(found)}")
        return np.float64(found[0])

    def matrix(self, name: str = "hessian") -> np.ndarray:
        """A square matrix that is measured."""
        return square(self.measured(name))

    def columns(self, name: str) -> np.ndarray:
        """Vectors ``(p, k)`` in the space of the parameters that are stated."""
        return self.stated(name).reshape(len(self.matrix()), -1)

    @property
    def eigenvalues(self) -> np.ndarray:
        """The Hessian's, as measured, ascending."""
        return self.measured("eigenvalues")

    @property
    def size(self) -> float:
        """The largest |λ| of the Hessian, as measured."""
        return float(np.abs(self.eigenvalues).max())

    @property
    def scale(self) -> float:
        """The same, but 1 for a Hessian of 0."""
        return self.size or 1.0


Error = Callable[[Compared], float]
Where = Callable[[Compared], bool | np.bool_]
Numbers = str | Callable[[Compared], np.ndarray]


def everywhere(one: Compared) -> bool:
    """For statements about all instances."""
    return True


@dataclass(frozen=True)
class Check:
    """A statement that both sides of the study can be held against.

    Args:
        error: the relative error of an instance.
        printed: for an erratum, its error if one believes the print.
        tolerance: the largest error that still is agreement.
        where: which instances the statement is about.
        printed_where: which ones the print is about, if those are others.
    """

    error: Error
    printed: Error | None = None
    tolerance: float = EXACT
    where: Where = everywhere
    printed_where: Where | None = None


def worst(*errors: float | np.floating) -> float:
    """The largest error; NaN if one of them is."""
    return float(np.max(np.array(errors)))


def relative(found: np.ndarray, true: np.ndarray) -> float:
    """The largest |found − true| over the largest |true|; absolute where everything true is 0.

    Example:
        >>> relative(np.array([1.0, 2.5]), np.array([1.0, 2.0]))
        0.25
    """
    if len(found) == 0 and len(true) == 0:
        return 0.0
    return float(np.abs(found - true).max() / (np.abs(true).max() or 1.0))


def excess(value: float, bound: float, scale: float) -> float:
    """By how much ``value`` exceeds its upper ``bound``, over ``scale``; 0 where it does not."""
    over = value - bound
    return float(over if np.isnan(over) else max(over, 0.0) / (scale if scale > 0 else 1.0))


def residual(matrix: np.ndarray, vectors: np.ndarray, values: np.ndarray) -> float:
    """The largest ‖H z − λ z‖ / (‖z‖ ‖H‖) over the columns ``z``, at most a few units.

    A column of zeros is no eigenvector: its error is 1.
    """
    if vectors.shape[1] == 0:
        return 0.0
    norms = np.linalg.norm(vectors, axis=0)
    unit = vectors / np.where(norms == 0, 1.0, norms)
    away = np.linalg.norm(matrix @ unit - unit * values, axis=0)
    errors = away / (np.linalg.norm(matrix, 2) or 1.0)
    return float(np.where(norms == 0, 1.0, errors).max())


def root_error(coefficients: np.ndarray, roots: np.ndarray) -> float:
    """How far a polynomial is from vanishing at its roots, the largest |P(λ)| / max_k |c_k R^k|.

    R is the largest |λ|: the argument is brought to the unit interval, and what remains is the
    change of coefficients, relative to the largest of them, that would make λ a root.

    Example:
        >>> root_error(np.array([1.0, 0.0, -4.0]), np.array([-2.0, 2.0]))  # λ² − 4
        0.0
        >>> root_error(np.array([1.0, 0.0, -3.0]), np.array([-2.0, 2.0]))
        0.25
    """
    if len(coefficients) == 0 or len(roots) == 0:
        return 0.0
    radius = np.abs(roots).max()
    scaled = coefficients * radius ** np.arange(len(coefficients) - 1, -1, -1.0)
    value = np.abs(np.polyval(scaled, roots / (radius or 1.0)))
    return float(value.max() / (np.abs(scaled).max() or 1.0))


def _measured(one: Compared, of: Numbers) -> np.ndarray:
    return one.measured(of) if isinstance(of, str) else of(one)


def same(theirs: str, of: Numbers | None = None) -> Error:
    """The error of what is stated as ``theirs`` from what is measured, under the same name.

    Args:
        theirs: its name.
        of: what is measured, if not of the same name.
    """
    return lambda one: relative(one.stated(theirs), _measured(one, of or theirs))


def ratio(theirs: str, of: Callable[[Compared], float]) -> Error:
    """|stated / measured − 1| of a single number."""
    return lambda one: float(np.abs(one.number(theirs) / of(one) - 1))


def gap(theirs: str, of: Callable[[Compared], float], over: Callable[[Compared], float]) -> Error:
    """|stated − measured| of a single number, over a scale."""
    return lambda one: float(np.abs(of(one) - one.number(theirs)) / over(one))


def vanishes(polynomial: str, roots: Numbers) -> Error:
    """How far the stated coefficients are from vanishing at what is measured."""
    return lambda one: root_error(one.stated(polynomial), _measured(one, roots))


def basis(matrix: str = "hessian") -> Error:
    """Residuals of the stated eigenvectors, and their distance from orthonormality.

    Args:
        matrix: the measured one whose eigenvectors they are.
    """

    def error(one: Compared) -> float:
        z = square(one.stated("eigenvectors"))
        gram = np.abs(z.T @ z - np.eye(len(z))).max()
        return worst(residual(one.matrix(matrix), z, one.stated("eigenvalues")), gram)

    return error


def vectors(columns: str, values: str, matrix: str = "hessian") -> Error:
    """Residuals of the stated vectors ``columns`` with the eigenvalues ``values``."""

    def error(one: Compared) -> float:
        of, z = one.matrix(matrix), one.columns(columns)
        # A vector that vanishes up to round-off has no direction; errata look at it on their own.
        kept = ~(np.linalg.norm(z, axis=0) <= 1e-9 * np.linalg.norm(of))
        return residual(of, z[:, kept], one.stated(values)[kept])

    return error


def top(name: str) -> Callable[[Compared], np.ndarray]:
    """The largest of the measured eigenvalues ``name``, as an array of one number."""
    return lambda one: one.measured(name)[-1:]


def holds(name: str) -> Where:
    """Instances of which what is stated under this name is true, or a number that is not 0."""
    return lambda one: bool(one.number(name))


def has_bulk(one: Compared) -> bool:
    """Instances whose width leaves room for a bulk."""
    return bool(one.number("width") > 1)


def has(name: str) -> Where:
    """Instances of which something is stated under this name."""
    return lambda one: len(one.stated(name)) > 0
