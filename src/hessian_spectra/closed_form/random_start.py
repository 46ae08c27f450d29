"""The Gauss-Newton spectrum of two linear layers at a random start, and what correlates with it.

For white inputs its ``KD`` eigenvalues that need not vanish are the sums ``σ_i(W_1)² + σ_j(W_2)²``
of all pairs, with ``W_1`` ``(m, D)`` and ``W_2`` ``(K, m)``. So their law is the convolution of the
laws of the two terms, whatever the weights are. Layers with independent entries have terms that
tend to Marchenko and Pastur's law as ``D``, ``K`` and ``m`` grow in proportion.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, finite, read, require_all

# Mean and variance of Tracy and Widom's law of real matrices: Bornemann (2010), table 10.
TRACY_WIDOM_MEAN, TRACY_WIDOM_VARIANCE = -1.2065335745820, 1.6077810345810
# Nodes of a quadrature over the half circle, and halvings that find a root to float64's precision.
_NODES, _HALVINGS = 4096, 60
# Coefficients of the Chebyshev series of a square root, of which the last ones are extrapolated.
_TERMS = 4096


class Edge(NamedTuple):
    """The upper edge of a spectrum, each of the common shape of its arguments.

    Attributes:
        value: the edge.
        slope: its derivative in the shift.
        scale: the largest eigenvalue is ``value + scale·ξ``, with ξ of Tracy and Widom's law.
    """

    value: Tensor
    slope: Tensor
    scale: Tensor


class LargestWishart(NamedTuple):
    """Moments of ``G`` with independent standard Gaussian entries, of the shape of its arguments.

    Attributes:
        mean: of the largest eigenvalue ``‖G‖₂²`` of ``GᵀG``.
        covariance: ``(..., 3, 3)``, of ``‖G‖₂²``, ``‖G‖_F²`` and ``‖G‖_*²``.
    """

    mean: Tensor
    covariance: Tensor


def marchenko_pastur_density(values: ArrayLike, ratio: ArrayLike, scale: ArrayLike = 1.0) -> Tensor:
    """``√((b − x)(x − a)) / (2π γ s x)`` between ``a, b = s (1 ∓ √γ)²``, and 0 elsewhere.

    It is the limit law of the ``D`` eigenvalues of ``WᵀW``, for ``W`` ``(m, D)`` with independent
    entries of mean 0 and variance ``s/m``, as ``D/m`` tends to γ. An atom ``1 − 1/γ`` at 0, where γ
    exceeds 1, is not in the density.

    Args:
        values: ``x``, any shape.
        ratio: γ, positive, of a shape that broadcasts with it.
        scale: ``s``, positive, likewise.

    Returns:
        The density, infinite at ``x = 0`` for ``γ = 1``.

    Raises:
        ValueError: numbers that are not positive or not finite, or shapes that do not broadcast.

    Source: Marchenko and Pastur (1967).

    Example:
        >>> round(marchenko_pastur_density(1.0, 1.0).item() * 2 * math.pi, 12)  # √3
        1.732050807569
    """
    x, gamma, s = _law(values, ratio, scale)
    low, high = s * (1 - gamma.sqrt()).square(), s * (1 + gamma.sqrt()).square()
    inside = (x >= low) & (x <= high)
    root = ((high - x) * (x - low)).clamp_min(0).sqrt()
    density = root / (2 * math.pi * gamma * s * x)
    # 0/0 at the hard edge, where the density is not bounded.
    return torch.where(inside, density.nan_to_num(math.inf, math.inf), 0.0)


def marchenko_pastur_cdf(values: ArrayLike, ratio: ArrayLike, scale: ArrayLike = 1.0) -> Tensor:
    """The share of eigenvalues that do not exceed ``x``, with the atom at 0.

    With ``x = s (1 + γ + 2√γ cos θ)`` the mass above is ``((1 + γ) θ − 2√γ sin θ − 2 |1 − γ|
    arctan(|1 − √γ| / (1 + √γ) · tan(θ/2))) / (2π γ)``.

    Args and errors are those of :func:`marchenko_pastur_density`.

    Source: :func:`marchenko_pastur_density`, integrated; error some 1e-16 / γ by cancellation.

    Example:
        >>> marchenko_pastur_cdf([0.0, 2.0, 4.0], [2.0, 1.0, 1.0]).numpy().round(4)
        array([0.5   , 0.8183, 1.    ])
    """
    x, gamma, s = _law(values, ratio, scale)
    root = gamma.sqrt()
    cosine = (x / s - 1 - gamma) / (2 * root)
    theta = torch.arccos(cosine.clamp(-1.0, 1.0))
    slope = (1 - root).abs() / (1 + root)
    # tan(θ/2) is infinite at the lower edge; the arctangent of two arguments is not.
    angle = torch.atan2(slope * torch.sin(theta / 2), torch.cos(theta / 2))
    above = (1 + gamma) * theta - 2 * root * torch.sin(theta) - 2 * (1 - gamma).abs() * angle
    share = (1 - above / (2 * math.pi * gamma)).clamp(0.0, 1.0)
    return torch.where(x < 0, 0.0, share)


def marchenko_pastur_quantile(
    levels: ArrayLike, ratio: ArrayLike, scale: ArrayLike = 1.0
) -> Tensor:
    """The smallest ``x`` whose :func:`marchenko_pastur_cdf` is at least a level.

    Args:
        levels: in ``[0, 1]``, any shape.
        ratio: γ, of a shape that broadcasts with it.
        scale: ``s``, likewise.

    Raises:
        ValueError: levels outside of it, or as for the distribution function.

    Source: :func:`marchenko_pastur_cdf`, by 60 halvings.

    Example:
        >>> marchenko_pastur_quantile([0.25, 1.0], [2.0, 1.0]).tolist()
        [0.0, 4.0]
    """
    p, gamma, s = _law(levels, ratio, scale)
    require_all("levels", p, (p >= 0) & (p <= 1), "levels in [0, 1]")
    return _inverse(lambda x: marchenko_pastur_cdf(x, gamma, s), p, _upper(gamma, s))


def marchenko_pastur_moment(order: int, ratio: ArrayLike, scale: ArrayLike = 1.0) -> Tensor:
    """``s^k Σ_r γ^r C(k, r) C(k − 1, r) / (r + 1)``, the moment of order ``k ≥ 1``.

    Args:
        order: ``k``.
        ratio: γ, positive.
        scale: ``s``, positive.

    Raises:
        ValueError: an order below 1, or numbers that are not positive.

    Source: Marchenko and Pastur's law; its coefficients are Narayana's numbers.

    Example:
        >>> marchenko_pastur_moment(2, 0.5).item()  # 1 + γ
        1.5
    """
    if order < 1:
        raise ValueError(f"order: expected at least 1, got {order}")
    _, gamma, s = _law(0.0, ratio, scale)
    terms = [math.comb(order, r) * math.comb(order - 1, r) / (r + 1) for r in range(order)]
    powers = torch.stack([weight * gamma**r for r, weight in enumerate(terms)])
    return finite(s**order * powers.sum(0))


def pair_sum_cdf(values: ArrayLike, ratios: ArrayLike, scales: ArrayLike = (1.0, 1.0)) -> Tensor:
    """The limit law of all sums ``σ_i(W_1)² + σ_j(W_2)²``: the classical convolution of two laws.

    ``F(x) = ∫ F_1(x − y) dF_2(y)`` with Marchenko and Pastur's ``F_l``. The sums are those of all
    pairs, so that the law of the sums is exactly the convolution of the laws of the terms, however
    the layers depend on each other; it is not the free one. The distance of the sums' law from this
    limit is at most the sum of the distances of both terms', in the largest difference of
    distribution functions. That of ``D`` eigenvalues is near ``1/D``.

    Args:
        values: ``x``, any shape.
        ratios: ``(D/m, K/m)``, positive.
        scales: ``(m·var W_1, m·var W_2)``, positive.

    Returns:
        The shares of the ``KD`` eigenvalues that do not exceed ``x``, by a midpoint rule over 4096
        angles. Its error is below 1e-6 (1e-9 for ratios below 1/2), by comparison with more angles.

    Raises:
        ValueError: numbers that are not positive or not finite, or a bad shape.

    Source: this project, for anon2026data, eq. (15), at a random start; the terms' law is Marchenko
    and Pastur's (1967).

    Example:
        >>> round(pair_sum_cdf([5.0], [1.0, 1.0], [1.0, 0.001]).item(), 4)
        1.0
    """
    (x,) = read({"values": "?"}, values=values)
    first, second = read({"ratios": "l", "scales": "l"}, ratios=ratios, scales=scales)
    if len(first) != 2:
        raise ValueError(f"ratios: expected two, of both layers, got {len(first)}")
    _, gamma, s = _law(0.0, first, second)
    share, weights = _quadrature(gamma[1])
    atoms = (1 - 1 / gamma).clamp_min(0.0)

    def continuous(values: Tensor) -> Tensor:
        """The first law without its atom, at whose jump the quadrature would lose digits."""
        return (marchenko_pastur_cdf(values, gamma[0], s[0]) - atoms[0]).clamp_min(0.0)

    both = (weights * continuous(x[..., None] - s[1] * share)).sum(-1)
    last = atoms[0] * marchenko_pastur_cdf(x, gamma[1], s[1])
    return (both + last + atoms[1] * continuous(x)).clamp(0.0, 1.0)


def pair_sum_quantile(
    levels: ArrayLike, ratios: ArrayLike, scales: ArrayLike = (1.0, 1.0)
) -> Tensor:
    """The smallest ``x`` whose :func:`pair_sum_cdf` is at least a level.

    Args:
        levels: in ``[0, 1]``, any shape.
        ratios: ``(D/m, K/m)``.
        scales: ``(m·var W_1, m·var W_2)``.

    Raises:
        ValueError: levels outside of it, or as for the distribution function.

    Source: :func:`pair_sum_cdf`, by 60 halvings.

    Example:
        >>> pair_sum_quantile([0.0, 1.0], [1.0, 1.0]).tolist()
        [0.0, 8.0]
    """
    (p,) = read({"levels": "?"}, levels=levels)
    require_all("levels", p, (p >= 0) & (p <= 1), "levels in [0, 1]")
    _, gamma, s = _law(0.0, ratios, scales)
    upper = _upper(gamma, s).sum().expand_as(p)
    return _inverse(lambda x: pair_sum_cdf(x, ratios, scales), p, upper)


def sampled_edge(
    second_moments: ArrayLike, width: ArrayLike, variance: ArrayLike, shift: ArrayLike
) -> Edge:
    r"""The upper edge of ``S^{1/2}(WᵀW + aI)S^{1/2}``, for ``W`` ``(m, D)`` of variance ``v``.

    With ``a = ‖W_2‖²`` its largest eigenvalue is the Gauss-Newton matrix's of two linear layers.
    As the shift commutes with S the fixed point of the resolvent is that of one number ``c``: the
    resolvent at z is near ``(cS − z)^{-1}``, with ``c² − (a + mv + v h) c + a v h = 0`` where
    ``h = Σ_j τ_j/(ζ − τ_j)``, ``τ_j`` the eigenvalues of S and ``ζ = z/c``. The edge is the
    smallest ``ζ c(ζ)`` at ζ beyond all ``τ_j``; its slope is ``ζ ∂c/∂a`` there. For a general
    matrix in the place of ``aI`` that does not commute with S nothing so short holds.

    Args:
        second_moments: τ ``(..., D)``, not negative, not all 0.
        width: m, of a shape that broadcasts with ``(...)``.
        variance: v, positive, likewise.
        shift: a, not negative, likewise.

    Raises:
        ValueError: numbers out of these ranges or not finite, or shapes that do not broadcast.

    Source: this project, from the fixed point of Marchenko and Pastur (1967) and Silverstein and
    Bai (1995).

    Example:
        >>> edge = sampled_edge([1.0] * 100, 100, 0.01, 0.5)  # (√100 + √100)² / 100 + 1/2
        >>> round(edge.value.item(), 12), round(edge.slope.item(), 12)
        (4.5, 1.0)
    """
    (tau,) = read({"second_moments": "?"}, second_moments=second_moments)
    m, v, a = broadcast(width=width, variance=variance, shift=shift)
    require_all("second_moments", tau, tau >= 0, "numbers that are not negative")
    for name, number, good in (("width", m, m > 0), ("variance", v, v > 0), ("shift", a, a >= 0)):
        require_all(name, number, good, "positive numbers, or a shift of 0")
    top = tau.amax(-1)
    require_all("second_moments", top, top > 0, "some that are positive")
    top, m, v, a = torch.broadcast_tensors(top, m, v, a)

    def terms(zeta: Tensor) -> tuple[Tensor, ...]:
        """The c at ζ, the slopes of ζc in ζ and a, its bend, and the slope of the trace."""
        away = 1 / (zeta[..., None] - tau)
        h, first, second = ((tau * away**k).sum(-1) for k in (1, 2, 3))
        whole, part = a + m * v + v * h, v * h
        root = torch.hypot(m * v + part - a, 2 * (a * m * v).sqrt())
        c = (whole + root) / 2
        in_h = v / 2 * (1 + (whole - 2 * a) / root)
        curved = 2 * a * v**3 * m / root**3
        in_a = (1 + (whole - 2 * part) / root) / 2
        bend = -2 * in_h * first + zeta * (curved * first.square() + 2 * in_h * second)
        inverse = (away.square().sum(-1) * c - away.sum(-1) * in_h * first) / c.square()
        return c, c - zeta * in_h * first, zeta * in_a, bend, inverse

    # The derivative rises from −∞ at the largest τ; far beyond it is positive.
    low, high = torch.zeros_like(top), torch.full_like(top, 1.0)
    span = top * (2 + 4 * (tau.shape[-1] / m).sqrt())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rising = terms(top + span * middle)[1] > 0
        low, high = torch.where(rising, low, middle), torch.where(rising, middle, high)
    zeta = top + span * high
    c, _, slope, bend, inverse = terms(zeta)
    scale = (inverse.abs() * (2 / bend).sqrt()) ** (-2 / 3)
    return Edge(finite(zeta * c), finite(slope), finite(scale))


def largest_wishart(rows: ArrayLike, columns: ArrayLike) -> LargestWishart:
    """Moments of the squared norms of a matrix with standard Gaussian entries.

    They are exact for one or two columns (or rows). There ``‖G‖_F²`` is chi-square and independent
    of the share ``(1 + w)/2`` of the largest eigenvalue, with ``w²`` of the law
    ``Beta(1, (n − 1)/2)``. For more, mean and variance are those of Tracy and Widom's law, whose
    error falls as ``size^(−2/3)``. Exact for all are the variance of ``‖G‖_F²`` and its covariance
    ``2 E‖G‖₂²`` with the largest eigenvalue, as ``G/‖G‖_F`` is independent of ``‖G‖_F``. That of
    the nuclear norm is the response of the edge to a change of the weight: with ``b_k`` and ``a_k``
    the Chebyshev coefficients on the support of ``√x`` and ``x``, ``cov(‖G‖₂², ‖G‖_*) =
    2 E‖G‖₂² Σ_k k b_k / a_1`` and ``var ‖G‖_* = Σ_k k b_k²/2``.

    Args:
        rows: n, at least 1, any shape.
        columns: p, at least 1, of a shape that broadcasts with it.

    Raises:
        ValueError: sizes below 1 or not finite, or shapes that do not broadcast.

    Source: Johnstone (2001) and Ma (2012) for mean and variance, Bornemann (2010) for their
    constants; the variance of linear statistics is known. The rest is this project's.

    Example:
        >>> moments = largest_wishart(10, 1)  # chi-square with 10 degrees of freedom
        >>> moments.mean.item(), moments.covariance[0, 1].item()
        (10.0, 20.0)
    """
    n, p = broadcast(rows=rows, columns=columns)
    for name, size in (("rows", n), ("columns", p)):
        require_all(name, size, size >= 1, "sizes of at least 1")
    long, short = torch.maximum(n, p), torch.minimum(n, p)
    exact, wide = _few_columns(long, short), _many_columns(long, short)
    few = short <= 2
    mean = torch.where(few, exact.mean, wide.mean)
    return LargestWishart(
        finite(mean), finite(torch.where(few[..., None, None], exact.covariance, wide.covariance))
    )


def initial_norm_correlations(
    inputs: ArrayLike,
    outputs: ArrayLike,
    width: ArrayLike,
    first_variance: ArrayLike,
    last_variance: ArrayLike,
    second_moments: ArrayLike | None = None,
) -> Tensor:
    """Pearson's r over random starts of squared norms with the Gauss-Newton sharpness.

    The layers are independent, with Gaussian entries. For white inputs the sharpness is
    ``‖W_1‖₂² + ‖W_2‖₂²``, so that ``r`` of the spectral norm of layer l is
    ``v_l s_l / √(v_1² s_1² + v_2² s_2²)`` with ``s_l`` the deviations of the largest eigenvalues
    of :func:`largest_wishart`: for ``D = K`` it is ``v_l / √(v_1² + v_2²)``, exactly and at every
    size. That of the other norms is theirs with the spectral norm times this factor. For other
    inputs the edge of :func:`sampled_edge` has the sharpness' variance, the last layer's share and,
    by ``cov(‖W‖_F², λ) = v E⟨W, ∂λ/∂W⟩`` for any λ, the Frobenius norm of the first.

    Args:
        inputs: D, any shape; the others broadcast with it.
        outputs: K.
        width: m.
        first_variance: ``v_1``, of the entries of ``W_1``, each times the multipliers of both
            layers.
        last_variance: ``v_2``, of those of ``W_2``, likewise.
        second_moments: the eigenvalues of S ``(..., D)``, for white inputs none or equal ones.

    Returns:
        ``(..., 2, 3)``, by layer and norm (spectral, Frobenius, nuclear); with second moments the
        spectral and the nuclear norm of the first layer are NaN, unless S is white.

    Raises:
        ValueError: sizes below 1, variances that are not positive, or shapes that do not broadcast.

    Source: this project, for singh2026cracking, appendix D.3.3 and figures 4, 14 and 15, at
    initialisation.

    Example:
        >>> r = initial_norm_correlations(30, 30, 40, 1.0, 0.75)[:, 0]
        >>> [round(value, 12) for value in r.tolist()]
        [0.8, 0.6]
    """
    names = {"inputs": inputs, "outputs": outputs, "width": width}
    variances = {"first_variance": first_variance, "last_variance": last_variance}
    d, k, m, *v = broadcast(**names, **variances)
    for name, variance in zip(variances, v, strict=True):
        require_all(name, variance, variance > 0, "positive numbers")
    layers = [largest_wishart(m, size) for size in (d, k)]
    # Each layer's norms, of which the first is its term of the sharpness for white inputs.
    deviations = [layer.covariance.diagonal(dim1=-2, dim2=-1).sqrt() for layer in layers]
    with_term = [
        variance[..., None] * layer.covariance[..., 0, :] / deviation
        for variance, layer, deviation in zip(v, layers, deviations, strict=True)
    ]
    terms = [(variance * each[..., 0]) for variance, each in zip(v, deviations, strict=True)]
    white = torch.stack(with_term, dim=-2) / torch.hypot(*terms)[..., None, None]
    if second_moments is None:
        return white
    shift = v[1] * layers[1].mean
    edge = sampled_edge(second_moments, m, v[0], shift)
    sharpness = torch.hypot(edge.slope * terms[1], TRACY_WIDOM_VARIANCE**0.5 * edge.scale)
    own = edge.value + TRACY_WIDOM_MEAN * edge.scale - shift * edge.slope
    first = torch.full_like(with_term[0], torch.nan)
    first[..., 1] = 2 * own / deviations[0][..., 1]
    last = edge.slope[..., None] * with_term[1]
    (tau,) = read({"second_moments": "?"}, second_moments=second_moments)
    alike = (tau.amax(-1) == tau.amin(-1))[..., None, None]
    sampled = torch.stack([first, last], dim=-2) / sharpness[..., None, None]
    return torch.where(alike, white, sampled)


def _law(values: ArrayLike, ratio: ArrayLike, scale: ArrayLike) -> list[Tensor]:
    """Values, ratio and scale of one shape, the latter two positive."""
    x, gamma, s = broadcast(values=values, ratio=ratio, scale=scale)
    require_all("ratio", gamma, gamma > 0, "positive numbers")
    require_all("scale", s, s > 0, "positive numbers")
    return [x, gamma, s]


def _angles(count: int, device: torch.device) -> Tensor:
    """The midpoints of equal parts of the half circle."""
    return (torch.arange(count, dtype=torch.float64, device=device) + 0.5) * math.pi / count


def _quadrature(gamma: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes of Marchenko and Pastur's law of scale 1 without its atom, and their weights."""
    theta = _angles(_NODES, gamma.device)
    share = 1 + gamma[..., None] + 2 * gamma.sqrt()[..., None] * torch.cos(theta)
    return share, 2 / _NODES * torch.sin(theta).square() / share


def _upper(gamma: Tensor, scale: Tensor) -> Tensor:
    """The upper edge of Marchenko and Pastur's law."""
    return scale * (1 + gamma.sqrt()).square()


def _inverse(cdf: Callable[[Tensor], Tensor], levels: Tensor, upper: Tensor) -> Tensor:
    """Where a distribution function on ``[0, upper]`` reaches its levels, by halving."""
    low, high = torch.zeros_like(upper), upper.clone()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = cdf(middle) >= levels
        low, high = torch.where(reached, low, middle), torch.where(reached, middle, high)
    value = torch.where(cdf(torch.zeros_like(high)) >= levels, 0.0, high)
    # At the edge a distribution function is flat.
    return torch.where(levels >= 1, upper, value)


def _few_columns(long: Tensor, short: Tensor) -> LargestWishart:
    """The moments for one column or two."""
    two, b = short > 1, (long - 1).clamp_min(1.0) / 2

    def share(p: float, q: float) -> Tensor:
        """``E w^{2p} (1 − w²)^q``, of one column with w = 1."""
        beta = torch.lgamma(b + q) - torch.lgamma(b + q + 1 + p)
        value = b * torch.exp(math.lgamma(1 + p) + beta)
        return torch.where(two, value, 1.0 if q == 0 else 0.0)

    total, square = long * short, long * short * (long * short + 2)
    w, rest = share(0.5, 0.0), share(0.0, 0.5)
    top, nuclear = (1 + w) / 2, 1 + rest
    whole = torch.ones_like(w)
    means = torch.stack([top, whole, nuclear], dim=-1)
    products = {
        (0, 0): (1 + 2 * w + share(1.0, 0.0)) / 4,
        (0, 2): (1 + w + rest + share(0.5, 0.5)) / 2,
        (2, 2): 1 + 2 * rest + share(0.0, 1.0),
        (0, 1): top,
        (1, 1): whole,
        (1, 2): nuclear,
    }
    rows = [[products[min(i, j), max(i, j)] for j in range(3)] for i in range(3)]
    second = torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
    outer = means[..., :, None] * means[..., None, :]
    return LargestWishart(
        total * top, square[..., None, None] * second - total.square()[..., None, None] * outer
    )


def _many_columns(long: Tensor, short: Tensor) -> LargestWishart:
    """The moments for three columns and more."""
    n, p = (long - 0.5).sqrt(), (short - 0.5).sqrt()
    scale = (n + p) * (1 / n + 1 / p) ** (1 / 3)
    mean = (n + p).square() + TRACY_WIDOM_MEAN * scale
    variance = TRACY_WIDOM_VARIANCE * scale.square()
    # √x on the support, x = n + p + 2 √(np) cos θ, is |√n + √p e^{iθ}|.
    theta = _angles(_TERMS, long.device)
    root = (long + short)[..., None] + 2 * (long * short).sqrt()[..., None] * torch.cos(theta)
    root = root.clamp_min(0.0).sqrt()
    k = torch.arange(1, _TERMS // 8 + 1, dtype=torch.float64, device=long.device)
    b = 2 / _TERMS * root @ torch.cos(theta[:, None] * k)
    a = 2 * (long * short).sqrt()
    # Half the last term of the alternating sum: what is left out is below its square.
    response = (k * b).sum(-1) - (k * b)[..., -1] / 2
    spread = (k * b.square()).sum(-1) / 2
    # E‖G‖_* over p roots; that of its square differs by the variance.
    total = short * _mean_root(long, short)
    with_top = 4 * total * mean * response / a
    square = total.square() + spread
    nuclear = 4 * total.square() * spread + 2 * spread.square()
    rows = [
        [variance, 2 * mean, with_top],
        [2 * mean, 2 * long * short, 2 * square],
        [with_top, 2 * square, nuclear],
    ]
    covariance = torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
    return LargestWishart(mean, covariance)


def _mean_root(long: Tensor, short: Tensor) -> Tensor:
    """The mean of ``√x`` in Marchenko and Pastur's law of ``short`` eigenvalues."""
    share, weights = _quadrature(short / long)
    return (weights * (long[..., None] * share).sqrt()).sum(-1)
