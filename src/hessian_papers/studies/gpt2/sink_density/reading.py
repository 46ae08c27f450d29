"""Ladders of attention sinks and their controls, as figure and claims read them."""

import numpy as np
import scipy.stats

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored, texts
from hessian_spectra.statistics import rank_correlation

SINK = "first-token"
ENDS = ("largest", "smallest")
# An eigenvalue of at most this share of the largest magnitude counts as close to zero.
NEAR = 0.01


class Reading(StudyArrays):
    """``s`` networks, each with a sink of ``r`` strengths, of which the first is none.

    What is asked for of a control is ``(s, 2)``: without an edit, and as strong as the last sink.
    """

    controls = Stored("control", texts)  # the edits that stand beside the sink on the first token

    @property
    def edits(self) -> list[str]:
        """The sink and its controls."""
        return [SINK, *self.controls]

    def of(self, name: str, edit: str = SINK) -> np.ndarray:
        """Loss, or an extreme eigenvalue, of an edit, ``(s, r)`` or ``(s, 2)``."""
        values = self[name]
        if edit == SINK:
            return values
        return np.stack([values[:, 0], self._last(name, edit)], axis=1)

    def _last(self, name: str, control: str) -> np.ndarray:
        """An array of a control, ``(s,)``."""
        return np.asarray(self[f"control_{name}"][:, self.controls.index(control)])

    def place(self, edit: str) -> np.ndarray:
        """The attention on the first token by the sink that an edit stands beside, as ``of``."""
        return self.mass if edit == SINK else self.mass[:, [0, -1]]

    # The mean attention on the first token in the edited heads, ``(s, r)``.
    mass = Stored("mass", np.asarray)

    def relative(self, end: str, edit: str = SINK) -> np.ndarray:
        """An extreme eigenvalue's magnitude over that without an edit, as ``of``.

        Raises:
            NothingToMeasure: without an edit it is zero, or has the other sign than with one.
        """
        values = self.of(end, edit)
        own = values[:, :1]
        if (values * own <= 0).any():
            raise NothingToMeasure(
                f"in this configuration the {end} eigenvalue is zero or changes its sign"
            )
        return np.asarray(values / own)

    def increase(self, end: str, edit: str = SINK) -> np.ndarray:
        """By what share an extreme eigenvalue grows up to the last rung, ``(s,)``."""
        return np.asarray(self.relative(end, edit)[:, -1] - 1)

    @property
    def stretch(self) -> np.ndarray:
        """By what share the range of the spectrum grows up to the last rung, ``(s,)``."""
        ranges = self.of("largest") - self.of("smallest")
        return np.asarray(ranges[:, -1] / ranges[:, 0] - 1)

    def monotone(self, end: str) -> np.ndarray:
        """Rank correlation of mass and an extreme eigenvalue's magnitude, ``(s,)``."""
        grown = self.relative(end)
        return np.array([rank_correlation(*pair) for pair in zip(self.mass, grown, strict=True)])

    def beyond(self, end: str, control: str) -> np.ndarray:
        """How much more an extreme eigenvalue grows than by a control, ``(s,)``."""
        return self.increase(end) - self.increase(end, control)

    @property
    def rise(self) -> np.ndarray:
        """The rise of the loss by the sinks, ``(s, r)``."""
        return np.asarray(self.of("loss") - self.of("loss")[:, :1])

    def released(self, end: str) -> np.ndarray:
        """An extreme eigenvalue by curvlinops' released product, without sink and with, (s, 2)."""
        return self[f"released_{end}"]

    def smoothed(self, kernel: str, prefix: str = "") -> np.ndarray:
        """The spectrum at the strongest sink, smoothed as the density is, on its grid, (s, points).

        Args:
            kernel: ``pdf`` for the density, ``cdf`` for the share of the eigenvalues below.
            prefix: ``released_`` for that by curvlinops' released product.
        """
        # The right product's may have all rungs.
        nodes, weights = (
            self[f"{prefix}{name}"] if prefix else self[name][:, -1]
            for name in ("nodes", "weights")
        )
        width = self["width"][:, -1, None, None, None]
        smooth = getattr(scipy.stats.norm, kernel)
        values = smooth(self["grid"][:, -1, :, None, None], nodes[:, None], width)
        return np.asarray((weights[:, None] * values).sum(axis=-1).mean(axis=-1))

    @property
    def near_zero(self) -> np.ndarray:
        """The share of all eigenvalues that are close to zero, by the quadrature, ``(s, r)``."""
        scale = np.maximum(np.abs(self.of("largest")), np.abs(self.of("smallest")))
        close = np.abs(self["nodes"]) <= NEAR * scale[..., None, None]
        return np.asarray((self["weights"] * close).sum(axis=-1).mean(axis=-1))

    @property
    def outside(self) -> float:
        """How far a Ritz value of the density is beyond the extreme ones and their residuals.

        Relative to the largest magnitude. The density's probes know nothing of the search for the
        extreme eigenvalues, and all Ritz values are inside the spectrum.
        """
        largest, smallest = self.of("largest"), self.of("smallest")
        scale = np.maximum(np.abs(largest), np.abs(smallest))
        nodes = self["nodes"].reshape(*largest.shape, -1)
        above = (nodes.max(axis=-1) - largest) / scale - self.of("largest_residual")
        below = (smallest - nodes.min(axis=-1)) / scale - self.of("smallest_residual")
        return float(np.maximum(np.maximum(above, below), 0).max())

    @property
    def missed(self) -> float:
        """How far the attention on the edited tokens is from its targets, at most."""
        first = np.abs(self.mass[:, 1:] - self["target"]).max()
        other = np.abs(self._last("mass", "middle-token") - self["target"][-1]).max()
        return float(max(first, other))

    @property
    def training_sinks(self) -> np.ndarray:
        """Through training, the attention on the first token, mean over all heads, ``(s, m)``."""
        return np.asarray(self["training_mass"].mean(axis=(-2, -1)))

    @property
    def training_correlation(self) -> np.ndarray:
        """The rank correlation of attention with the largest eigenvalue over the steps, ``(s,)``.

        Raises:
            NothingToMeasure: fewer than three steps were measured.
        """
        values = []
        for sinks, largest in zip(self.training_sinks, self["training_largest"], strict=True):
            kept = np.isfinite(sinks) & np.isfinite(largest)
            if kept.sum() < 3:
                raise NothingToMeasure("in this configuration few steps of training were measured")
            values.append(rank_correlation(sinks[kept], largest[kept]))
        return np.array(values)

    @property
    def uniform(self) -> float:
        """The attention on the first token where each query attends to all it sees alike."""
        length = int(self["sequences"][0, -1])
        return float((1 / np.arange(1, length + 1)).mean())
