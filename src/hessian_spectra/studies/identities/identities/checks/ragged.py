"""Reading the arrays of the study of the identities, and the errors that are taken of them.

Every error is relative, so that 0 is perfect and 1 is hopeless, and NaN stays NaN.
"""

from collections.abc import Callable, Iterable

import numpy as np

from hessian_spectra.results import Arrays

Part = np.ndarray


def parts(arrays: Arrays, name: str) -> list[Part]:
    """The numbers ``name`` instance by instance, each flat.

    Example:
        >>> arrays = {"a": np.array([1.0, 2.0, 3.0]), "a.counts": np.array([2, 0, 1])}
        >>> [part.tolist() for part in parts(arrays, "a")]
        [[1.0, 2.0], [], [3.0]]
    """
    ends = np.cumsum(arrays[f"{name}.counts"])
    return np.split(arrays[name], ends[:-1])


def numbers(arrays: Arrays, name: str) -> np.ndarray:
    """The one number that each instance has under this name, ``(instances,)``."""
    if not np.all(arrays[f"{name}.counts"] == 1):
        raise ValueError(f"{name}: expected one number an instance, got arrays")
    return arrays[name]


def each(error: Callable[..., float], *columns: Iterable) -> np.ndarray:
    """An error of each instance, from the parts of several quantities."""
    return np.array([error(*row) for row in zip(*columns, strict=True)])


def square(matrix: Part) -> np.ndarray:
    """A flat part as the square matrix that it was."""
    size = round(len(matrix) ** 0.5)
    return matrix.reshape(size, size)


def columns(vectors: Part, rows: int) -> np.ndarray:
    """A flat part as the matrix with ``rows`` rows that it was."""
    return vectors.reshape(rows, -1)


def relative(found: Part, true: Part) -> float:
    """The largest |found − true| over the largest |true|; absolute where everything true is 0.

    Example:
        >>> relative(np.array([1.0, 2.5]), np.array([1.0, 2.0]))
        0.25
    """
    if len(found) == 0 and len(true) == 0:
        return 0.0
    size = np.abs(true).max()
    return float(np.abs(found - true).max() / (size if size > 0 else 1.0))


def excess(value: float, bound: float, scale: float) -> float:
    """By how much ``value`` exceeds its upper ``bound``, over ``scale``; 0 where it does not."""
    over = value - bound
    return float(over if np.isnan(over) else max(over, 0.0) / (scale if scale > 0 else 1.0))


def residual(matrix: Part, vectors: np.ndarray, values: Part) -> float:
    """The largest ‖H z − λ z‖ / (‖z‖ ‖H‖) over the columns ``z``, at most a few units.

    A column of zeros is no eigenvector: its error is 1.
    """
    of = square(matrix)
    if vectors.shape[1] == 0:
        return 0.0
    size, norms = np.linalg.norm(of, 2), np.linalg.norm(vectors, axis=0)
    unit = vectors / np.where(norms == 0, 1.0, norms)
    errors = np.linalg.norm(of @ unit - unit * values, axis=0) / (size if size > 0 else 1.0)
    return float(np.where(norms == 0, 1.0, errors).max())


def root_error(coefficients: Part, roots: Part) -> float:
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
    size = np.abs(scaled).max()
    value = np.abs(np.polyval(scaled, roots / (radius if radius > 0 else 1.0)))
    return float(value.max() / (size if size > 0 else 1.0))
