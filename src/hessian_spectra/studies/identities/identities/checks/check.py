"""One comparison of a closed form with brute force, for the ledger and for the figure."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks import ragged

# From a study's closed-form and numerics arrays the error of each instance.
Errors = Callable[[Arrays, Arrays], np.ndarray]

# Brute force's eigenvalues at which something is evaluated, instance by instance.
Roots = Callable[[Arrays, Arrays], list[np.ndarray]]

# The project's rule for float64; observed errors are some thousand times smaller.
EXACT = 1e-10
# At a double root, round-off of 1e-16 under a root or an arccos moves the result by 1e-8.
ROOT = 1e-7


@dataclass(frozen=True)
class Check:
    """A statement that both sides of the study can be held against.

    Args:
        label: what the figure calls it.
        errors: the relative error of each instance.
        printed: for an erratum, the error of each instance if one believes the print.
        tolerance: the largest error that still is agreement.
    """

    label: str
    errors: Errors
    printed: Errors | None = None
    tolerance: float = EXACT

    @property
    def reason(self) -> str:
        """Why this tolerance."""
        if self.tolerance == ROOT:
            return (
                "relative; a square root or an arccos at a double root loses half of the 16 digits"
            )
        return "relative, float64; round-off is near 1e-14, a wrong formula errs by 1e-3 or more"


def same(theirs: str, name: str, of: str | None = None) -> Errors:
    """The error of the closed form's ``theirs`` from brute force's ``of``, for one theorem.

    Without ``of`` both have one name.
    """

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = ragged.parts(exact, f"{name}.{theirs}")
        return ragged.each(ragged.relative, found, ragged.parts(numeric, f"{name}.{of or theirs}"))

    return errors


def among(errors: Errors, chosen: Callable[[Arrays, Arrays], np.ndarray]) -> Errors:
    """The errors of the instances that ``chosen`` picks by a mask ``(instances,)``.

    There has to be one: a statement about no instance would hold without being looked at.
    """

    def some(exact: Arrays, numeric: Arrays) -> np.ndarray:
        mask = chosen(exact, numeric)
        if not mask.any():
            return np.array([np.nan])
        return errors(exact, numeric)[mask]

    return some


def basis(name: str, matrix: str = "hessian") -> Errors:
    """Residuals of the closed form's eigenvectors, and their distance from orthonormality.

    ``matrix`` is what brute force calls the one whose eigenvectors they are.
    """

    def one(of: np.ndarray, vectors: np.ndarray, values: np.ndarray) -> float:
        z = ragged.square(vectors)
        gram = np.abs(z.T @ z - np.eye(len(z))).max()
        return max(ragged.residual(of, z, values), float(gram))

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        return ragged.each(
            one,
            ragged.parts(numeric, f"{name}.{matrix}"),
            ragged.parts(exact, f"{name}.eigenvectors"),
            ragged.parts(exact, f"{name}.eigenvalues"),
        )

    return errors


def vectors(name: str, columns: str, values: str, matrix: str = "hessian") -> Errors:
    """Residuals of the vectors ``columns`` with the eigenvalues ``values``, as in :func:`basis`."""

    def one(of: np.ndarray, flat: np.ndarray, belonging: np.ndarray) -> float:
        z = ragged.columns(flat, len(ragged.square(of)))
        # A vector that vanishes up to round-off has no direction; errata look at it on their own.
        kept = ~(np.linalg.norm(z, axis=0) <= 1e-9 * np.linalg.norm(of))
        return ragged.residual(of, z[:, kept], belonging[kept])

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        return ragged.each(
            one,
            ragged.parts(numeric, f"{name}.{matrix}"),
            ragged.parts(exact, f"{name}.{columns}"),
            ragged.parts(exact, f"{name}.{values}"),
        )

    return errors


def vanishes(name: str, polynomial: str, roots: Roots) -> Errors:
    """How far the closed form's ``polynomial`` is from vanishing at brute force's ``roots``."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = ragged.parts(exact, f"{name}.{polynomial}")
        return ragged.each(ragged.root_error, found, roots(exact, numeric))

    return errors


def largest(name: str) -> Callable[[Arrays], np.ndarray]:
    """The largest |λ| of each instance's Hessian, from brute force."""

    def sizes(numeric: Arrays) -> np.ndarray:
        return np.array(
            [np.abs(part).max() for part in ragged.parts(numeric, f"{name}.eigenvalues")]
        )

    return sizes
