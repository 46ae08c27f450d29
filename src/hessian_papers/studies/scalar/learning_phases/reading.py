"""The outlier pairs of random networks and their phases, as figure and claims read them."""

from typing import NamedTuple

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, mean_of, share_of
from hessian_papers.results import KINDS
from hessian_papers.studies.scalar.spectra import SpectraReading

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
            return array if alone or name.startswith("heads/") else array[chosen]

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

    def heads_in_order(self, place: int) -> Estimate:
        """Which part of the pairs of heads reach λ₂ = 0 in the order in which they learn.

        Of the pairs that do not learn in the same step; the mean over the networks that learn with
        all of their heads, and Student's interval, 95 %.

        Raises:
            NothingToMeasure: no network does, or none has such a pair.
        """
        learned, zero = (self[f"heads/{name}"][place] for name in ("learned", "zero"))
        # What never comes to zero comes after all that does.
        zero = np.where(zero < 0, np.iinfo(zero.dtype).max, zero)
        first, second = np.triu_indices(learned.shape[1], 1)
        order, outliers = (np.sign(a[:, first] - a[:, second]) for a in (learned, zero))
        pairs = (order != 0) & (learned >= 0).all(axis=1)[:, None]
        kept = pairs.any(axis=1)
        if not kept.any():
            raise NothingToMeasure("no network learns with all heads, and not in the same step")
        agree = ((order == outliers) & pairs)[kept].sum(axis=1) / pairs[kept].sum(axis=1)
        return mean_of(agree)

    def retarded_below_zero(self, place: int) -> Estimate:
        """The number of networks with λ₂ < 0 for the last head to learn when the first has learned.

        Raises:
            NothingToMeasure: no network learns with all of its heads.
        """
        values = self["heads/retarded"][place]
        values = values[np.isfinite(values)]
        if not len(values):
            raise NothingToMeasure("no network learns with all of its heads")
        return share_of(values < 0)
