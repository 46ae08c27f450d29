"""The settings with which posteriors are found, and the priors that their bounds choose from."""

import math
import sys
from dataclasses import dataclass

from hessian_spectra.pac_bayes.bases import KINDS, STANDARD
from hessian_spectra.pac_bayes.objectives import OBJECTIVES
from hessian_spectra.validation import require, require_each

# The bases that local reparametrisation takes.
BASES = (STANDARD, "kronecker", "nearest")
# The logarithm of the largest number.
LARGEST = math.log(sys.float_info.max)


class DivergedError(ValueError):
    """The training of a posterior diverges at its learning rate."""

    def __init__(self, learning_rate: float) -> None:
        super().__init__(
            "learning_rate: expected a rate at which the posterior's training does not diverge, "
            f"got {learning_rate!r}"
        )


@dataclass(frozen=True, kw_only=True)
class Descent:
    """The settings with which a posterior is found, whatever the method.

    Args:
        epochs: passes over the samples, each in a new order; paper: 2000.
        batch_size: samples of an update; open in the paper.
        learning_rate: at the start; paper: 0.001.
        delta: the bound may fail with this probability, over samples; paper: 0.025.
        grid_precision: b of the prior's variances ``λ = c exp(−j/b)``; paper: 100.
        largest_variance: c; paper: 0.1.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    delta: float
    grid_precision: float
    largest_variance: float

    def __post_init__(self) -> None:
        require_each(self, ("epochs", "batch_size"), lambda count: count >= 1, "at least 1")
        sizes = ("learning_rate", "grid_precision", "largest_variance")
        require_each(self, sizes, lambda size: 0 < size < math.inf, "a positive number")
        require(0 < self.delta < 1, "delta", "a probability in (0, 1)", self.delta)


@dataclass(frozen=True, kw_only=True)
class BoundSettings(Descent):
    """The settings with which Algorithm 1 finds a posterior, whatever its basis.

    Args:
        decay_every: epochs after which the rate of RMSprop falls to a tenth, again and again;
            paper: 400.
        smoothing: of RMSprop's mean squares; open in the paper.
        refresh: epochs after which the basis is found anew, 0 for never; paper: 10 or never.
    """

    decay_every: int
    smoothing: float
    refresh: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.decay_every >= 1, "decay_every", "at least 1", self.decay_every)
        require(self.refresh >= 0, "refresh", "at least 0", self.refresh)
        require(0 <= self.smoothing < 1, "smoothing", "a number in [0, 1)", self.smoothing)


@dataclass(frozen=True, kw_only=True)
class BoundDescent(BoundSettings):
    """The settings with which Algorithm 1 finds a posterior, whatever the number of samples.

    Args:
        basis: in which the covariance is diagonal, ``standard``, ``kronecker``,
            ``nearest``, ``printed output`` or ``exact``.
        refresh_grows: whether ``refresh`` takes ten times as many epochs whenever the rate falls.
    """

    basis: str
    refresh_grows: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.basis in KINDS, "basis", f"one of {', '.join(KINDS)}", self.basis)


@dataclass(frozen=True, kw_only=True)
class LocalDescent(Descent):
    """The settings with which a posterior is found by local reparametrisation.

    The rate is the part of a natural gradient that an update follows; it falls to 0 along a cosine.

    Args:
        objective: what is minimised: ``inverse``, ``quadratic``, ``lambda`` or ``paper``.
        basis: in which the covariance is diagonal, ``standard``, ``kronecker`` or ``nearest``.
        renewals: how often the bases are found anew, at equal distances in the first 0.7 of the
            training, before an epoch.
        seconds: after so many the training ends, whatever the epochs; the rate falls with them.
    """

    objective: str
    basis: str
    renewals: int
    seconds: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.renewals >= 0, "renewals", "at least 0", self.renewals)
        require(self.seconds > 0, "seconds", "a positive number", self.seconds)
        names = ", ".join(OBJECTIVES)
        require(self.objective in OBJECTIVES, "objective", f"one of {names}", self.objective)
        fits = self.basis in BASES
        require(fits, "basis", f"one of {', '.join(BASES)} for this method", self.basis)


class PriorFamily:
    """The priors ``λ = c exp(−j/b)`` of a bound from so many samples, for a real ``j``."""

    samples: int
    delta: float
    grid_precision: float
    largest_variance: float

    @property
    def largest_half_logarithm(self) -> float:
        """``½ ln λ`` for ``j = 1``: no larger prior is among those that the bound holds for."""
        return 0.5 * (math.log(self.largest_variance) - 1 / self.grid_precision)

    def index(self, half: float) -> float:
        """``j`` of a prior's ``½ ln λ``, at least 1."""
        return max(self.grid_precision * (math.log(self.largest_variance) - 2 * half), 1.0)

    def complexity(self, divergence: float, index: float) -> float:
        """``B_RE`` (closed_form.complexity), here for a real ``j`` as well."""
        union = 2 * math.log(index) + math.log(math.pi**2 * self.samples / (6 * self.delta))
        return (divergence + union) / (self.samples - 1)

    def terms_of(self, divergence: float, half: float) -> dict[str, float]:
        """The terms of a divergence and of a prior's ``½ ln λ`` that a training tells."""
        complexity = self.complexity(divergence, self.index(half))
        variance = exponential(2 * half)
        return {"divergence": divergence, "prior_variance": variance, "complexity": complexity}


def divergence_of(squares: float, logarithms: float, number: int, half: float) -> float:
    """``KL(Q ‖ P)`` (closed_form.gaussian_kl) with ``squares`` the sum that λ divides."""
    return 0.5 * (squares * exponential(-2 * half) - number + 2 * half * number - logarithms)


def exponential(exponent: float) -> float:
    """``exp``, infinite where no number is as large: there a training diverges."""
    return math.inf if exponent > LARGEST else math.exp(exponent)
