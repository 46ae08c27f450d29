"""The two-layer linear network: Theorems 3.1 to 3.3, Corollary 3.1, eq. (1) to (34) and (122).

Equations are those of singh2026cracking where no other paper is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

import torch
from torch import Tensor, nn

from hessian_papers.theorems.catalogue import ROOT, Error, theorem
from hessian_papers.theorems.errors import (
    basis_error,
    excess,
    relative,
    residual,
    roots_error,
    vectors_error,
    worst,
)
from hessian_papers.theorems.instances import Draw, Instance, measured, numbers, without
from hessian_spectra import closed_form as cf
from hessian_spectra.models import TwoLayerLinear
from hessian_spectra.spectrum import Spectrum


def pair(total: Tensor, inside: Tensor) -> Tensor:
    """(total ± √inside)/2 ``(2,)``, the larger one first."""
    # Round-off makes a double root's discriminant negative.
    root = inside.clamp_min(0).sqrt()
    return torch.stack([(total + root) / 2, (total - root) / 2])


@dataclass(frozen=True)
class Moments:
    """The moments that the spectrum of f(x) = ⟨w, v⟩ x depends on.

    Args:
        s2: σ_x² = mean(x²), for a ReLU cell the sum over the cell divided by n.
        yx: mean(y x), likewise.
        inner: ⟨w, v⟩.
        w2: ‖w‖².
        v2: ‖v‖².
    """

    s2: Tensor
    yx: Tensor
    inner: Tensor
    w2: Tensor
    v2: Tensor

    @classmethod
    def of(cls, w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> "Moments":
        """The moments of a network ``w``, ``v`` ``(m,)`` on ``x``, ``y`` ``(n,)``."""
        return cls(x.square().mean(), (x * y).mean(), w @ v, w @ w, v @ v)

    @property
    def dx(self) -> Tensor:
        """mean(δ x) = ⟨w, v⟩ σ_x² − mean(y x)."""
        return self.inner * self.s2 - self.yx

    @property
    def trace(self) -> Tensor:
        """The Hessian's trace, σ_x² (‖w‖² + ‖v‖²)."""
        return self.s2 * (self.w2 + self.v2)

    def squares(self, last: Tensor | None = None) -> Tensor:
        """The three squares under the root of eq. (2), ``(3,)``.

        Args:
            last: what the last one is 4 times the square of, if not 2⟨w, v⟩σ² − mean(yx).
        """
        last = 2 * self.inner * self.s2 - self.yx if last is None else last
        imbalance = (self.s2 * self.w2 - self.s2 * self.v2).square()
        apart = 4 * self.s2.square() * (self.w2 * self.v2 - self.inner.square())
        return torch.stack([imbalance, apart, 4 * last.square()])

    @property
    def outliers(self) -> Tensor:
        """Eq. (2): both outliers ``(2,)``, the larger one first."""
        return pair(self.trace, self.squares().sum())

    @property
    def quadratic(self) -> Tensor:
        """Eq. (32): the coefficients ``(3,)`` of λ² − tr λ − (δx² + 2 σ_x² δx ⟨w, v⟩)."""
        constant = -(self.dx.square() + 2 * self.s2 * self.dx * self.inner)
        return torch.stack([torch.ones_like(self.dx), -self.trace, constant])

    @property
    def product(self) -> Tensor:
        """Appendix C: −λ_1 λ_2 = (⟨w, v⟩ σ_x² − mean(yx)) (3 ⟨w, v⟩ σ_x² − mean(yx))."""
        fit = self.inner * self.s2
        return (fit - self.yx) * (3 * fit - self.yx)


@dataclass(frozen=True)
class Cell:
    """One cell of a ReLU network, or all of a linear one.

    Args:
        neurons: ``(m,)`` 1 for those that fire there.
        points: ``(n,)`` 1 for those where they do.
        w: ``(m,)`` the second-layer weights, zero outside the cell.
        v: ``(m,)`` the first-layer weights, zero outside the cell.
        moments: sums over the cell divided by n.
    """

    neurons: Tensor
    points: Tensor
    w: Tensor
    v: Tensor
    moments: Moments

    @property
    def mean_dx(self) -> Tensor:
        """mean(δ x) over the points of the cell, without the factor n_±/n that Theorem 3.4 has."""
        return self.moments.dx / self.points.mean()


@dataclass(eq=False, kw_only=True)
class TwoLayer(Instance):
    """Two layers ``w``, ``v`` ``(m,)`` on ``x``, ``y`` ``(n,)``; ``c`` is free in Theorem 3.3."""

    w: Tensor
    v: Tensor
    c: Tensor = field(default_factory=torch.Tensor)

    @classmethod
    def random(cls, draw: Draw, width: int, points: int) -> Self:
        """One network."""
        x, y = draw.points(points)
        # A slope, so that targets and inputs correlate in most instances.
        slope, noise = 2 * draw.normal(1), draw.scale()
        w, v = draw.scale() * draw.normal(width), draw.scale() * draw.normal(width)
        return cls(w=w, v=v, x=draw.scale() * x, y=slope * x + noise * y)

    def model(self) -> nn.Module:
        """The linear network f(x) = ⟨w, v⟩ x."""
        return TwoLayerLinear(self.v, self.w)

    def cell(self, neurons: Tensor, points: Tensor) -> Cell:
        """The cell of some neurons and points, masks."""
        neurons, points = neurons.double(), points.double()
        w, v = self.w * neurons, self.v * neurons
        return Cell(neurons, points, w, v, Moments.of(w, v, self.x * points, self.y * points))

    @cached_property
    def cells(self) -> list[Cell]:
        """The parts of the network that are linear networks of their own."""
        return [self.cell(torch.ones_like(self.w), torch.ones_like(self.x))]

    @property
    def moments(self) -> Moments:
        """The moments of the first cell."""
        return self.cells[0].moments

    @property
    def theta(self) -> Tensor:
        """The parameters ``(2m,)``."""
        return torch.cat([self.v, self.w])

    @property
    def outliers(self) -> Tensor:
        """Both measured outliers of a linear network, the larger one first.

        Between the two bulk eigenvalues, of multiplicity m − 1 each, lies the smaller outlier, and
        above both the larger one, so the places are known.
        """
        return self.eigenvalues[[-1, len(self.w) - 1]]


@dataclass(eq=False, kw_only=True)
class Linear(TwoLayer, stream="linear"):
    """Two-layer linear networks; ``step`` is a learning rate for Corollary 3.1.

    The edge cases: width 1; w = v; w = -v; w = 0; all weights zero; zero residual; a residual
    uncorrelated with the input; equal outliers; negative slope; orthogonal weights; large inputs;
    one point.
    """

    step: Tensor = field(default_factory=torch.Tensor)

    @classmethod
    def drawn(cls, draw: Draw) -> list[Self]:
        """The edge cases and the random networks."""
        base = partial(cls.random, draw, width=4, points=7)
        nets = [
            base(width=1),
            replace(base(width=1), w=numbers(1.0), v=numbers(1.0)),
            replace(i := base(), w=i.v),
            replace(i := base(), w=-i.v),
            replace(i := base(), w=0 * i.w),
            replace(i := base(), w=0 * i.w, v=0 * i.v),
            replace(i := base(), y=(i.w @ i.v) * i.x),
            replace(i := base(), y=(i.w @ i.v) * i.x + without(i.y, i.x[:, None])),
            replace(i := base(), w=i.v, y=2 * (i.v @ i.v) * i.x),
            replace(i := base(), y=-3 * i.x),
            replace(i := base(), w=without(i.w, i.v[:, None])),
            replace(i := base(), x=1e3 * i.x),
            base(points=1),
        ]
        nets += [
            cls.random(draw, draw.integer(1, draw.width), draw.integer(1, draw.size))
            for _ in range(draw.instances)
        ]
        return [
            replace(net, c=draw.normal(len(net.w)), step=0.2 * draw.normal(1).abs()) for net in nets
        ]

    @cached_property
    def spectrum(self) -> Spectrum:
        """The library's spectrum."""
        return cf.two_layer_linear(self.w, self.v, self.x, self.y)

    @property
    def stated_outliers(self) -> Tensor:
        """The library's outliers, the larger one first."""
        return self.spectrum.select("outlier").flip(0)

    @cached_property
    def outlier_vectors(self) -> Tensor:
        """Theorem 3.2: the eigenvectors of both outliers ``(2m, 2)``, not normalised."""
        columns = [outlier_vector(self.w, self.v, e, self.moments.dx) for e in self.stated_outliers]
        return torch.stack(columns, dim=1)

    @cached_property
    def smaller_norm(self) -> float:
        """The smaller norm of the two vectors of Theorem 3.2, over the size of a usual one."""
        usual = self.stated_outliers.abs().max() * self.theta.norm()
        return float(self.outlier_vectors.norm(dim=0).min() / (float(usual) or 1.0))

    @property
    def regular(self) -> bool:
        """True where both vectors of Theorem 3.2 are there."""
        return not self.smaller_norm <= 1e-4

    @cached_property
    def probe(self) -> Tensor:
        """A λ well above all eigenvalues."""
        return 1 + 2 * self.moments.trace + 2 * self.moments.dx.abs()

    @property
    def at_probe(self) -> Tensor:
        """|H − λ I| there, from the measured eigenvalues."""
        return (self.eigenvalues - self.probe).prod()

    @measured
    def next_hessian(self) -> Tensor:
        """The Hessian after one step of gradient descent with autograd's gradient."""
        v, w = (self.theta - self.step * self.gradient).split(len(self.w))
        return replace(self, w=w, v=v).hessian


def outlier_vector(w: Tensor, v: Tensor, eigenvalue: Tensor, dx: Tensor) -> Tensor:
    """Theorem 3.2: (λ w + δx v; δx w + λ v) ``(2m,)``, not normalised."""
    return torch.cat([eigenvalue * w + dx * v, dx * w + eigenvalue * v])


def bulk_vector(w: Tensor, v: Tensor, sign: float, c: Tensor) -> Tensor:
    """Theorem 3.3: (ẑ; s ẑ) with ẑ the part of ``c`` orthogonal to w + s v, for a sign s ``(2m,)``.

    Where w + s v = 0 nothing has to be removed.
    """
    direction = w + sign * v
    squared = direction @ direction
    part = c - direction * (direction @ c) / squared if squared > 0 else c
    return torch.cat([part, sign * part])


def block_hessian(cells: Sequence[Cell], m: int, right: Tensor | None = None) -> Tensor:
    """Eq. (7)-(9), summed over cells: the Hessian ``(2m, 2m)`` in the order (v, w).

    Args:
        cells: each has rows and columns of its own.
        m: the width of the network.
        right: what stands for w vᵀ in the upper right block, for what is in print.
    """
    total = torch.zeros(2 * m, 2 * m, dtype=torch.float64)
    for cell in cells:
        s2, w, v = cell.moments.s2, cell.w, cell.v
        shift = cell.moments.dx * torch.diag(cell.neurons)
        cross = s2 * (torch.outer(w, v) if right is None else right) + shift
        above = torch.cat([s2 * torch.outer(w, w), cross], dim=1)
        below = torch.cat([s2 * torch.outer(v, w) + shift, s2 * torch.outer(v, v)], dim=1)
        total += torch.cat([above, below])
    return total


def gradient_error(net: TwoLayer) -> float:
    """The gradient's error over ‖H‖ ‖θ‖, which stays a scale where the gradient vanishes."""
    parts = [cell.moments.dx * torch.cat([cell.w, cell.v]) for cell in net.cells]
    stated = sum(parts, torch.zeros_like(net.theta))
    return relative(stated, net.gradient, over=net.size * net.theta.abs().max() or 1.0)


# What the two papers state of the two-layer linear network


@theorem(
    "Theorem 3.1: spectrum",
    cracking="Theorem 3.1",
    closed="Theorem 1",
    poster="key result, linear network",
)
def linear_spectrum(net: Linear) -> Error:
    """The 2m eigenvalues of $f = ⟨w, v⟩x$ are $±δx$, each $m - 1$ times, and the two outliers
    $Λ_{1,2}$; for any $m ≥ 1$, any weights and data.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem("eq. (1): outliers", tolerance=ROOT, cracking="eq. (1), (33)", closed="eq. (1), (33)")
def linear_root(net: Linear) -> Error:
    r"""The outliers are $T/2 ± \frac12\sqrt{T^2 + 4(δx^2 + 2σ^2δx⟨w, v⟩)}$ with
    $T = σ^2(‖w‖^2 + ‖v‖^2)$.
    """
    of, dx = net.moments, net.moments.dx
    inside = of.trace.square() + 4 * (dx.square() + 2 * of.s2 * dx * of.inner)
    return relative(pair(of.trace, inside), net.outliers)


@theorem(
    "eq. (2): outliers",
    tolerance=ROOT,
    cracking="eq. (2)",
    closed="section 1, on the semantics of sharpness",
)
def linear_squares(net: Linear) -> Error:
    """The root is that of the sum of squares $(σ^2‖w‖^2 - σ^2‖v‖^2)^2 + 4σ^4(‖w‖^2‖v‖^2 - ⟨w,
    v⟩^2) + 4(2⟨w, v⟩σ^2 - yx)^2$.
    """
    return relative(net.moments.outliers, net.outliers)


@theorem("eq. (122): outliers", tolerance=ROOT, cracking="eq. (122)", closed="eq. (2)")
def linear_trace_form(net: Linear) -> Error:
    r"""The outliers are $\operatorname{tr}/2 ± \sqrt{\operatorname{tr}^2/4 - λ_1λ_2}$."""
    of = net.moments
    return relative(pair(of.trace, of.trace.square() + 4 * of.product), net.outliers)


@theorem("sum of the outliers", cracking="section 4.1, appendix C", closed="section 1")
def linear_trace(net: Linear) -> Error:
    r"""The outliers sum to the trace, $\operatorname{tr}(H) = σ^2(‖w‖^2 + ‖v‖^2)$."""
    sums = torch.stack([net.outliers.sum(), net.moments.trace])
    return relative(sums, net.trace, over=net.size)


@theorem("product of the outliers", cracking="appendix B.1, C", closed="section 1, appendix A")
def linear_product(net: Linear) -> Error:
    """$-λ_1λ_2 = (⟨w, v⟩σ^2 - yx)(3⟨w, v⟩σ^2 - yx)$."""
    return relative(net.moments.product, -net.outliers.prod(), over=net.size**2)


@theorem(
    "footnote a: order",
    remark="The paper says that this can happen; by Weyl's inequality it always does.",
    cracking="Theorem 3.1, footnote a",
)
def linear_order(net: Linear) -> Error:
    """The small outlier never leaves the bulk's range and the large one never enters it:
    $-|δx| ≤ λ_2 ≤ |δx| ≤ λ_1$.
    """
    bulk, (high, low) = net.moments.dx.abs(), net.outliers
    return excess(torch.stack([-bulk, low, bulk]), torch.stack([low, bulk, high]), net.size)


@theorem("eq. (5), (6): gradient", cracking="eq. (5), (6)", closed="eq. (7), (8)")
def linear_gradient(net: Linear) -> Error:
    """$∇_w ℓ = δx v$ and $∇_v ℓ = δx w$."""
    return gradient_error(net)


@theorem("eq. (7) to (9): Hessian", cracking="eq. (7) to (9)", closed="eq. (9) to (11)")
def linear_hessian(net: Linear) -> Error:
    """The Hessian's blocks are $σ^2vv^⊤$, $σ^2ww^⊤$ and $δx I + σ^2vw^⊤$."""
    return relative(block_hessian(net.cells, len(net.w)), net.hessian)


@theorem("eq. (12): H∇ℓ", cracking="eq. (12)")
def linear_hessian_gradient(net: Linear) -> Error:
    """$H∇ℓ = (δx T w + δx^2 v; δx T v + δx^2 w)$ with T the trace."""
    dx, swapped = net.moments.dx, torch.cat([net.w, net.v])
    stated = dx * net.moments.trace * swapped + dx**2 * net.theta
    over = net.size**2 * net.theta.abs().max()
    return relative(stated, net.hessian @ net.gradient, over=over or 1.0)


@theorem("eq. (32): polynomial", cracking="eq. (13) to (32)", closed="eq. (13) to (32)")
def linear_determinant(net: Linear) -> Error:
    """$|H - λI| = (λ^2 - δx^2)^{m-1} (λ^2 - Tλ - (δx^2 + 2σ^2δx⟨w, v⟩))$."""
    probe = net.probe
    powers = torch.stack([probe**2, probe, torch.ones_like(probe)])
    bulk = (probe**2 - net.moments.dx**2) ** (len(net.w) - 1)
    return relative(bulk * (net.moments.quadratic @ powers), net.at_probe)


@theorem("Theorems 3.2, 3.3: eigenvectors", cracking="Theorems 3.2, 3.3", closed="Theorems 2, 3")
def linear_basis(net: Linear) -> Error:
    """The eigenvectors of both theorems, completed to an orthonormal basis of the whole space, are
    eigenvectors of the Hessian, in all edge cases.
    """
    return basis_error(net.hessian, net.spectrum.eigenvectors(), net.spectrum.eigenvalues)


@theorem(
    "Theorem 3.2: formula",
    cracking="Theorem 3.2",
    closed="Theorem 2, eq. (3)",
    poster="eigenvector structure",
)
def linear_outlier_vector(net: Linear) -> Error:
    """$z = λ(w; v) + δx(v; w)$ is an eigenvector for the outlier $λ$ wherever it is not zero."""
    if not net.regular:
        return None
    return vectors_error(net.hessian, net.outlier_vectors, net.stated_outliers)


@theorem("Theorem 3.2: by gradient", cracking="below Theorem 3.2", closed="below Theorem 2")
def linear_gradient_vector(net: Linear) -> Error:
    """Where the gradient does not vanish, $z = (λ/δx)∇ℓ + δx θ$."""
    dx = net.moments.dx
    if not (net.regular and dx.abs() > 1e-4 * net.size):
        return None
    gradient = dx * torch.cat([net.w, net.v])
    columns = [value / dx * gradient + dx * net.theta for value in net.stated_outliers]
    return vectors_error(net.hessian, torch.stack(columns, dim=1), net.stated_outliers)


@theorem("Corollary 3.1: orthogonal", cracking="Corollary 3.1")
def linear_orthogonal_iterates(net: Linear) -> Error:
    """The parameters and the gradient are orthogonal to the bulk eigenspace."""
    if len(net.w) == 1:
        return None
    bulk = cf.gradient_descent_subspace(net.w, net.v).bulk
    iterates = net.theta, net.gradient
    return worst(*(float((bulk.mT @ z).norm() / (float(z.norm()) or 1.0)) for z in iterates))


@theorem("Corollary 3.1: constant", cracking="Corollary 3.1")
def linear_constant_bulk(net: Linear) -> Error:
    """A step of gradient descent, of any length, leaves the bulk eigenspace unchanged."""
    if len(net.w) == 1:
        return None
    z, of, dx = cf.gradient_descent_subspace(net.w, net.v).bulk, net.next_hessian, net.moments.dx
    w, v = net.w - net.step * dx * net.v, net.v - net.step * dx * net.w
    after = Moments.of(w, v, net.x, net.y).dx.abs()
    inside, size = z.mT @ of @ z, float(torch.linalg.matrix_norm(of, 2)) or 1.0
    leak = float(torch.linalg.matrix_norm(of @ z - z @ inside, 2)) / size
    bulk = torch.cat([-after.expand(len(w) - 1), after.expand(len(w) - 1)])
    values = torch.linalg.eigvalsh((inside + inside.mT) / 2)
    return worst(leak, relative(bulk, values, over=size))


@theorem("eq. (34): bound", cracking="eq. (34)", closed="eq. (34)")
def linear_loss_bound(net: Linear) -> Error:
    r"""$|δx| ≤ \sqrt{2ℓ}σ$, hence $λ_{\min} ≥ -\sqrt{2ℓ}σ$."""
    bound = -cf.smallest_eigenvalue_bound(net.w, net.v, net.x, net.y)
    below = torch.stack([net.moments.dx.abs(), -net.eigenvalues[0]])
    return excess(below, bound, net.size)


@theorem("solution: rank one", cracking="appendix C", closed="section 1")
def linear_rank_one(net: Linear) -> Error:
    r"""At the solution, $δx = 0$, the Hessian has rank one and $λ_1 = \operatorname{tr}(H)$,
    whatever the loss.
    """
    trace = net.moments.trace
    if not net.moments.dx.abs() < 1e-13 * trace:
        return None
    zeros = torch.zeros_like(net.eigenvalues[1:])
    return relative(torch.cat([zeros, trace[None]]), net.eigenvalues)


@theorem(
    "poster: outliers",
    printed="$4(2⟨w, v⟩ - yx)^2$",
    remark="The two agree only for $σ^2 = 1$.",
    poster="key result, linear network",
)
def linear_poster(net: Linear, printed: bool = False) -> Error:
    """The last square under the root is $4(2⟨w, v⟩σ^2 - yx)^2$."""
    of = net.moments
    in_print = pair(of.trace, of.squares(last=2 * of.inner - of.yx).sum())
    return relative(in_print if printed else net.stated_outliers, net.outliers)


@theorem(
    "Theorem 3.3: sign",
    printed=r"$s = \operatorname{sgn}(λ_\text{bulk})$",
    remark="The print is right for $δx > 0$; the proof has the right sign.",
    cracking="Theorem 3.3",
    closed="Theorem 3",
)
def linear_bulk_sign(net: Linear, printed: bool = False) -> Error:
    r"""$z_\text{bulk} = (ẑ; sẑ)$ with $s = λ_\text{bulk}/δx$, and $ẑ$ orthogonal to $w + sv$."""
    if len(net.w) == 1:
        return None
    # The two kinds of bulk vector: (a; a) for the eigenvalue δx and (a; -a) for -δx.
    values = torch.stack([net.moments.dx, -net.moments.dx])
    signs = values.sign().tolist() if printed else [1.0, -1.0]
    columns = [bulk_vector(net.w, net.v, sign, net.c) for sign in signs]
    return vectors_error(net.hessian, torch.stack(columns, dim=1), values)


@theorem(
    "Theorem 3.2: zero vector",
    printed="$z = λ(w; v) + δx(v; w)$ for both outliers, without exception",
    cracking="Theorem 3.2",
    closed="Theorem 2",
)
def linear_zero_vector(net: Linear, printed: bool = False) -> Error:
    """Where $z = 0$ ($δx = 0$; $w = ±v$; coincident outliers) the eigenvector is another one: a
    null vector, or $(a; ∓a)$.
    """
    if not net.smaller_norm < 1e-12:
        return None
    # What is zero up to round-off has no direction.
    norms = net.outlier_vectors.norm(dim=0)
    z = torch.where(norms > norms.max() * 1e-9, net.outlier_vectors, 0.0)
    return residual(net.hessian, z, net.stated_outliers) if printed else linear_basis(net)


@theorem(
    "Theorem 3.2: orthonormal",
    printed="They form an orthonormal basis of the span of (w; v) and (v; w)",
    remark="They have to be normalised; the error of the print is that of their norms.",
    source="inner product 0, and norm 1",
    cracking="below Theorem 3.2",
    closed="below Theorem 2",
)
def linear_orthonormal(net: Linear, printed: bool = False) -> Error:
    """The two outlier eigenvectors are orthogonal."""
    if not net.regular:
        return None
    norms = net.outlier_vectors.norm(dim=0)
    if printed:
        return float(((norms - 1).abs() / norms.clamp_min(1)).max())
    return float(net.outlier_vectors.prod(dim=1).sum().abs() / (float(norms.prod()) or 1.0))


@theorem(
    "eq. (34): λ_min",
    printed=r"$λ_{\min} = -δx$",
    cracking="below eq. (34)",
    closed="below eq. (34)",
)
def linear_smallest(net: Linear, printed: bool = False) -> Error:
    r"""$λ_{\min} = -|δx|$ for $m ≥ 2$; for $m = 1$ it is the small outlier."""
    dx = net.moments.dx
    smallest = -dx.abs() if len(net.w) > 1 else net.stated_outliers[1]
    return relative(-dx if printed else smallest, net.eigenvalues[0], over=net.size)


@theorem(
    "eq. (10), (11)",
    printed="$σ^2vv^⊤ + δx I$",
    remark="Eq. (13) and (35) have it right. Possibly a flaw of the available copy and not "
    "of the paper.",
    cracking="eq. (10), (11)",
)
def linear_display(net: Linear, printed: bool = False) -> Error:
    """The upper right block of the displayed Hessian is $σ^2wv^⊤ + δx I$."""
    block = torch.outer(net.v if printed else net.w, net.v)
    return relative(block_hessian(net.cells, len(net.w), block), net.hessian)


@theorem(
    "2024 eq. (12), (13)",
    printed="$σ^2vw^⊤ + δx I$",
    remark="Eq. (45) has it right.",
    closed="eq. (12), (13)",
)
def linear_display_2024(net: Linear, printed: bool = False) -> Error:
    """The upper right block of the displayed Hessian is $σ^2wv^⊤ + δx I$."""
    block = torch.outer(net.w, net.v)
    displayed = block_hessian(net.cells, len(net.w), block.mT if printed else block)
    return relative(displayed, net.hessian)


@theorem(
    "eq. (30)",
    printed="$… + δx^2‖v‖^2 + δx^2 …$ in place of $σ^2‖v‖^2λ^2 + δx^2λ$",
    remark="Eq. (31) has it right. Possibly a flaw of the available copy and not of the paper.",
    cracking="eq. (30)",
    closed="eq. (30)",
)
def linear_cubic(net: Linear, printed: bool = False) -> Error:
    """$-λ^3 + σ^2(‖w‖^2 + ‖v‖^2)λ^2 + (δx^2 + 2σ^2δx⟨w, v⟩)λ = 0$."""
    of, s2, dx2 = net.moments, net.moments.s2, net.moments.dx.square()
    cubic = torch.cat([-of.quadratic, numbers(0.0)])
    if printed:
        # Two terms of −(λ² − δx²)(λ − σ²‖v‖²) lost their powers of λ.
        constant = s2 * dx2 * of.v2 + dx2 * of.v2 + dx2 - s2 * dx2 * of.v2
        terms = [-torch.ones_like(s2), s2 * of.w2, 2 * s2 * of.dx * of.inner, constant]
        cubic = torch.stack(terms)
    return roots_error(cubic, net.outliers)


def _schur_error(net: Linear, left: Tensor, right: Tensor) -> float:
    """The Schur complement's determinant at the probe, with given outer products in B and C."""
    s2, eye = net.moments.s2, torch.eye(len(net.w), dtype=torch.float64)
    shift = net.moments.dx * eye
    lower = s2 * torch.outer(net.v, net.v) - net.probe * eye
    upper = s2 * torch.outer(net.w, net.w) - net.probe * eye
    complement = upper - (s2 * left + shift) @ torch.linalg.inv(lower) @ (s2 * right + shift)
    return relative(torch.linalg.det(complement), net.at_probe / torch.linalg.det(lower))


@theorem("2024 eq. (14)", printed="$(σ^2vw^⊤ + δx I)$ on both sides of $D^{-1}$", closed="eq. (14)")
def linear_schur_14(net: Linear, printed: bool = False) -> Error:
    """The Schur complement is $σ^2ww^⊤ - λI - (σ^2wv^⊤ + δx I) D^{-1} (σ^2vw^⊤ + δx I)$."""
    vw = torch.outer(net.v, net.w)
    return _schur_error(net, vw if printed else vw.mT, vw)


@theorem(
    "2024 eq. (16)",
    printed="$σ^2ww^⊤ + δx I$ and $σ^2vv^⊤ + δx I$",
    remark="Eq. (17) to (19) follow from the right ones. Possibly a flaw of the available "
    "copy and not of the paper.",
    closed="eq. (16)",
)
def linear_schur_16(net: Linear, printed: bool = False) -> Error:
    """The factors around the inverse are $σ^2wv^⊤ + δx I$ and $σ^2vw^⊤ + δx I$."""
    w, v = net.w, net.v
    factors = (torch.outer(w, w), torch.outer(v, v))
    return _schur_error(net, *(factors if printed else (torch.outer(w, v), torch.outer(v, w))))
