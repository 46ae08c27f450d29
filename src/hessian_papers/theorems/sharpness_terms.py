"""The four terms of the sharpness, eq. (2) of singh2026cracking: each raised while others are kept.

The sharpness is tr/2 + √(sum of three squares)/2, so it has four terms: the imbalance
σ⁴(‖w‖² − ‖v‖²)², the non-collinearity 4σ⁴(‖w‖²‖v‖² − ⟨w, v⟩²), the last square 4(2⟨w, v⟩σ² − yx)²
and the overall norm σ²(‖w‖² + ‖v‖²), which is the trace.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import ROOT, Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.instances import measured
from hessian_papers.theorems.relu import Relu
from hessian_papers.theorems.two_layer import Cell, Moments, TwoLayer
from hessian_spectra.closed_form.instances import Draw, without

# The overall norm is raised by this share of itself.
MORE_NORM = 0.2
# A theorem on the semantics of sharpness.
of_the_squares = partial(
    theorem,
    of="linear-squares",
    cracking="section 3.1, below eq. (2)",
    closed="section 1, on the semantics of sharpness",
)


def sharpness(of: Moments) -> Tensor:
    """Eq. (2): the large outlier, from its four terms."""
    # Round-off makes the non-collinearity of parallel layers negative.
    return (of.trace + of.squares().clamp_min(0).sum().sqrt()) / 2


def _away_from_zero(value: Tensor, more: Tensor) -> Tensor:
    """The number of the same sign whose square is larger by ``more``; smaller where negative."""
    sign = torch.where(value < 0, -1.0, 1.0).to(value.dtype)
    return sign * (value.square() + more).clamp_min(0).sqrt()


def _with_inner(of: Moments, inner: Tensor, **others: Tensor) -> Moments:
    """Another ⟨w, v⟩, and targets with which 2⟨w, v⟩σ² − yx is as it was."""
    return replace(of, inner=inner, yx=of.yx + 2 * (inner - of.inner) * of.s2, **others)


def raised_alone(of: Moments) -> list[Moments]:
    """Imbalance, non-collinearity, last square and norm, each larger than in ``of`` by itself.

    The squares are raised by 2σ⁴⟨w, v⟩², half of what the first two have room for: what they gain
    ⟨w, v⟩² loses, and what that changes of the last square the targets make good.
    """
    half = of.inner.square() / 2
    total, difference = of.w2 + of.v2, of.w2 - of.v2
    apart = _away_from_zero(difference, 4 * half)
    last = 2 * of.inner * of.s2 - of.yx
    further = _away_from_zero(last, of.s2.square() * half)
    more = MORE_NORM * total / 2
    less_aligned = _away_from_zero(of.inner, -half)
    more_aligned = _away_from_zero(of.inner, more * total + more.square())
    return [
        _with_inner(of, less_aligned, w2=(total + apart) / 2, v2=(total - apart) / 2),
        _with_inner(of, less_aligned),
        replace(of, yx=2 * of.inner * of.s2 - further),
        _with_inner(of, more_aligned, w2=of.w2 + more, v2=of.v2 + more),
    ]


def weights_of(of: Moments, w: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Layers ``(m,)`` with the norms and the inner product of ``of``, next to w and v.

    v keeps its direction, and with it the signs of its entries; w stays in the plane of both.

    Args:
        of: the moments that they are to have.
        w: second layer ``(m,)``, m at least 2.
        v: first layer ``(m,)``, not zero; entries where both are zero stay zero.
    """
    along = v / v.norm()
    across = w - along * (along @ w)
    if across.norm() <= 1e-8 * w.norm():
        # Parallel layers have no plane: any other direction among the same units will do.
        first = torch.zeros_like(v)
        first[v.abs().argmax()] = 1.0
        across = first - along * (along @ first)
        units = (v != 0).to(v.dtype)
        across = across if across.norm() > 1e-8 else units - along * (along @ units)
    size = of.v2.sqrt()
    rest = (of.w2 - (of.inner / size).square()).clamp_min(0).sqrt()
    return of.inner / size * along + rest * across / across.norm(), size * along


@dataclass(eq=False, kw_only=True)
class Raised(TwoLayer):
    """Two-layer networks of which each term is raised, in the first cell, then in the others."""

    def raised_networks(self) -> Iterator[Self]:
        """The networks with a term raised."""
        for cell in self.cells:
            for after in raised_alone(cell.moments):
                w, v = weights_of(after, cell.w, cell.v)
                shift = (after.yx - cell.moments.yx) / cell.moments.s2
                yield replace(
                    self,
                    w=self.w * (1 - cell.neurons) + w,
                    v=self.v * (1 - cell.neurons) + v,
                    y=self.y + shift * self.x * cell.points,
                )

    @measured
    def raised(self) -> Tensor:
        """The sharpness of those networks, by brute force."""
        return torch.stack([net.eigenvalues[-1] for net in self.raised_networks()])

    @property
    def stated_raised(self) -> Tensor:
        """The sharpness of those networks: that of the cell where it is larger."""
        largest = []
        for cell in self.cells:
            others = [sharpness(other.moments) for other in self.cells if other is not cell]
            pairs = [[sharpness(after), *others] for after in raised_alone(cell.moments)]
            largest += [torch.stack(pair).max() for pair in pairs]
        return torch.stack(largest)


@dataclass(eq=False, kw_only=True)
class LinearTerms(Raised):
    """Linear networks of width 2 or more."""

    stream = "terms"

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Parallel layers, the solution, and one point."""
        base = partial(cls.of_size, draw, width=4, points=7)
        return {
            "w = v": replace(i := base(), w=i.v),
            "w = -v": replace(i := base(), w=-i.v),
            "the solution": base().solved(1.0),
            "half of the target": base().solved(2.0),
            "one point": base(points=1),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Width 2 or more."""
        return cls.of_size(draw, draw.integer(2, draw.width), draw.integer(1, draw.size))

    def solved(self, factor: float) -> Self:
        """The network with targets that are solved up to a factor of the network's slope."""
        off = without(self.y, self.x[:, None])
        return replace(self, y=factor * (self.w @ self.v) * self.x + off)

    @property
    def gap(self) -> Tensor:
        """(λ_1 − λ_2)² of the measured outliers: what is under the root of eq. (2)."""
        high, low = self.outliers
        return (high - low) ** 2


@dataclass(eq=False, kw_only=True)
class CellTerms(Raised, Relu):
    """ReLU networks with two neurons or more, and points, in each cell."""

    stream = "cell_terms"

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """The random networks alone: each cell has to have neurons and points."""
        return {f"random {k}": cls.random(draw, k) for k in range(draw.instances)}

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Width 4 or more, the first neurons and points on both sides."""

        def both_signs(values: Tensor, of_each: int) -> Tensor:
            """The first entries positive, the next ones negative."""
            positive, negative, rest = values.split([of_each, of_each, len(values) - 2 * of_each])
            return torch.cat([positive.abs(), -negative.abs(), rest])

        net = cls.of_size(draw, draw.integer(4, draw.width), draw.integer(2, draw.size))
        return replace(net, v=both_signs(net.v, 2), x=both_signs(net.x, 1))

    @cached_property
    def cells(self) -> list[Cell]:
        """Both cells, that with the larger sharpness first."""
        return sorted(super().cells, key=lambda cell: -float(sharpness(cell.moments)))


@of_the_squares()
def terms_sum(net: LinearTerms) -> Error:
    """$(λ_1 - λ_2)^2$ is the sum of three non-negative terms. They are the imbalance of the layers'
    norms $σ^4(‖w‖^2 - ‖v‖^2)^2$, their non-collinearity $4σ^4(‖w‖^2‖v‖^2 - ⟨w, v⟩^2)$ and
    $4(2⟨w, v⟩σ^2 - yx)^2$. $λ_1 + λ_2$ is the overall norm $σ^2(‖w‖^2 + ‖v‖^2)$.
    """
    squares = net.moments.squares()
    return worst(
        relative(squares.sum(), net.gap, over=net.size**2),
        relative(net.moments.trace, net.outliers.sum(), over=net.size),
        excess(0.0, squares.min(), over=net.size**2),
    )


def _raised_error(net: Raised) -> float:
    """The sharpness with a term raised, and by how much it fails to exceed that before."""
    largest = net.raised.max()
    return worst(
        relative(net.stated_raised, net.raised, over=largest),
        excess(net.eigenvalues[-1], net.raised.min(), over=largest),
    )


@of_the_squares()
def terms_alone(net: LinearTerms) -> Error:
    """Increasing one of the four terms, with the other three fixed, increases the sharpness. Equal
    increases of the three squares have equal effects. Measured: the sharpness of networks and
    targets constructed with such terms.

    Remark: "Semantics" and "a net quantification" describe this; beyond it they assert nothing
        measurable.
    """
    squares = net.raised[:3]
    return worst(_raised_error(net), relative(squares.max(), squares.min(), net.raised.max()))


@theorem("section 3.1: the third term", cracking="section 3.1, below eq. (2)")
def terms_last(net: LinearTerms, printed: bool = False) -> Error:
    """The third term is $4(δx + σ^2⟨w, v⟩)^2$, the deviation from half of the target. It is 0
    where $⟨w, v⟩σ^2 = yx/2$, and $4yx^2$ at the solution, $δx = 0$.

    In print: (3) deviation from the target, which is $4δx^2$
    Remark: From half of the target to the target the term grows while the deviation falls. The
        earlier paper is right: "capturing part of the target".
    """
    m, deviation = len(net.w), net.moments.dx
    if not printed:
        # σ²⟨w, v⟩ is what the trace of the cross block has beside m δx.
        deviation = deviation + net.hessian[m:, :m].trace() - m * net.moments.dx
    last = net.gap - net.moments.squares()[:2].sum()
    return relative(4 * deviation**2, last, over=net.size**2)


@theorem(of="relu-largest", tolerance=ROOT, cracking="section 3.2, on the semantics of sharpness")
def terms_cells(net: CellTerms) -> Error:
    """With ReLU the sharpness is that of eq. (2), from the four terms of the cell where it is
    larger.
    """
    return relative(sharpness(net.moments), net.eigenvalues[-1], over=net.size)


@theorem(of="relu-largest", cracking="section 3.2, on the semantics of sharpness")
def terms_cells_alone(net: CellTerms) -> Error:
    """In the cell with the larger curvature, increasing one of its four terms alone increases the
    sharpness. In the other cell it does not, until that cell has the larger curvature.
    """
    return _raised_error(net)
