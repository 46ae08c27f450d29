"""Self-attention: Theorem 3.5, Remarks B.2 to B.4 and 3.1, and activations other than softmax.

All of it is in singh2026cracking, section 3.3 and appendix B.5. In its symbols N = ‖w_K‖² + ‖w_Q‖²,
k = ⟨w_K, w_Q⟩ and T = α + ζ N.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import ROOT, Error, theorem
from hessian_papers.theorems.errors import basis_error, excess, relative, roots_error, worst
from hessian_papers.theorems.instances import Instance
from hessian_papers.theorems.two_layer import pair
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import numbers

# Parts of Theorem 3.5.
of_the_spectrum = partial(theorem, of="attention-spectrum")
# How far one of the two weight vectors grows (and the other shrinks, so that ⟨w_K, w_Q⟩ stays)
# where the monotonicity of a bound is looked at.
STRETCHES = (1.0, 1.05, 1.5, 4.0)


@dataclass(eq=False, kw_only=True)
class Attention(Instance, instances.Attention):
    """Self-attention with softmax; in every third instance d_K = 1, without a bulk."""

    @cached_property
    def coefficients(self) -> cf.AttentionCoefficients:
        """α, β, γ and ζ, means over the sequences."""
        return cf.attention_coefficients(**self.arguments)

    @property
    def weighted(self) -> tuple[cf.AttentionCoefficients, Tensor, Tensor]:
        """The arguments of the library's functions of coefficients."""
        return self.coefficients, self.w_query, self.w_key

    @property
    def gamma(self) -> Tensor:
        """γ, the bulk eigenvalue."""
        return self.coefficients.gamma

    @property
    def zeta(self) -> Tensor:
        """The coefficient ζ."""
        return self.coefficients.zeta

    @property
    def norms(self) -> Tensor:
        """The sum N of the squared norms."""
        return self.w_key @ self.w_key + self.w_query @ self.w_query

    @property
    def inner(self) -> Tensor:
        """The inner product k = ⟨w_K, w_Q⟩."""
        return self.w_key @ self.w_query

    @property
    def stated_trace(self) -> Tensor:
        """The trace T."""
        return self.coefficients.alpha + self.zeta * self.norms

    @property
    def difference(self) -> Tensor:
        """β² − αζ."""
        return self.coefficients.beta**2 - self.coefficients.alpha * self.zeta

    @property
    def polynomial(self) -> tuple[Tensor, Tensor]:
        """The linear and the constant coefficient of the third-order polynomial."""
        linear = self.difference * self.norms + 2 * self.gamma * self.zeta * self.inner
        constant = 2 * self.gamma * self.difference * self.inner
        alpha = self.coefficients.alpha
        return linear + self.gamma**2, constant - alpha * self.gamma**2

    @cached_property
    def cubic(self) -> cf.DepressedCubic:
        """The library's cubic, T/3 away."""
        return cf.attention_cubic(*self.weighted)

    @property
    def outliers(self) -> Tensor:
        """The three measured outliers, ascending, by their places in the closed form's order."""
        places = [label.startswith("outlier") for label in self.spectrum.labels]
        return self.eigenvalues[torch.tensor(places)]

    def with_bulk(self, outliers: Tensor, gamma: Tensor) -> Tensor:
        """All eigenvalues ``(1 + 2 d_K,)`` from the three outliers and ±γ."""
        bulk = gamma.expand(len(self.w_key) - 1)
        return torch.cat([outliers, bulk, -bulk]).sort().values

    @property
    def has_bulk(self) -> bool:
        """True where the width leaves room for a bulk."""
        return len(self.w_key) > 1

    @property
    def has_gamma(self) -> bool:
        """True where γ is not 0."""
        return not self.gamma.abs() < 1e-13 * self.size

    @property
    def printed_half_width(self) -> Tensor:
        """The half width ξ, displayed three times: ζ‖w_K‖ + ζ‖w_Q‖ + α, norms without a square.

        The root can be of a negative number; the nearest width that is a number is then 0.
        """
        summed = self.zeta * self.w_key.norm() + self.zeta * self.w_query.norm()
        inside = 3 * self.polynomial[0] + (summed + self.coefficients.alpha) ** 2
        return 2 * inside.clamp_min(0).sqrt() / 3

    def outside(self, values: Tensor, low: Tensor, high: Tensor) -> float:
        """The distance by which ascending values leave an interval."""
        return worst(excess(low, values[0], self.size), excess(values[-1], high, self.size))

    def condition_error(self, bound: Tensor) -> Error:
        """The gap between max|λ| and a bound on the condition number times min|λ| above it."""
        sizes = self.eigenvalues.abs()
        return excess(bound * sizes.min(), sizes.max(), sizes.max())


@dataclass(eq=False, kw_only=True)
class Rowwise(Instance, instances.Rowwise):
    """Self-attention with tanh of each score in the place of softmax."""


@theorem(cracking="Theorem 3.5")
def attention_spectrum(net: Attention) -> Error:
    """The spectrum is $±γ$, each $d_K - 1$ times, and three outliers. For a batch, $α$, $β$, $γ$
    and $ζ$ are the means over the sequences.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem(ours=True, cracking="Theorem 3.5, beyond its statement")
def attention_basis(net: Attention) -> Error:
    """The eigenvectors are known as well: those of a $3 × 3$ matrix and, for the bulk, vectors
    orthogonal to $w_K ± w_Q$.

    Remark: Our addition: the paper gives eigenvalues.
    """
    return basis_error(net.hessian, net.spectrum.eigenvectors(), net.spectrum.eigenvalues)


@of_the_spectrum(tolerance=ROOT, cracking="appendix B.5")
def attention_viete(net: Attention) -> Error:
    r"""The outliers are $T/3 + 2\sqrt{-p/3} \cos(\frac13 \arccos((3q/2p)\sqrt{-3/p}) - 2πk/3)$,
    $k = 0, 1, 2$.

    Remark: With q corrected, and cos where the available copy has “$\cos ζ$”.
    """
    return relative(net.with_bulk(net.cubic.roots(), net.gamma), net.eigenvalues)


@of_the_spectrum(cracking="appendix B.5")
def attention_cubic(net: Attention) -> Error:
    """The outliers are the roots of the displayed third-order polynomial."""
    cubic = [-torch.ones_like(net.gamma), net.stated_trace, *net.polynomial]
    return roots_error(torch.stack(cubic), net.outliers)


@theorem(of="attention-largest", cracking="eq. (121)")
def attention_trace(net: Attention) -> Error:
    r"""$\operatorname{tr}(H) = α + ζ(‖w_K‖^2 + ‖w_Q‖^2)$, the sum of the three outliers."""
    traces = torch.stack([net.outliers.sum(), net.trace])
    return relative(net.stated_trace, traces, over=net.size)


@theorem(tolerance=ROOT, cracking="Remark B.2")
def attention_query_key(net: Attention) -> Error:
    """The block of queries and keys is a two-layer linear network's: its bulk is $±γ$, too."""
    # That of a network with σ² = ζ and δx = γ.
    product = -(net.gamma**2) - 2 * net.zeta * net.gamma * net.inner
    trace, bulk = net.zeta * net.norms, net.gamma.expand(len(net.w_key) - 1)
    stated = torch.cat([pair(trace, trace**2 - 4 * product), bulk, -bulk]).sort().values
    # Over the whole Hessian's size: the block can vanish.
    return relative(stated, torch.linalg.eigvalsh(net.hessian[1:, 1:]), over=net.size)


@theorem(cracking="Remark B.3")
def attention_without_gamma(net: Attention) -> Error:
    """For $γ = 0$ two outliers solve a quadratic; the third and the bulk are 0."""
    if net.has_gamma:
        return None
    outliers = torch.cat([cf.attention_outliers_without_bulk(*net.weighted), numbers(0.0)])
    return relative(net.with_bulk(outliers, 0 * net.gamma), net.eigenvalues)


@theorem(of="attention-largest", cracking="Remark B.4, eq. (121)")
def attention_large_outlier(net: Attention) -> Error:
    r"""$T/3 + ξ/2 ≤ \text{largest outlier} ≤ T/3 + ξ$.

    Remark: With squared norms in $ξ$.
    """
    centre, (low, high) = net.stated_trace / 3, cf.attention_outlier_bounds(*net.weighted)
    half_width = (high - low) / 2
    return net.outside(net.outliers[-1:], centre + half_width / 2, centre + half_width)


@theorem(cracking="section 3.3")
def attention_smallest(net: Attention) -> Error:
    r"""$|λ_{\min}| ≤ |γ|$ for $d_K ≥ 2$: the bulk bounds the smallest eigenvalue in magnitude."""
    smallest = net.eigenvalues.abs().min()
    return excess(smallest, net.gamma.abs(), net.size) if net.has_bulk else None


@theorem(of="attention-dominant", ours=True, cracking="Remark 3.1, stronger")
def attention_strong_condition(net: Attention) -> Error:
    """$κ(H) ≥ (2|T| + 3ξ)/(6|γ|)$ for $d_K ≥ 2$ and $γ ≠ 0$.

    Remark: Our addition.
    """
    if not (net.has_bulk and net.has_gamma):
        return None
    return net.condition_error(cf.condition_number_bound(*net.weighted))


@theorem(ours=True, cracking="Remark B.4, beyond its statement")
def attention_dominant(net: Attention) -> Error:
    """For $ζ ≥ 0$ the largest eigenvalue is an outlier: it is at least $|γ|$.

    Remark: Our addition.
    """
    return excess(net.gamma.abs(), net.outliers[-1], net.size) if net.zeta >= 0 else None


@theorem(cracking="below Theorem 3.5")
def rowwise_spectrum(net: Rowwise) -> Error:
    """The theorem holds for other twice differentiable activations applied to each row (here tanh
    of each score).
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem("Theorem 3.5: ξ", cracking="Theorem 3.5, in three displays")
def attention_outlier_bounds(net: Attention, printed: bool = False) -> Error:
    """The outliers lie within $T/3 ± ξ$ with $(ζ‖w_K‖^2 + ζ‖w_Q‖^2 + α)^2$ in $ξ$.

    In print: $(ζ‖w_K‖ + ζ‖w_Q‖ + α)^2$ in $ξ$
    Remark: The radicand in print can even be negative (counted as $ξ = 0$).
    """
    if printed:
        away = (net.outliers - net.stated_trace / 3).abs().max()
        return excess(away, net.printed_half_width, net.size)
    return net.outside(net.outliers, *cf.attention_outlier_bounds(*net.weighted))


@of_the_spectrum("Theorem 3.5: q", cracking="appendix B.5")
def attention_q(net: Attention, printed: bool = False) -> Error:
    """$q = -(2T^3 + 9T[(β^2 - αζ)N + 2γζk + γ^2] + 27[2γ(β^2 - αζ)k - αγ^2])/27$.

    In print: without the first brackets: 9T multiplies $(β^2 - αζ)N$ alone
    """
    q, shift, trace = net.cubic.q, net.cubic.shift, net.stated_trace
    if printed:
        linear, constant = net.polynomial
        within = net.difference * net.norms
        q = -(2 * trace**3 + 9 * trace * within + (linear - within) + 27 * constant) / 27
    # t³ + p t + q in λ = t + T/3.
    squared, constant = 3 * shift**2 + net.cubic.p, -(shift**3) - net.cubic.p * shift + q
    cubic = [torch.ones_like(q), -3 * shift, squared, constant]
    return roots_error(torch.stack(cubic), net.outliers)


@of_the_spectrum("Theorem 3.5: Hessian", cracking="appendix B.5, first display")
def attention_display(net: Attention, printed: bool = False) -> Error:
    """The first displayed Hessian is in the order $(w_V, w_Q, w_K)$, in rows and columns.

    In print: columns labelled $∂w_V$, $∂w_K$, $∂w_Q$
    """
    (alpha, beta, gamma, zeta), key, query = net.coefficients, net.w_key, net.w_query
    cross = zeta * torch.outer(key, query) + gamma * torch.eye(len(key), dtype=torch.float64)
    first = torch.cat([alpha.reshape(1), beta * key, beta * query])
    middle = torch.cat([zeta * torch.outer(key, key), cross], dim=1)
    last = torch.cat([cross.mT, zeta * torch.outer(query, query)], dim=1)
    below = torch.cat([first[1:, None], torch.cat([middle, last])], dim=1)
    displayed = torch.cat([first[None], below])
    if printed:
        displayed[:, 1:] = displayed[:, 1:].roll(len(key), 1)
    return relative(displayed, net.hessian)


@theorem("Remark B.4: λ_max", cracking="Remark B.4")
def attention_largest(net: Attention, printed: bool = False) -> Error:
    r"""$λ_{\max}(H) = \max(\text{largest outlier}, |γ|)$: the bounds hold with $|γ|$ taken into
    account.

    In print: $λ_{\max} ≤ T/3 + ξ$ for the largest Hessian eigenvalue
    Remark: For $ζ < 0$ the bulk can be larger than all outliers.
    """
    if printed:
        return excess(net.eigenvalues[-1], cf.attention_outlier_bounds(*net.weighted)[1], net.size)
    return net.outside(net.eigenvalues[-1:], *cf.attention_largest_eigenvalue_bounds(*net.weighted))


@theorem("Remark 3.1", cracking="Remark 3.1")
def attention_condition(net: Attention, printed: bool = False) -> Error:
    """$κ(H) ≥ (2T + 3ξ)/(6|γ|)$ with squared norms in $ξ$, for $d_K ≥ 2$ and $γ ≠ 0$.

    In print: the same with the printed $ξ$
    Remark: Norms below 1 exceed their squares, and the printed bound is then too large.
    """
    if not (net.has_bulk and net.has_gamma):
        return None
    in_print = (2 * net.stated_trace + 3 * net.printed_half_width) / (6 * net.gamma.abs())
    right = cf.condition_number_bound(*net.weighted, signed_trace=True)
    return net.condition_error(in_print if printed else right)


@theorem(
    of="attention-dominant",
    ours=True,
    cracking="below Remark 3.1, beyond its statement",
)
def attention_monotone(net: Attention) -> Error:
    """At fixed $⟨w_K, w_Q⟩$ and $ζ > 0$ the bound of Remark 3.1 grows with $‖w_K‖^2 + ‖w_Q‖^2$.

    Remark: Our addition. For $ζ < 0$ it can fall.
    Measured by: the bound itself, as one weight vector is scaled
    """
    if net.zeta < 0:
        return None
    longer, shorter = net.w_query, net.w_key
    if longer.norm() < shorter.norm():
        longer, shorter = shorter, longer
    cubics = [cf.attention_cubic(net.coefficients, longer * s, shorter / s) for s in STRETCHES]
    bounds = torch.stack([cubic.shift + cubic.half_width() / 2 for cubic in cubics])
    return excess(bounds[:-1], bounds[1:], bounds.abs().max())
