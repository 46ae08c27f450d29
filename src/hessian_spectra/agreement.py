"""The distance of a closed form from a numerical spectrum, for figures and claims alike."""

import numpy as np

# Up to this share of the largest eigenvalue a closed form and a float64 spectrum are the same.
EXACT = 1e-10


def spectrum_error(exact: np.ndarray, numeric: np.ndarray) -> np.ndarray:
    """The largest difference of two ascending spectra, relative to the largest eigenvalue.

    max_k |λ_k − λ_k^numeric| / max_k |λ_k^numeric|, and the bare difference where all numerical
    eigenvalues are zero.

    Args:
        exact: ``(..., p)`` eigenvalues, ascending.
        numeric: ``(..., p)`` eigenvalues, ascending.

    Returns:
        ``(...)`` one error per spectrum.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> spectrum_error(np.array([-1.0, 4.0]), np.array([-1.0, 5.0])).item()
        0.2
    """
    if exact.shape != numeric.shape:
        raise ValueError(
            f"expected two arrays of spectra of one shape, got {exact.shape} and {numeric.shape}"
        )
    largest = np.abs(numeric).max(axis=-1)
    errors = np.abs(exact - numeric).max(axis=-1) / np.where(largest > 0, largest, 1.0)
    return np.asarray(errors)


def distinct_error(exact: np.ndarray, numeric: np.ndarray) -> float:
    """The distance of two sets of eigenvalues in which each value is listed but once.

    The largest distance from a value of one set to the nearest of the other (Hausdorff's distance),
    relative to the largest eigenvalue; the bare distance where all numerical ones are zero.

    Args:
        exact: ``(g,)`` eigenvalues, in any order; some may be equal.
        numeric: ``(h,)`` eigenvalues, in any order.

    Raises:
        ValueError: one of the sets is empty.

    Example:
        >>> distinct_error(np.array([-1.0, 4.0, 4.0]), np.array([5.0, -1.0]))
        0.2
    """
    if exact.size == 0 or numeric.size == 0:
        raise ValueError(
            f"expected two sets of eigenvalues, got {exact.size} and {numeric.size} values"
        )
    distances = np.abs(exact[:, None] - numeric[None, :])
    largest = np.abs(numeric).max()
    furthest = max(distances.min(axis=0).max(), distances.min(axis=1).max())
    return float(furthest / (largest if largest > 0 else 1.0))
