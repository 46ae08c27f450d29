"""Equation (15) and the eigenvalues of two-layer networks, as figure and claims read them."""

from typing import Literal

import numpy as np

from hessian_papers.studies.images.reading import ThroughTraining, TrainedNetwork, quotient
from hessian_papers.studies.stored import Stored
from hessian_spectra.agreement import spectrum_error

# Relative to the largest eigenvalue: an eigenvalue below is zero but for rounding.
ZERO = 1e-12

# Equation (15) with its indices as printed and corrected; the matrices that it is compared with.
Indices = Literal["printed", "corrected"]
Matrix = Literal["hessian", "ggn"]


class Network(TrainedNetwork):
    """The ``k`` top eigenvalues of one network at its ``t`` recorded epochs, ascending."""

    width = Stored("width", int)  # its number of hidden units

    @property
    def sharpness(self) -> np.ndarray:
        """The Hessian's largest eigenvalue, ``(t,)``."""
        return np.asarray(self["hessian"].max(axis=1))

    @property
    def largest(self) -> np.ndarray:
        """The Gauss-Newton matrix's largest eigenvalue, ``(t,)``."""
        return np.asarray(self["ggn"].max(axis=1))

    @property
    def input_scale(self) -> float:
        """σ_x, from equation (15) at the start, whose largest sum is σ_x²(‖W_1‖₂² + ‖W_2‖₂²)."""
        return float(np.sqrt(self["corrected"][0].max() / (self["spectral_norms"][0] ** 2).sum()))

    def of_norms(self, combined: np.ufunc) -> np.ndarray:
        """The sum of σ_x²‖W_1‖₂² and σ_x²‖W_2‖₂² with ``np.add``, or the larger, ``(t,)``."""
        squares = combined.reduce(self["spectral_norms"] ** 2, axis=1)
        return np.asarray(self.input_scale**2 * squares)

    @property
    def residual_bound(self) -> np.ndarray:
        """What no eigenvalue of the Hessian is further from equation (15) than, ``(t,)``.

        By Weyl's inequality no eigenvalue of the Hessian is further from one of its Gauss-Newton
        part than the norm of what it has beside it, ‖(f(X) − Y)Xᵀ/n‖₂ ≤ σ_x √(2 (loss − least
        loss)).
        """
        return np.asarray(self.input_scale * np.sqrt(2 * self.excess_loss))

    def errors(self, indices: Indices, matrix: Matrix) -> np.ndarray:
        """|eq. (15) − λ_k| / λ_k of each of the top eigenvalues, ``(t, k)``; NaN where λ_k is 0."""
        sizes = np.abs(self[matrix])
        zero = sizes <= ZERO * sizes.max(axis=1, keepdims=True)
        return np.asarray(np.abs(quotient(self[indices], np.where(zero, 0, self[matrix])) - 1))

    @property
    def error(self) -> np.ndarray:
        """The mean of the corrected sums' errors over the eigenvalues that are not 0, ``(t,)``."""
        return np.asarray(np.nanmean(self.errors("corrected", "hessian"), axis=1))

    def gauss_newton_error(self, indices: Indices) -> float:
        """The largest error against the Gauss-Newton matrix, over its largest eigenvalue."""
        return float(spectrum_error(self[indices], self["ggn"]).max())

    def count(self, indices: Indices) -> np.ndarray:
        """How many eigenvalues are positive by equation (15), ``(t,)``."""
        return self[f"{indices}_count"]


class Reading(ThroughTraining[Network]):
    """The top eigenvalues of all networks."""

    network = Network

    @property
    def top(self) -> int:
        """How many eigenvalues are compared."""
        return int(self.networks[0]["corrected"].shape[1])

    @property
    def widths(self) -> list[int]:
        """The networks' widths, in their order."""
        return list(dict.fromkeys(network.width for network in self.networks))

    @property
    def widest(self) -> list[Network]:
        """The networks of the largest width, which is the paper's."""
        return [network for network in self.networks if network.width == max(self.widths)]
