"""Overlaps of independently trained networks, as figure and claims read them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_papers.results import StudyArrays
from hessian_papers.studies.stored import Stored, texts
from hessian_spectra.statistics import student_interval

LEVEL = 0.95
# Of Hessians, of their Kronecker approximations, and what is expected of these.
CURVES = ("overlap", "kronecker", "permuted")
# The epoch that figure and claims speak of.
LAST = -1
# What is around the output dimension: a fifth of it either side, one dimension at least.
AROUND = 0.2
# An eigenvalue is told from smaller ones if it is so many times the error of any of them.
FAR = 10


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer of an architecture.

    Args:
        name: of the layer.
        outputs: m.
        inputs: n.
        last: whether its outputs are the classes.
        curves: ``overlap``, ``kronecker`` and ``permuted``, each ``(Q, K)`` over the pairs of
            networks and the dimension k of the spaces.
        first_inputs: ``(Q,)``, ``(t₁ · t₁')²``.
        output: the eigenvalues of E[M], ``(S, m)``, descending.
        input: those of E[x xᵀ], ``(S, n)``.
    """

    name: str
    outputs: int
    inputs: int
    last: bool
    curves: dict[str, np.ndarray]
    first_inputs: np.ndarray
    output: np.ndarray
    input: np.ndarray

    @property
    def reach(self) -> int:
        """K, the largest dimension; beyond, eigenvalues are of the size of their errors."""
        return self.curves["overlap"].shape[1]

    @property
    def satisfied(self) -> int:
        """Up to which k ``τ_k γ_1 > τ_1 γ_2`` in all networks: at m Theorem G.1 assumes it."""
        ratio = self.input[:, 1:2] / self.input[:, :1]
        return int((self.output > ratio * self.output[:, :1]).sum(axis=1).min())

    def peak(self, chosen: np.ndarray) -> float:
        """The largest mean overlap around m over the largest one elsewhere.

        Args:
            chosen: ``(Q,)``, which pairs the mean is over.

        Raises:
            NothingToMeasure: the study does not reach beyond what is around m.
        """
        k = np.arange(1, self.reach + 1)
        around = np.abs(k - self.outputs) <= max(AROUND * self.outputs, 1)
        if around[-1] or k[-1] < self.outputs:
            raise NothingToMeasure(
                f"this configuration has {self.reach} eigenpairs of a layer with {self.outputs} "
                "outputs: none beyond what is around them"
            )
        mean = self.curves["overlap"][chosen].mean(axis=0)
        return float(mean[around].max() / mean[~around].max())

    def at_outputs(self, name: str, chosen: np.ndarray) -> float:
        """The mean of a curve at k = m.

        Raises:
            NothingToMeasure: the study does not reach it.
        """
        if self.reach < self.outputs:
            raise NothingToMeasure(f"this configuration has fewer than {self.outputs} eigenpairs")
        return float(self.curves[name][chosen, self.outputs - 1].mean())

    def distance(self, item: str, other: str, chosen: np.ndarray) -> float:
        """How far the mean of a curve is from another: ``Σ_k |a_k − b_k| / Σ_k b_k``."""
        a, b = (self.curves[name][chosen].mean(axis=0) for name in (item, other))
        return float(np.abs(a - b).sum() / b.sum())


class Reading(StudyArrays):
    """Overlaps of S networks of each of A architectures."""

    networks = Stored("network", texts)  # the architectures

    @property
    def seeds(self) -> int:
        """S."""
        return int(self["hessian"].shape[3])

    @property
    def differing(self) -> np.ndarray:
        """Which pairs of networks were trained with different settings, ``(Q,)``."""
        # A run that was recorded before there were variations has none.
        groups = self["variation"] if "variation" in self else np.zeros(self.seeds)
        return np.array(
            [combination != other for combination, other in combinations(groups.tolist(), 2)]
        )

    def normed(self, network: str) -> bool:
        """Whether an architecture has batch norms."""
        return network.endswith("-BN")

    def layers(self, network: str) -> list[Layer]:
        """The layers of an architecture, in their order."""
        place = self.networks.index(network)
        names = [str(name) for name in self["layer"][place] if name]
        return [self._layer(place, number, names) for number in range(len(names))]

    def _layer(self, place: int, number: int, names: list[str]) -> Layer:
        at = (place, LAST, number)
        m, n = (int(self[name][place, number]) for name in ("outputs", "inputs"))
        values, residuals = self["hessian"][at], self["residual"][at]
        known = values > FAR * np.nanmax(residuals) * values[:, :1]
        count = max(int(known.sum(axis=1).min()), 1)
        return Layer(
            name=names[number],
            outputs=m,
            inputs=n,
            last=number == len(names) - 1,
            curves={name: self[name][at][:, :count] for name in CURVES},
            first_inputs=self["first_inputs"][at],
            output=self["output"][at][:, :m],
            input=self["input"][at][:, :n],
        )

    def layer(self, network: str, name: str) -> Layer:
        """One of them by its name."""
        return next(layer for layer in self.layers(network) if layer.name == name)

    def hidden(self, network: str) -> list[Layer]:
        """The layers whose outputs can be permuted.

        Raises:
            NothingToMeasure: there is none.
        """
        layers = [layer for layer in self.layers(network) if not layer.last]
        if not layers:
            raise NothingToMeasure(f"{network} has no hidden layer")
        return layers

    def over_networks(self, statistic: Callable[[np.ndarray], float]) -> Estimate:
        """A statistic of the pairs with Student's 95 % interval by the jackknife over networks.

        A pair shares its networks with others, so that what is left out at a time is a network with
        all of its pairs: ``s² = (S − 1)/S Σ_i (θ_i − θ̄)²`` over the S statistics θ_i without it.

        Args:
            statistic: of the pairs that are chosen, ``(Q,)``.

        Returns:
            The statistic of all pairs; unbounded for two networks.

        Source: Efron and Stein, The jackknife estimate of variance, 1981.
        """
        count = self.seeds
        pairs = np.array(list(combinations(range(count), 2)))
        value = statistic(np.ones(len(pairs), dtype=bool))
        if count < 3:
            return Estimate(value, -math.inf, math.inf)
        without = [statistic((pairs != left).all(axis=1)) for left in range(count)]
        error = math.sqrt((count - 1) * float(np.var(without)))
        low, high = student_interval(value, error, count - 1, 0.0, LEVEL)
        return Estimate(value, float(low), float(high))
