"""The outlier pair in training, as figure and claims read it."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, share_of
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored
from hessian_papers.studies.trajectory import Trajectory

# Below this share of the large outlier the small one is round-off, and its sign means nothing.
RESOLVED = 1e-12

# A ReLU network's other cell may have eigenvalues so much larger that the pair drowns in their
# rounding: below this share of the largest it is left out.
LOST = 1e-4

# Below this share of the large outlier the small one has reached zero.
AT_ZERO = 1e-6


# How many of the last resolved steps tell from which side the small outlier reaches zero: more than
# two half periods of the oscillation that momentum 0.9 makes.
LAST = 20

# So many changes of sign are a wiggle around zero; a single one is a passage.
WIGGLES = 2

# The names of two runs: of the linear network, and of the same at the high learning rate.
LINEAR, HIGH = "linear", "linear_high"


class Training(Trajectory):
    """One training run: the pair, for a ReLU network that of the positive cell."""

    _cell = Stored("pair_cell", str)

    @cached_property
    def pair(self) -> np.ndarray:
        """The pair at each recorded step, ``(r, 2)``, the large outlier first."""
        return self.select("outlier", self._cell)[:, ::-1]

    @cached_property
    def numeric_pair(self) -> np.ndarray:
        """The numerical eigenvalues at the pair's places in the spectrum, ``(s, 2)``."""
        return self.select_numeric("outlier", self._cell)[:, ::-1]

    def errors_of_pair(self, differences: np.ndarray, power: int = 1) -> np.ndarray:
        """Differences ``(s,)`` relative to a power of λ₁, where that is not lost in rounding."""
        large = self.numeric_pair[:, 0]
        kept = large > LOST * np.abs(self.numerics["eigenvalues"]).max(axis=1)
        return np.asarray(np.abs(differences[kept]) / large[kept] ** power)

    @property
    def large(self) -> np.ndarray:
        """λ₁ at each recorded step, ``(r,)``."""
        return self.pair[:, 0]

    @property
    def small(self) -> np.ndarray:
        """λ₂ at each recorded step, ``(r,)``."""
        return self.pair[:, 1]

    @property
    def share(self) -> np.ndarray:
        """|λ₂| / λ₁ at each recorded step, ``(r,)``."""
        return np.abs(self.small) / self.large

    @property
    def resolved(self) -> np.ndarray:
        """λ₂ at those recorded steps at which it is more than round-off."""
        return self.small[np.abs(self.small) > RESOLVED * self.large]

    @property
    def stability_limit(self) -> float:
        """The sharpness 2(1 + μ)/η above which gradient descent with momentum μ is unstable."""
        return 2 * (1 + float(self["momentum"])) / float(self["learning_rate"])

    @property
    def emptied_at(self) -> int | None:
        """The step from which on a ReLU network has no pair; ``None`` if it always has one."""
        return int(self["emptied_at"]) if "emptied_at" in self else None

    @property
    def exceeds_limit(self) -> bool:
        """Whether the sharpness is anywhere above the limit of stability."""
        return bool(self.large.max() > self.stability_limit)


class Reading(StudyArrays):
    """The runs of a study, by name."""

    @cached_property
    def runs(self) -> dict[str, Training]:
        """All runs."""
        return {name: self.part(name, Training) for name in self["runs"].tolist()}

    def largest(self, quantity: Callable[[Training], float | np.ndarray]) -> float:
        """The largest value that a quantity has for one of the runs.

        Raises:
            NothingToMeasure: it has none.
        """
        values = np.concatenate([np.ravel(quantity(run)) for run in self.runs.values()])
        if not values.size:
            raise NothingToMeasure(
                "this configuration has no step at which the pair stands out of the rounding of "
                "larger eigenvalues"
            )
        return float(values.max())

    def share_at_zero(self, learning_rates: str, settings: slice, side: float) -> Estimate:
        """The share of seeds whose small outlier reaches zero from one side.

        Of the initial weights, and settings, of which training does not diverge; with Wilson's
        interval, 95 %.

        Args:
            learning_rates: ``ordinary`` or ``high``.
            settings: which of their settings.
            side: 1 for the positive side, −1 for the negative.

        Raises:
            NothingToMeasure: there is no seed of which training does not diverge.
        """
        sides, shares = self._converging(self[f"seeds/{learning_rates}"][settings]).T
        reached = (sides == side) & (shares < AT_ZERO)
        return share_of(reached)

    @staticmethod
    def _converging(converging: np.ndarray) -> np.ndarray:
        """The rows of those initial weights and settings of which training does not diverge."""
        rows = converging.reshape(-1, converging.shape[-1])
        kept = rows[np.isfinite(rows).all(axis=1)]
        if not len(kept):
            raise NothingToMeasure(
                "this configuration has no other initial weights from which training converges"
            )
        return np.asarray(kept)

    def share_of_paths(self, part: str, place: int) -> Estimate:
        """The share of seeds, rates and scales whose small outlier goes a part of the path.

        Args:
            part: ``drops`` in the first step, ``wiggles``, which is two changes of sign or more, or
                the ``whole`` path: both, and then zero is reached from below.
            place: of the momentum.
        """
        sides, shares, drops, crossings = self._converging(self["seeds/path"][place]).T
        parts = {"drops": drops > 0, "wiggles": crossings >= WIGGLES}
        ends_below = (sides == -1) & (shares < AT_ZERO)
        parts["whole"] = parts["drops"] & parts["wiggles"] & ends_below
        return share_of(parts[part])

    @property
    def ordinary(self) -> list[Training]:
        """The runs at the ordinary learning rate."""
        return [run for name, run in self.runs.items() if name != HIGH]

    @property
    def linear(self) -> Training:
        """The run of the linear network at the ordinary learning rate.

        Raises:
            NothingToMeasure: there is none.
        """
        if LINEAR not in self.runs:
            raise NothingToMeasure("this configuration has no linear network (networks)")
        return self.runs[LINEAR]
