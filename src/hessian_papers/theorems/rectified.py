"""Rectified Gaussians in closed form, in print and by quadrature: wu2022dissecting, appendix B.

Of a two-layer ReLU classifier of unbounded width, given the weights, a unit is active with the
probability ``π = Φ(g/√(π−1))``, ``g ~ N(0, 1)``, where inputs are rectified, and 1/2 where they are
Gaussian. So ``E π² = 1/4 + arcsin(1/π)/(2π)``, or 1/4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import basis_error, relative, worst
from hessian_papers.theorems.instances import WithoutNetwork, measured
from hessian_spectra.closed_form.instances import Draw


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
        0.073
    """
    common = (6 * np.pi**2 - 10 * np.pi - 3) * (np.pi - 1)
    leading = inputs**2 / (4 * np.pi**2)
    return {
        "exact_fourth": common * (np.pi - 1) / (16 * np.pi**4),
        "printed_fourth": common / (8 * np.pi**3),
        "exact_norm": leading + inputs * (np.pi**2 - 1) / (4 * np.pi**2),
        "printed_norm": leading + inputs * (np.pi - 1) / (2 * np.pi),
    }


def mean(power: int, deviation: float = 1.0, centre: float = 0.0) -> float:
    """``E (relu(s ξ) − centre)^power`` of a standard Gaussian ξ, as an integral.

    Example:
        >>> round(mean(2), 12)
        0.5
    """
    density = scipy.stats.norm.pdf
    integral = scipy.integrate.quad(
        lambda x: (deviation * x - centre) ** power * density(x), 0, 12, epsabs=1e-14
    )
    return float(integral[0]) + (-centre) ** power / 2


def by_quadrature(inputs: np.ndarray) -> dict[str, np.ndarray]:
    """The same moment and norm as integrals.

    Example:
        >>> norm = by_quadrature(np.array([7.0]))["norm"]
        >>> bool(np.isclose(norm, stated(np.array([7.0]))["exact_norm"], rtol=1e-12))
        True
    """
    deviation = np.sqrt((np.pi - 1) / (2 * np.pi))
    fourth = mean(4, deviation, mean(1, deviation))
    first, second = mean(1), mean(2)
    norm = inputs * second**2 + inputs * (inputs - 1) * first**4
    return {"fourth": np.array(fourth), "norm": norm}


@dataclass(eq=False, kw_only=True)
class RectifiedInputs(WithoutNetwork):
    """As many inputs as ``x`` has entries, each the rectification of a standard Gaussian number."""

    stream = "rectified inputs"
    source = "integrals over the density, by quadrature"

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """One to fifty inputs."""
        counts = [1, 2, *(draw.integer(3, 50) for _ in range(draw.instances - 2))]
        nothing = torch.zeros(0, dtype=torch.float64)
        return {
            f"{place}: {count} inputs": cls(x=draw.normal(count), y=nothing)
            for place, count in enumerate(counts)
        }

    @measured
    def moments(self) -> Tensor:
        """The mean and the second moment of an input."""
        return torch.tensor([mean(1), mean(2)], dtype=torch.float64)

    @measured
    def mass_at_zero(self) -> Tensor:
        """The probability that a Gaussian number of :attr:`law` is not above 0."""
        mean, deviation = self.law
        below = scipy.stats.norm(mean, deviation).pdf
        value, _ = scipy.integrate.quad(below, mean - 12 * deviation, 0, epsabs=1e-14)
        return torch.tensor(value, dtype=torch.float64)

    @property
    def law(self) -> tuple[float, float]:
        """A mean between -1 and 1 and a deviation from 1 to 2."""
        first = float(self.x[0])
        return float(np.tanh(first)), 1 + float(np.tanh(abs(first)))


@theorem("dissecting eq. (36)", dissecting="eq. (36), (37)")
def density_of_a_rectified_gaussian(net: RectifiedInputs, printed: bool = False) -> Error:
    r"""The density of $\max(ξ, 0)$, $ξ ∼ N(μ, σ^2)$, has the mass $Φ(-μ/σ)$ at 0, and beyond it
    $\exp(-(x - μ)^2/(2σ^2))/(\sqrt{2π} σ)$.

    In print: the mass $Φ(μ/σ)$, and $\sqrt{2π} σ^2$ for $\sqrt{2π} σ$
    """
    mean, deviation = net.law
    mass = scipy.stats.norm.cdf((mean if printed else -mean) / deviation)
    beyond = scipy.stats.norm.cdf(mean / deviation) / (deviation if printed else 1.0)
    actual = net.mass_at_zero
    return worst(relative(mass, actual), relative(beyond, 1 - actual))


@theorem(dissecting="eq. (172), (183), Lemmas B.20 and B.24")
def autocorrelation_of_rectified_inputs(net: RectifiedInputs) -> Error:
    r"""$E[xx^⊤] = 11^⊤/(2π) + (π - 1) I/(2π)$ of d rectified standard Gaussian inputs. Its
    eigenvalues are $(d + π - 1)/(2π)$, of $1/\sqrt{d}$, and $(π - 1)/(2π)$, and the sum of its
    entries is $(d^2 + (π - 1) d)/(2π)$.
    """
    d, (mean, second) = len(net.x), net.moments
    ones, eye = torch.ones(d, d, dtype=torch.float64), torch.eye(d, dtype=torch.float64)
    actual = mean**2 * ones + (second - mean**2) * eye
    stated = (ones + (np.pi - 1) * eye) / (2 * np.pi)
    basis = torch.linalg.qr(torch.cat([ones[:, :1], eye[:, 1:]], dim=1)).Q
    values = torch.full((d,), (np.pi - 1) / (2 * np.pi), dtype=torch.float64)
    values[0] += d / (2 * np.pi)
    total = (d**2 + (np.pi - 1) * d) / (2 * np.pi)
    return worst(
        relative(stated, actual),
        basis_error(actual, basis, values),
        relative(total, actual.sum()),
    )
