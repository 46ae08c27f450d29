"""PAC-Bayes bounds on the error of a Gaussian posterior: from a divergence and an error to a bound.

The prior is ``N(w₀, λ I)``, the posterior ``N(w, diag s)`` in any orthonormal basis. The variance
``λ = c exp(−j/b)`` may be chosen after training, because a share ``6/(π² j²)`` of ``δ`` is kept for
each integer ``j ≥ 1``: the shares sum to one. Of two values of ``j``, the one with the smaller
``B_RE`` has the smaller bound, whatever the error.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, require_all
from hessian_spectra.closed_form.binary_kl import kl_inverse, require_share


@dataclass(frozen=True)
class Prior:
    """A prior of the countable family, chosen after training.

    Attributes:
        index: the integer ``j ≥ 1``.
        variance: ``λ = c exp(−j/b)``.
        kl: ``KL(Q, P)`` with this variance.
    """

    index: int
    variance: float
    kl: float


def gaussian_kl(
    squared_distance: ArrayLike,
    variance_sum: ArrayLike,
    log_variance_sum: ArrayLike,
    parameters: ArrayLike,
    prior_variance: ArrayLike,
) -> Tensor:
    """``KL(Q, P)`` of a Gaussian posterior with independent coordinates from ``N(w₀, λ I)``.

    ``½ [(Σ s + ‖w − w₀‖²)/λ − P + P ln λ − Σ ln s]``. In print the arguments are exchanged.

    Args:
        squared_distance: ``‖w − w₀‖²``.
        variance_sum: ``Σ s`` over the P parameters.
        log_variance_sum: ``Σ ln s``, at most ``P ln(Σ s/P)``.
        parameters: ``P``.
        prior_variance: ``λ``.

    Returns:
        float64, in nats, of the shape to which the arguments broadcast.

    Raises:
        ValueError: an argument out of its range, sums that are those of no variances, shapes that
            do not broadcast, or numbers that are not finite.

    Source: wu2022dissecting, eq. (277), corrected.

    Example:
        >>> gaussian_kl(2.0, variance_sum=1.0, log_variance_sum=0.0, parameters=1, prior_variance=1)
        tensor(1., dtype=torch.float64)
    """
    distance, total, logarithms, count, variance = broadcast(
        squared_distance=squared_distance,
        variance_sum=variance_sum,
        log_variance_sum=log_variance_sum,
        parameters=parameters,
        prior_variance=prior_variance,
    )
    require_all("squared_distance", distance, distance >= 0, "no negative number")
    require_all("variance_sum", total, total > 0, "a positive number")
    _require_integer("parameters", count, 1)
    require_all("prior_variance", variance, variance > 0, "a positive number")
    # Jensen's inequality; sums over float32 variances miss it by their rounding.
    largest = count * torch.log(total / count)
    fits = logarithms <= largest + 1e-6 * count
    require_all("log_variance_sum", logarithms, fits, "at most P ln(Σ s/P), as of any variances s")
    # From the smallest divergence, that of equal variances, up: neither part is negative.
    ratio = total / (count * variance)
    equal = count * (ratio - 1 - torch.log(ratio)).clamp_min(0.0)
    return (distance / variance + equal + (largest - logarithms).clamp_min(0.0)) / 2


def prior_index(variance: ArrayLike, c: ArrayLike, b: ArrayLike) -> Tensor:
    """``j = b ln(c/λ)``, a real number: the prior's index were any ``λ`` allowed.

    Args:
        variance: ``λ``, positive.
        c: what the family's variances stay below, positive.
        b: how fine the family is, positive: neighbours differ by the factor ``exp(1/b)``.

    Raises:
        ValueError: a number that is not positive, shapes that do not broadcast, or numbers that are
            not finite.

    Source: wu2022dissecting, appendix H, after Dziugaite and Roy (2017).

    Example:
        >>> prior_index(variance=0.1, c=0.1, b=100)
        tensor(0., dtype=torch.float64)
    """
    variance, c, b = broadcast(variance=variance, c=c, b=b)
    for name, value in (("variance", variance), ("c", c), ("b", b)):
        require_all(name, value, value > 0, "a positive number")
    return b * (torch.log(c) - torch.log(variance))


def prior_variance(j: ArrayLike, c: ArrayLike, b: ArrayLike) -> Tensor:
    """``λ = c exp(−j/b)``, the inverse of :func:`prior_index`, with its arguments and errors.

    Source: wu2022dissecting, appendix H, after Dziugaite and Roy (2017).

    Example:
        >>> prior_variance(j=100, c=1.0, b=100)  # 1/e
        tensor(0.3679, dtype=torch.float64)
    """
    j, c, b = broadcast(j=j, c=c, b=b)
    for name, value in (("c", c), ("b", b)):
        require_all(name, value, value > 0, "a positive number")
    return c * torch.exp(-j / b)


def complexity(kl: ArrayLike, n: ArrayLike, j: ArrayLike, delta: ArrayLike = 0.025) -> Tensor:
    """``B_RE = [KL + 2 ln j + ln(π² n/(6 δ))]/(n − 1)``: what ``kl(ê, e)`` does not exceed.

    With probability ``1 − δ`` over ``n`` independent samples, for all posteriors and all ``j`` at
    once.

    Args:
        kl: ``KL(Q, P)`` with the prior of index ``j``.
        n: the samples on which the error is measured, none of which the prior has seen; at least 2.
        j: the prior's index, an integer of at least 1.
        delta: ``δ`` in (0, 1).

    Returns:
        float64, of the shape to which the arguments broadcast.

    Raises:
        ValueError: an argument out of its range, such as ``j = 0``; shapes that do not broadcast,
            or numbers that are not finite.

    Source: wu2022dissecting, eq. (277), for the integers ``j ≥ 1`` that the union bound covers.

    Example:
        >>> complexity(kl=0.0, n=2, j=1, delta=1 / 3) == 2 * math.log(math.pi)
        tensor(True)
    """
    kl, n, j, delta = broadcast(kl=kl, n=n, j=j, delta=delta)
    require_all("kl", kl, kl >= 0, "no negative number")
    _require_integer("n", n, 2)
    _require_index(j)
    _require_probability("delta", delta)
    total = kl + 2 * torch.log(j) + torch.log(n) - torch.log(delta) + math.log(math.pi**2 / 6)
    return total / (n - 1)


def maurer_complexity(
    kl: ArrayLike, n: ArrayLike, grid: ArrayLike, delta: ArrayLike = 0.025
) -> Tensor:
    """``[KL + ln(2 √n G/δ)]/n``: tighter than ``B_RE``, for ``G`` prior variances fixed beforehand.

    Each of the ``G`` variances has the share ``δ/G``. It replaces :func:`complexity` under
    :func:`kl_inverse`.

    Args:
        kl: ``KL(Q, P)`` with a variance of the grid.
        n: the samples, at least 8.
        grid: ``G``, at least 1.
        delta: ``δ`` in (0, 1).

    Returns:
        float64, of the shape to which the arguments broadcast.

    Raises:
        ValueError: an argument out of its range, shapes that do not broadcast, or numbers that are
            not finite.

    Source: Maurer (2004), A note on the PAC Bayesian theorem, Theorem 5.

    Example:
        >>> maurer_complexity(kl=0.0, n=16, grid=1, delta=0.5) == math.log(16) / 16
        tensor(True)
    """
    kl, n, grid, delta = broadcast(kl=kl, n=n, grid=grid, delta=delta)
    require_all("kl", kl, kl >= 0, "no negative number")
    _require_integer("n", n, 8)
    _require_integer("grid", grid, 1)
    _require_probability("delta", delta)
    return (kl + torch.log(n) / 2 + torch.log(grid) - torch.log(delta) + math.log(2)) / n


def monte_carlo_error(mean: ArrayLike, draws: ArrayLike, delta: ArrayLike = 0.01) -> Tensor:
    """The largest error of the posterior on its samples that the mean over some draws allows.

    ``kl_inverse(ê, ln(2/δ')/m)`` for the mean ``ê`` of ``m`` independent draws: of networks, each
    with its error on the samples, or of pairs of a network and a sample. It holds with probability
    ``1 − δ'`` over the draws.

    Args:
        mean: ``ê`` in [0, 1].
        draws: ``m``, at least 1.
        delta: ``δ'`` in (0, 1).

    Returns:
        float64, of the shape to which the arguments broadcast.

    Raises:
        ValueError: an argument out of its range, shapes that do not broadcast, or numbers that are
            not finite.

    Source: wu2022dissecting, appendix H, after Langford and Caruana (2002) and Dziugaite and Roy
    (2017), eq. (6).

    Example:
        >>> monte_carlo_error(0.0, draws=1, delta=0.5)  # 1 − exp(−ln 4)
        tensor(0.7500, dtype=torch.float64)
    """
    mean, draws, delta = broadcast(mean=mean, draws=draws, delta=delta)
    require_share("mean", mean)
    _require_integer("draws", draws, 1)
    _require_probability("delta", delta)
    return kl_inverse(mean, (math.log(2) - torch.log(delta)) / draws)


def pac_bayes_bound(
    risk: ArrayLike, kl: ArrayLike, n: ArrayLike, j: ArrayLike, delta: ArrayLike = 0.025
) -> Tensor:
    """``kl_inverse(ê, B_RE)``: a bound on the posterior's error on the samples' distribution.

    It holds with probability ``1 − δ``; where ``ê`` is the :func:`monte_carlo_error` rather than
    the posterior's error on the samples itself, with ``1 − δ − δ'``.

    Args:
        risk: ``ê`` in [0, 1], the posterior's error on the ``n`` samples.
        kl: as for :func:`complexity`, with its errors; so are the arguments below.
        n: likewise.
        j: likewise.
        delta: likewise.

    Returns:
        float64, of the shape to which the arguments broadcast.

    Source: wu2022dissecting, Theorem 6.1, eq. (275) and (277).

    Example:
        >>> bound = pac_bayes_bound(risk=0.03373, kl=4612.6, n=60000, j=36)  # printed: 0.154
        >>> round(float(bound), 5)
        0.15403
    """
    return kl_inverse(risk, complexity(kl, n, j, delta))


def best_prior(
    squared_distance: float,
    variance_sum: float,
    log_variance_sum: float,
    parameters: int,
    variance: float,
    n: int,
    c: float = 0.1,
    b: float = 100.0,
    delta: float = 0.025,
) -> Prior:
    """The prior that gives the smaller bound, of the two of the family next to a variance.

    Training moves ``λ`` on a continuum, which no union bound covers; at the end ``j = b ln(c/λ)``
    becomes the integer below or above it, and at least 1.

    Args:
        squared_distance: as for :func:`gaussian_kl`; so are the three arguments below.
        variance_sum: likewise.
        log_variance_sum: likewise.
        parameters: likewise.
        variance: ``λ`` as it was trained.
        n: as for :func:`complexity`.
        c: as for :func:`prior_index`.
        b: likewise.
        delta: as for :func:`complexity`.

    Raises:
        ValueError: as for these three functions.

    Source: wu2022dissecting, appendix H, after Dziugaite and Roy (2017).

    Example:
        >>> best_prior(0.0, 0.5, math.log(0.5), 1, variance=0.5, n=100, c=0.5, b=1.0).index
        1
    """
    real = float(prior_index(variance, c, b))
    indices = sorted({max(1, math.floor(real)), max(1, math.ceil(real))})
    variances = prior_variance(indices, c, b)
    kls = gaussian_kl(squared_distance, variance_sum, log_variance_sum, parameters, variances)
    best = int(complexity(kls, n, indices, delta).argmin())
    return Prior(indices[best], float(variances[best]), float(kls[best]))


def _require_integer(name: str, values: Tensor, smallest: int) -> None:
    good = (values >= smallest) & (values == values.round())
    require_all(name, values, good, f"an integer of at least {smallest}")


def _require_index(j: Tensor) -> None:
    reason = "with j = 0 there is no union bound, and 2 ln j goes to minus infinity"
    require_all("j", j, (j >= 1) & (j == j.round()), f"an integer of at least 1 ({reason})")


def _require_probability(name: str, values: Tensor) -> None:
    require_all(name, values, (values > 0) & (values < 1), "a probability between 0 and 1")
