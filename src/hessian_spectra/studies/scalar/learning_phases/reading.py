"""The outlier pairs of random networks and their phases, as figure and claims read them."""

from typing import NamedTuple

import numpy as np

from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.results import KINDS
from hessian_spectra.studies.scalar.spectra import SpectraReading

# The numerical eigenvalues carry an error of about 1e-15 of the largest one.
RESOLVED = 1e-12


class Phases(NamedTuple):
    """Which networks are in the early or the divergent phase, and which in the late one."""

    outside: np.ndarray
    late: np.ndarray


class Reading(SpectraReading):
    """The spectra ``(k, 2m)`` of k networks f(x) = ⟨w, v⟩ x, each with a solution θ* of its own."""

    def networks(self, *signs: int) -> "Reading":
        """The networks whose solution θ* has one of some signs: 1, −1 or 0.

        Raises:
            NothingToMeasure: there is none.
        """
        chosen = np.isin(np.sign(self["solution"]), signs)
        if not chosen.any():
            words = " or ".join(map(str, signs))
            raise NothingToMeasure(f"this configuration has no network whose θ* has sign {words}")

        def rows(name: str, array: np.ndarray) -> np.ndarray:
            # Kinds and cells may stand once for all networks.
            alone = array.ndim == (1 if name in KINDS else 0)
            return array if alone else array[chosen]

        return Reading(
            {
                side: {name: rows(name, array) for name, array in arrays.items()}
                for side, arrays in self.sides.items()
            }
        )

    @property
    def count(self) -> int:
        """How many networks there are, ``k``."""
        return len(self["solution"])

    @property
    def sign(self) -> np.ndarray:
        """The sign of θ*, ``(k,)``."""
        return np.asarray(np.sign(self["solution"]))

    @property
    def ratio(self) -> np.ndarray:
        """The ratio t = ⟨w, v⟩ / θ* of networks with a signal, ``(k,)``."""
        return np.asarray(self["alignment"] / self["solution"])

    @property
    def small(self) -> np.ndarray:
        """The small outlier λ₂ of the numerical spectra, ``(k,)``."""
        return np.asarray(self.select_numeric("outlier")[:, 0])

    @property
    def large(self) -> np.ndarray:
        """The large outlier λ₁ of the numerical spectra, ``(k,)``."""
        return np.asarray(self.select_numeric("outlier")[:, 1])

    @property
    def phases(self) -> Phases:
        """The phases by t = ⟨w, v⟩ / θ*."""
        late = self["phase"] == "late"
        return Phases(~late, late)

    @property
    def printed_phases(self) -> Phases:
        """The phases by ⟨w, v⟩ itself, as in print; a network may be in both, or in none."""
        alignment, solution = self["alignment"], self["solution"]
        return Phases(
            (alignment <= solution / 3) | (alignment >= solution),
            (alignment >= solution / 3) & (alignment <= solution),
        )

    def contradict(self, phases: Phases) -> np.ndarray:
        """Whether a network's pair contradicts a phase that it is in, ``(k,)``.

        λ₁ ≤ tr and λ₂ ≥ 0 in the late phase, the opposite of both in the others.
        """
        margin = RESOLVED * self.large
        excess = self.large - self["trace"]
        outside = phases.outside & ((self.small > margin) | (excess < -margin))
        late = phases.late & ((self.small < -margin) | (excess > margin))
        return np.asarray(outside | late)
