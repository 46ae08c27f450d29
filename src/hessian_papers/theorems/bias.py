"""The linear network with bias: Theorem B.1 (singh2024closed, Theorem 6), eq. (68) to (110).

Equations are those of singh2026cracking where no other paper is named.
"""

import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import FAILS, ROOT, Error, theorem
from hessian_papers.theorems.errors import excess, relative, roots_error
from hessian_papers.theorems.instances import Instance
from hessian_papers.theorems.two_layer import pair
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances

# Parts of Theorem B.1; of the sextic the whole characteristic polynomial is left at width 2.
of_the_spectrum = partial(theorem, of="bias-spectrum")
of_the_sextic = partial(
    of_the_spectrum, source="brute force at $m = 2$, where all six eigenvalues are roots"
)


def viete(p: Tensor, q: Tensor) -> Tensor:
    """Eq. (110): the three real roots ``(3,)`` of t³ + p t + q, largest first."""
    if p == 0:
        return torch.zeros(3, dtype=p.dtype)
    # Round-off moves the argument of a double root just out of [-1, 1].
    angle = (3 * q / (2 * p) * (-3 / p).sqrt()).clamp(-1, 1).arccos() / 3
    turns = torch.arange(3, dtype=p.dtype) * (2 * math.pi / 3)
    return 2 * (-p / 3).sqrt() * (angle - turns).cos()


def bias_pair(total: Tensor, squared: Tensor) -> Tensor:
    """Eq. (68): the pair ``(2,)`` from ‖v‖² + ‖w‖² and δx² + δ²."""
    return pair(total, total.square() + 12 * squared)


@dataclass(eq=False, kw_only=True)
class Biased(Instance, instances.Biased):
    """Linear networks f(x) = ⟨w, v x + b⟩, weights ``(m,)``, for E[x] = 0, E[x²] = 1."""

    @property
    def residuals(self) -> tuple[Tensor, Tensor]:
        """δx = mean(δ x) and δ = mean(δ)."""
        residual = (self.w @ self.v) * self.x + self.w @ self.b - self.y
        return (residual * self.x).mean(), residual.mean()

    @property
    def squared(self) -> Tensor:
        """δx² + δ², the square of the bulk eigenvalue."""
        dx, d = self.residuals
        return dx.square() + d.square()

    @property
    def w2(self) -> Tensor:
        """‖w‖²."""
        return self.w @ self.w

    @property
    def v2(self) -> Tensor:
        """‖v‖²."""
        return self.v @ self.v

    @property
    def total(self) -> Tensor:
        """‖v‖² + ‖w‖², half of the trace."""
        return self.v2 + self.w2

    @property
    def pair(self) -> Tensor:
        """Eq. (68): the pair ``(2,)``."""
        return bias_pair(self.total, self.squared)

    @property
    def triple(self) -> Tensor:
        """Eq. (107), (109), (110): the triple ``(3,)``."""
        p = -self.squared - self.total.square() / 3
        q = -2 * self.total**3 / 27 - self.v2 * self.squared / 3 + 2 * self.w2 * self.squared / 3
        return viete(p, q) + self.total / 3

    def eigenvalues_of(self, pair: Tensor, triple: Tensor, bulk: Tensor) -> Tensor:
        """All ``(3m,)``, m at least 2: pair, triple, ±bulk (m − 2 times) and 0 (m − 1 times)."""
        m = len(self.w)
        rest, zeros = bulk.expand(m - 2), torch.zeros(m - 1, dtype=bulk.dtype)
        return torch.cat([pair, triple, rest, -rest, zeros]).sort().values

    @property
    def printed_spectrum(self) -> Tensor:
        """Theorem B.1 as it is printed, with all multiplicities."""
        return self.eigenvalues_of(self.pair, self.triple, self.squared.sqrt())

    def sextic_error(self, sextic: Tensor) -> Error:
        """The error of a sextic at all eigenvalues, which are its roots at width 2 alone."""
        return roots_error(sextic, self.eigenvalues) if len(self.w) == 2 else None

    @property
    def mixed(self) -> tuple[Tensor, Tensor, Tensor]:
        """The terms of eq. (97), (98) that have a minus, halved."""
        (dx, d), vb = self.residuals, self.v @ self.b
        crossed = (d * self.v + dx * self.b) @ self.w
        return vb * crossed, vb * d * dx * self.w2, crossed * d * dx * self.w2


@dataclass(eq=False, kw_only=True)
class Bias(Biased, instances.Bias):
    """Networks under all assumptions of Theorem B.1."""


@dataclass(eq=False, kw_only=True)
class Dropped(Biased, instances.Dropped):
    """Networks that break one assumption of Theorem B.1, by their number ``dropped``."""


@dataclass(eq=False, kw_only=True)
class Parallel(Biased, instances.Parallel):
    """Networks whose residual, of the size ``rho``, is along their own outputs."""


@dataclass(eq=False, kw_only=True)
class Sextic(Biased, instances.Sextic):
    """Networks with any weights and targets; every other one has width 2."""


@theorem(cracking="Theorem B.1", closed="Theorem 6")
def bias_spectrum(net: Bias) -> Error:
    """Under the theorem's assumptions the spectrum is a pair, a triple, $±r$ ($m - 2$ times each,
    $r^2 = δx^2 + δ^2$) and 0 ($m - 1$ times).

    Remark: The multiplicities are ours; the theorem says “the rest”.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@of_the_spectrum(
    tolerance=ROOT, cracking="eq. (68), (105) to (110)", closed="eq. (5), (102) to (107)"
)
def bias_print(net: Bias) -> Error:
    r"""The pair is $S/2 ± \frac12\sqrt{S^2 + 12r^2}$, $S = ‖v‖^2 + ‖w‖^2$, the triple is Viète's
    with the printed p and q.
    """
    # The multiplicities begin to make sense at width 2: at width 1 one of each sign cancels.
    return None if len(net.w) == 1 else relative(net.printed_spectrum, net.eigenvalues)


@theorem(cracking="section 4, end of appendix B.3", closed="section 3")
def bias_trace(net: Bias) -> Error:
    r"""$\operatorname{tr}(H) = 2(‖v‖^2 + ‖w‖^2)$; the pair is centred at tr/4 and the triple at
    tr/6.
    """
    halves = torch.stack([net.total, net.pair.sum(), net.triple.sum()])
    return relative(2 * halves, net.trace)


@theorem(cracking="below eq. (110)", closed="section 3, below eq. (107)")
def bias_bound(net: Bias) -> Error:
    r"""The triple lies within $S/3 ± t'$, $t' = \frac23\sqrt{S^2 + 3r^2}$."""
    distances = (net.eigenvalues[None] - net.triple[:, None]).abs()
    measured_triple = net.eigenvalues[distances.argmin(dim=1)]
    bound = 2 * (net.total.square() + 3 * net.squared).sqrt() / 3
    return excess((measured_triple - net.total / 3).abs(), bound, net.size)


def bias_blocks(net: Biased) -> Tensor:
    """Eq. (77)-(81): the Hessian ``(3m, 3m)`` in the order (w, v, b)."""
    (dx, d), m = net.residuals, len(net.w)
    eye, zero = torch.eye(m, dtype=torch.float64), torch.zeros(m, m, dtype=torch.float64)
    wv, wb = dx * eye + torch.outer(net.v, net.w), d * eye + torch.outer(net.b, net.w)
    ww, outer = torch.outer(net.v, net.v) + torch.outer(net.b, net.b), torch.outer(net.w, net.w)
    rows = [[ww, wv, wb], [wv.mT, outer, zero], [wb.mT, zero, outer]]
    return torch.cat([torch.cat(row, dim=1) for row in rows])


@of_the_spectrum(cracking="eq. (77) to (81)", closed="eq. (74) to (78)")
def bias_hessian(net: Bias) -> Error:
    """For $E[x] = 0$ the Hessian's blocks are those of the displayed equations."""
    return relative(bias_blocks(net), net.hessian)


@of_the_sextic(cracking="eq. (100) to (104)", closed="eq. (97) to (101)")
def bias_quintic(net: Bias) -> Error:
    """Under the assumptions the sextic is $λ(λ^2 + Aλ + B)(λ^3 + Cλ^2 + Dλ + E)$ with the printed
    A to E.
    """
    a = c = -net.total
    b, d, e = -3 * net.squared, -net.squared, net.squared * net.w2
    powers = [torch.ones_like(a), a + c, b + a * c + d, e + a * d + b * c, a * e + b * d, b * e]
    return net.sextic_error(torch.stack([*powers, torch.zeros_like(a)]))


@theorem(ours=True, cracking="Theorem B.1, beyond its assumptions")
def bias_parallel(net: Parallel) -> Error:
    r"""$E[y] = E[yx] = 0$ can be weakened: pair and triple only need $(δx, δ)$ parallel to
    $(⟨w, v⟩, ⟨w, b⟩)$. With $C = |(⟨w, v⟩, ⟨w, b⟩)|$ and $ρ$ the residual along it, the pair is
    $S/2 ± \sqrt{S^2/4 + ρ^2 + 2ρC}$.

    Remark: Our addition.
    """
    if len(net.w) == 1:
        return None
    alignment = torch.hypot(net.w @ net.v, net.w @ net.b)
    parts = cf.pair_and_triple(net.w2, net.v2, alignment, net.rho.squeeze())
    return relative(net.eigenvalues_of(*parts, net.rho.abs()), net.eigenvalues)


@of_the_spectrum(cracking="eq. (89) to (99)", closed="eq. (86) to (96)")
def sextic_spectrum(net: Sextic) -> Error:
    """For $E[x] = 0$, $E[x^2] = 1$ and any v, b and y, the spectrum is $±r$ and 0 ($m - 2$ times
    each) and the corrected sextic's roots.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@of_the_spectrum("eq. (82), (83)", cracking="eq. (82), (83)")
def bias_display(net: Bias, printed: bool = False) -> Error:
    """The lower left blocks of the displayed Hessian are $δx I + wv^⊤$ and $δ I + wb^⊤$.

    In print: $δx I + vw^⊤$ and $δ I + bw^⊤$
    Remark: singh2024closed has them right.
    """
    displayed, m = bias_blocks(net), len(net.w)
    if printed:
        right = displayed.clone()
        displayed[m : 2 * m, :m] = right[:m, m : 2 * m]
        displayed[2 * m :, :m] = right[:m, 2 * m :]
    return relative(displayed, net.hessian)


@of_the_sextic(
    "eq. (92): ‖b‖",
    cracking="eq. (92) and the collected form",
    closed="eq. (89) and the collected form",
)
def sextic_norm(net: Sextic, printed: bool = False) -> Error:
    """The coefficient of $λ^4$ holds $(‖v‖^2 + ‖w‖^2)(‖b‖^2 + ‖w‖^2)$.

    In print: $(‖v‖^2 + ‖w‖^2)(‖b‖ + ‖w‖^2)$
    """
    sextic, size = cf.bias_sextic(**net.arguments), net.b.norm()
    if printed:
        sextic[2] += (net.v2 + net.w2) * (size - size**2)
    return net.sextic_error(sextic)


@of_the_sextic("eq. (97), (98): sign", cracking="eq. (97), (98)", closed="eq. (94), (95)")
def sextic_sign(net: Sextic, printed: bool = False) -> Error:
    """The terms with $⟨v, b⟩⟨δv + δx b, w⟩$, $⟨v, b⟩δδx‖w‖^2$ and $⟨δv + δx b, w⟩δδx‖w‖^2$ have a
    minus.

    In print: a plus: they stand outside the bracket opened by the minus in the line before
    Remark: The collected form below has the right sign.
    """
    sextic = cf.bias_sextic(**net.arguments)
    if printed:
        sextic[3:6] += 4 * torch.stack(net.mixed)
    return net.sextic_error(sextic)


@theorem(tolerance=FAILS, assumption=lambda net: net.dropped, cracking="Theorem B.1")
def bias_assumptions(net: Dropped) -> Error:
    """Each assumption is needed (that on targets in its weaker form): without it the printed
    spectrum errs by at least 1 % of the largest eigenvalue.

    Statistic: largest error over the instances that break it; smallest over the five assumptions.

    Measured by: a round number far above round-off
    """
    return relative(net.printed_spectrum, net.eigenvalues)
