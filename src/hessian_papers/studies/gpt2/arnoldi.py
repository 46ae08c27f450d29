"""An extreme eigenvalue of a matrix that is not quite symmetric, by Arnoldi's method.

Lanczos' method takes symmetry for granted: with products that lack it, its short recurrence loses
the orthogonality of its vectors at once, and its values run away from the spectrum.
"""

import numpy as np
import torch
from torch import Tensor

from hessian_spectra import curvature as cv


def extreme_eigenvalue(
    operator: cv.SymmetricOperator,
    start: Tensor,
    *,
    largest: bool,
    tol: float,
    scale: float,
    products: int,
) -> tuple[float, float]:
    """The eigenvalue with the largest or the smallest real part, as a Krylov space shows it.

    Args:
        operator: a matrix ``(p, p)`` by its products.
        start: ``(p,)`` the first vector, such as the eigenvector of a matrix nearby.
        largest: whether the largest is searched for.
        tol: the relative residual ``‖A z − λ z‖ / scale`` at which it stops.
        scale: the magnitude of the largest eigenvalue, about.
        products: the most that are made.

    Returns:
        The real part, and the relative residual.

    Example:
        >>> matrix = torch.tensor([[1.0, 0.5], [0.0, 3.0]], dtype=torch.float64)
        >>> start = torch.tensor([1.0, 1.0], dtype=torch.float64)
        >>> value, _ = extreme_eigenvalue(
        ...     matrix, start, largest=True, tol=1e-9, scale=3.0, products=2)
        >>> round(value, 9)
        3.0
    """
    basis = (start / start.norm())[None]
    projection = np.zeros((products + 1, products))
    for step in range(products):
        image = operator @ basis[step]
        # Twice is enough to orthogonalise in floating point.
        for _ in range(2):
            overlaps = basis @ image
            projection[: step + 1, step] += overlaps.double().cpu().numpy()
            image = image - overlaps @ basis
        length = float(image.norm())
        projection[step + 1, step] = length
        values, vectors = np.linalg.eig(projection[: step + 1, : step + 1])
        at = int(np.argmax(values.real if largest else -values.real))
        residual = length * float(np.abs(vectors[-1, at])) / scale
        if residual <= tol or step + 1 == products:
            break
        basis = torch.cat([basis, (image / length)[None]])
    return float(values[at].real), residual
