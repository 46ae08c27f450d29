"""What the GGN of language models misses, as figure and claims read it."""

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.studies.gpt2.seeds import ATTENTION, TWIN, Errors, compare, estimate, exactly
from hessian_papers.studies.stored import NamedArrays, Stored, texts

# The errors that stand side by side: which arrays the Hessian's and the GGN's eigenvalue are.
HELD_TO = {
    "right": ("hessian", "ggn"),
    "released": ("released", "ggn"),
    "squared": ("squared_hessian", "squared_ggn"),
}
RIGHT, RELEASED = "right", "released"


class Reading(NamedArrays):
    """Eigenvalues and norms at kept weights of V variants, S seeds and k steps.

    What is about an architecture raises ``NothingToMeasure`` where the study lacks it.
    """

    variants = Stored("variant", texts)  # the architectures
    groups = Stored("group", texts)  # the groups of weights

    def error(self, held_to: str) -> Errors:
        """``|1 − λ_max(GGN) / λ_max(H)|``, held to one of :data:`HELD_TO`, ``(V, S, k)``."""
        hessian, ggn = HELD_TO[held_to]
        return self._departure(ggn, hessian)

    def _departure(self, item: str, other: str) -> Errors:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self[item] / self[other]
            off = np.abs(ratio) * (self[f"{item}_error"] + self[f"{other}_error"])
        return Errors(np.abs(1 - ratio), off)

    def added(self, held_to: str, compared: str = "difference") -> Estimate:
        """What attention adds to the error at the last step, its mean over seeds."""
        values = self.error(held_to)
        first, other = (
            Errors(*(part[self.place("variant", variant), :, -1] for part in values))
            for variant in (ATTENTION, TWIN)
        )
        samples = compare(first, other, compared)
        if not np.isfinite(samples.value).all():
            raise NothingToMeasure("in this configuration a run has no error at its last step")
        return estimate(samples)

    @property
    def released_shift(self) -> Errors:
        """``|λ_max(released) / λ_max(H) − 1|``, ``(V, S, k)``."""
        return self._departure("released", "hessian")

    def missing(self, rows: str = "functional_rows") -> np.ndarray:
        """The share ``‖A_g‖_F / ‖H_g‖_F`` of each group's rows, ``(V, S, k, g)``; NaN without it.

        Args:
            rows: of ``A``: those of F = H − G, or ``released_rows``, of the released product's
                error.
        """
        first, other = (self[name].mean(axis=-2) for name in (rows, "hessian_rows"))
        return np.sqrt(np.divide(first, other, out=np.full(first.shape, np.nan), where=other > 0))

    def missing_difference(self, variant: str, first: str, second: str) -> Estimate:
        """By how much the share of one group is above that of another, at the last step."""
        shares = self.missing()[self.place("variant", variant), :, -1]
        samples = shares[:, self.groups.index(first)] - shares[:, self.groups.index(second)]
        if not np.isfinite(samples).all():
            raise NothingToMeasure(f"in this configuration a run has no {first} or no {second}")
        return estimate(exactly(samples))

    def part_of_the_gap(self, variant: str, group: str) -> Estimate:
        """A group's part ``v_gᵀ (F v)_g / vᵀFv`` at the Hessian's top eigenvector v, last step."""
        parts = self["missed"][self.place("variant", variant), :, -1]
        gap = parts.sum(axis=-1)
        if not (gap > 0).all():
            raise NothingToMeasure("in this configuration a run's GGN misses nothing at the top")
        samples = parts[:, self.groups.index(group)] / gap
        return estimate(exactly(samples))
