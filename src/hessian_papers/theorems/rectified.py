"""Rectified Gaussians in closed form, in print and by quadrature: wu2022dissecting, appendix B.

Of a two-layer ReLU classifier of unbounded width, given the weights, a unit is active with the
probability ``π = Φ(g/√(π−1))``, ``g ~ N(0, 1)``, where inputs are rectified, and 1/2 where they are
Gaussian. So ``E π² = 1/4 + arcsin(1/π)/(2π)``, or 1/4.
"""

from collections.abc import Sequence

import numpy as np
import scipy


def limits(laws: Sequence[str]) -> dict[str, np.ndarray]:
    """What a widening network tends to under each law, ``rectified`` or ``gaussian``.

    Of the rows' space and the output Hessian's top space the overlap tends to ``(E π)²/E π²``, and
    the projected norm over the norm to its square.

    Example:
        >>> [round(float(of[0]), 3) for of in limits(["rectified"]).values()]
        [0.829, 0.687]
    """
    squares = {"rectified": 0.25 + np.arcsin(1 / np.pi) / (2 * np.pi), "gaussian": 0.25}
    square = np.array([squares[law] for law in laws])
    return {"space_limit": 0.25 / square, "projected_limit": (0.25 / square) ** 2}


def stated(inputs: np.ndarray) -> dict[str, np.ndarray | float]:
    """The fourth central moment of eq. (90) and the squared norm of eq. (186), and both as printed.

    Args:
        inputs: numbers d of inputs.

    Example:
        >>> round(stated(np.array([1.0]))["exact_fourth"], 4)
        0.0729
    """
    common = (6 * np.pi**2 - 10 * np.pi - 3) * (np.pi - 1)
    leading = inputs**2 / (4 * np.pi**2)
    return {
        "exact_fourth": common * (np.pi - 1) / (16 * np.pi**4),
        "printed_fourth": common / (8 * np.pi**3),
        "exact_norm": leading + inputs * (np.pi**2 - 1) / (4 * np.pi**2),
        "printed_norm": leading + inputs * (np.pi - 1) / (2 * np.pi),
    }


def by_quadrature(inputs: np.ndarray) -> dict[str, np.ndarray]:
    """The same moment and norm as integrals.

    Example:
        >>> norm = by_quadrature(np.array([7.0]))["norm"]
        >>> bool(np.isclose(norm, stated(np.array([7.0]))["exact_norm"], rtol=1e-12))
        True
    """

    def mean(power: int, deviation: float, centre: float = 0.0) -> float:
        """``E (relu(s ξ) − centre)^power``."""
        density = scipy.stats.norm.pdf
        integral = scipy.integrate.quad(
            lambda x: (deviation * x - centre) ** power * density(x), 0, 12, epsabs=1e-13
        )
        return float(integral[0]) + (-centre) ** power / 2

    deviation = np.sqrt((np.pi - 1) / (2 * np.pi))
    fourth = mean(4, deviation, mean(1, deviation))
    first, second = mean(1, 1.0), mean(2, 1.0)
    norm = inputs * second**2 + inputs * (inputs - 1) * first**4
    return {"fourth": np.array(fourth), "norm": norm}
