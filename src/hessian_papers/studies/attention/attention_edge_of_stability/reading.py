"""Training up to the edge of stability and along it, as figure and claims read it."""

import numpy as np

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.trajectory import Trajectory
from hessian_spectra.statistics import correlation, rank_correlation

# What 9ξ²/4 is the sum of: 3γ², 6ζγ⟨w_Q, w_K⟩, 3(β² − αζ)(‖w_Q‖² + ‖w_K‖²) and the squared trace.
TERMS = ("residual", "alignment", "norms", "trace")


def shares_of_half_width(terms: np.ndarray, solved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whose changes the changes of ξ² are, step by step.

    Args:
        terms: of 9ξ²/4, ``(r, 4)``.
        solved: ``(r,)`` the same as their sum, without any residual.

    Returns:
        ``(4,)`` and ``()``: the covariance of a term's changes with those of the sum, over the
        variance of these, so that the four sum to 1; below 0 where a term holds against them. The
        same of ``solved``; 1 less that is the share of the residual.
    """
    changes = np.diff(terms.sum(axis=1))
    size = changes @ changes
    return np.diff(terms, axis=0).T @ changes / size, np.asarray(np.diff(solved) @ changes / size)


class Reading(Trajectory):
    """One training run.

    The edge is the first step at which the sharpness is at least 2/η, η the learning rate.
    """

    @property
    def threshold(self) -> float:
        """The sharpness 2/η above which gradient descent is unstable."""
        return float(2 / self["learning_rate"])

    @property
    def relative_sharpness(self) -> np.ndarray:
        """Sharpness over 2/η, ``(r,)``."""
        return np.asarray(self["sharpness"] * self["learning_rate"] / 2)

    @property
    def edge(self) -> int | None:
        """The row of the edge; ``None`` if the sharpness never comes that far."""
        reached = np.flatnonzero(self.relative_sharpness >= 1)
        return int(reached[0]) if len(reached) else None

    @property
    def until_edge(self) -> slice:
        """The rows up to the edge, that one included; all if there is none."""
        return slice(None) if self.edge is None else slice(self.edge + 1)

    @property
    def from_edge(self) -> slice:
        """The rows from the edge on; the last one alone if there is none."""
        return slice(-1 if self.edge is None else self.edge, None)

    def trend(self, name: str, rows: slice) -> float:
        """Rank correlation of a quantity with the step."""
        return rank_correlation(self.steps[rows].astype(float), self[name][rows])

    def rise(self, *names: str) -> float:
        """The smallest rank correlation of some quantities with the step up to the edge."""
        return min(self.trend(name, self.until_edge) for name in names)

    def changes(self, name: str) -> np.ndarray:
        """A quantity's one-step changes from the edge on."""
        return np.diff(self[name][self.from_edge])

    def changes_together(self, name: str) -> float:
        """Correlation of these with those of the sharpness."""
        return correlation(self.changes(name), self.changes("sharpness"))

    def stay_at_edge(self, place: int) -> np.ndarray:
        """Which draws at a learning rate hover around 2/η, ``(N,)``.

        The mean is within 5 % of it, and 90 % of the changes undo the one before, from the step on
        at which the sharpness has reached it.
        """
        peak, mean, reversals = (
            self[f"draws/{name}"][place] for name in ("peak", "mean", "reversals")
        )
        return np.asarray((np.abs(mean - 1) <= 0.05) & (reversals >= 0.9) & np.isfinite(peak))

    def oscillations(self, place: int) -> dict[str, np.ndarray]:
        """What is said of the oscillation, by its name, of each draw that hovers around 2/η.

        Raises:
            NothingToMeasure: none does.
        """
        chosen = self.stay_at_edge(place)
        if not chosen.any():
            raise NothingToMeasure("at this learning rate no draw stays at the edge of stability")

        def of(name: str) -> np.ndarray:
            return np.asarray(self[f"draws/{name}"][place][chosen])

        shares = dict(zip(TERMS, of("terms").T, strict=True))
        return {
            "in-opposite-phase": of("trace") <= -0.9,
            "driven-by-xi": of("half_width") >= 0.9,
            "driven-by-alignment": shares["alignment"] > 0.5,
            "driven-by-residual": of("solved") < 0.5,
            "driven-by-norms": shares["norms"] > 0.5,
        }
