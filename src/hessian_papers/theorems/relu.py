"""The two-layer ReLU network: Theorem 3.4 (singh2024closed: Theorem 4, Corollary 5), Remark B.1.

A cell is a sign of the input with the neurons that fire there.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import basis_error, pairs_error, relative, worst
from hessian_papers.theorems.two_layer import (
    Cell,
    TwoLayer,
    block_hessian,
    bulk_vector,
    gradient_error,
    outlier_vector,
    pair,
)
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import Draw

# Parts of Remark B.1.
of_the_basis = partial(theorem, of="relu-basis")


@dataclass(eq=False, kw_only=True)
class Relu(TwoLayer, instances.Relu):
    """Two-layer ReLU networks."""

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """The library's networks, each with a free vector."""
        nets = super().taken(draw).items()
        return {name: replace(net, c=draw.normal(len(net.w))) for name, net in nets}

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that have neurons and points, the positive one first."""
        return [
            self.cell(sign * self.v > 0, sign * self.x > 0)
            for sign in (1, -1)
            if bool((sign * self.v > 0).any()) and bool((sign * self.x > 0).any())
        ]


@theorem(
    cracking="Theorem 3.4", closed="Corollary 5, eq. (43), (44)", poster="key result, ReLU network"
)
def relu_spectrum(net: Relu) -> Error:
    """The spectrum is that of two linear networks, one for each cell: $±(n_±/n)δx_±$, and
    $(n_±/n)Λ_{1,2}$ from the cell's weights and points. Empty cells contribute nothing.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem(
    cracking="appendix B.2",
    closed="Theorem 4, eq. (4), (37) to (42)",
    poster="key result, ReLU network",
)
def relu_blocks(net: Relu) -> Error:
    """The Hessian decouples into the cells' Hessians, weighted by their shares of the points."""
    return relative(block_hessian(net.cells, len(net.w)), net.hessian)


@theorem(of="relu-blocks", closed="eq. (35), (36)")
def relu_gradient(net: Relu) -> Error:
    """The gradient with respect to $w_±$ is the cell's mean of $δx$ times $v_±$; with respect to
    $v_±$ it is that mean times $w_±$.

    Remark: For $v_j = 0$ the derivative of the ReLU at 0 is taken as 0.
    """
    return gradient_error(net)


@theorem("section 3.2: ReLU", cracking="section 3.2", closed="section 2")
def relu_activation(net: Relu, printed: bool = False) -> Error:
    r"""$(a)_+ = a 1\lbrace a > 0\rbrace$: the network is $⟨w_+, v_+⟩x$ for $x > 0$ and
    $⟨w_-, v_-⟩x$ for $x < 0$.

    In print: $(a)_+ = 1\lbrace a > 0\rbrace$, a step function
    Remark: The appendices have $z 1\lbrace z > 0\rbrace$.
    Measured by: what the network computes
    """
    slopes = [(net.w * net.v)[sign * net.v > 0].sum() for sign in (1, -1)]
    stated = torch.where(net.x > 0, slopes[0], slopes[1]) * net.x
    in_print = (net.x[:, None] * net.v > 0).double() @ net.w
    return relative(in_print if printed else stated, net.outputs)


@theorem(cracking="section 3.2, Remark B.1", closed="section 2")
def relu_basis(net: Relu) -> Error:
    """The eigenvectors of the linear network carry over, cell by cell, to an orthonormal basis."""
    return basis_error(net.hessian, net.spectrum.eigenvectors(), net.spectrum.eigenvalues)


@theorem(cracking="section 3.2, impact of ReLU", closed="section 2, impact of ReLU")
def relu_tiny(net: Relu) -> Error:
    """A cell's eigenvalues are its share of the points times those of a network on its points
    alone. Of a rarely active cell they are tiny, and not zero.
    """
    errors = []
    for cell in net.cells:
        own, rows = cell.points > 0, torch.cat([cell.neurons, cell.neurons]) > 0
        alone = replace(net, x=net.x[own], y=net.y[own]).hessian
        values = [torch.linalg.eigvalsh(of[rows][:, rows]) for of in (alone, net.hessian)]
        errors.append(relative(cell.points.mean() * values[0], values[1], over=net.size))
    return worst(*errors) if errors else None


@theorem(cracking="section 3.2")
def relu_largest(net: Relu) -> Error:
    r"""$λ_{\max}$ is the larger of the two cells' large outliers."""
    return relative(net.spectrum.select("outlier").max(), net.eigenvalues[-1], over=net.size)


@of_the_basis("eq. (62), (65)", cracking="eq. (62), (65)", closed="eq. (64), (65)")
def relu_outlier_vector(net: Relu, printed: bool = False) -> Error:
    """$z_± = λ(w_±; v_±) + (n_±/n)δx_±(v_±; w_±)$, zero outside the cell.

    In print: $δx_±$ without $n_±/n$ beside a $λ$ with $n_±/n$
    """
    pairs = []
    for cell in net.cells:
        dx = cell.mean_dx if printed else cell.moments.dx
        pairs += [(outlier_vector(cell.w, cell.v, e, dx), e) for e in cell.moments.outliers]
    return pairs_error(net.hessian, pairs)


def _bulk_error(net: Relu, *, any_vector: bool = False, without_share: bool = False) -> Error:
    """The bulk vectors of the cells, with a free vector of any neurons, or another eigenvalue."""
    pairs = []
    for cell in net.cells:
        if cell.neurons.sum() >= 2:
            c = net.c if any_vector else net.c * cell.neurons
            value = cell.mean_dx if without_share else cell.moments.dx
            pairs += [(bulk_vector(cell.w, cell.v, s, c), s * value) for s in (1.0, -1.0)]
    return pairs_error(net.hessian, pairs)


@of_the_basis(
    "after eq. (64): vector", cracking="below eq. (64), (67)", closed="below eq. (64), (65)"
)
def relu_bulk_vector(net: Relu, printed: bool = False) -> Error:
    """In $ẑ = (I - …)c$ the vector c is zero outside the cell.

    In print: for some vector c
    """
    return _bulk_error(net, any_vector=printed)


@of_the_basis(
    "after eq. (64): value", cracking="below eq. (64), (67)", closed="below eq. (64), (65)"
)
def relu_bulk_value(net: Relu, printed: bool = False) -> Error:
    r"""The bulk eigenvectors belong to $±(n_±/n)δx_±$.

    In print: $λ_\text{bulk} = ±δx_±$, without $n_±/n$
    Remark: Theorem 3.4 (2024: Corollary 5) has the factor.
    """
    return _bulk_error(net, without_share=printed)


@theorem("2024 section 2: yx_+", of="relu-activation", closed="section 2")
def relu_covariance(net: Relu, printed: bool = False) -> Error:
    r"""$yx_+ = \frac{1}{n_+} Σ_{i=1}^n y_i x_i 1\lbrace x_i > 0\rbrace$ is a sum over all points
    and so is $yx_-$.

    In print: the sums end at $n_+$ and at $n_-$
    Remark: Appendix B and singh2026cracking have it right. The errors are those of the Hessian.
    """
    cells = net.cells
    if printed:
        ends = [int(cell.points.sum()) for cell in cells]
        sums = [(net.x * net.y * c.points)[:end].sum() for c, end in zip(cells, ends, strict=True)]
        cells = [
            replace(cell, moments=replace(cell.moments, yx=of / len(net.x)))
            for cell, of in zip(cells, sums, strict=True)
        ]
    return relative(block_hessian(cells, len(net.w)), net.hessian)


def _printed_spectrum(net: Relu) -> Tensor:
    """Theorem 3.4 with its w_- and v_-, which hold the neurons with v_j = 0, too: ``(2m,)``."""
    parts = []
    for cell in (net.cell(net.v > 0, net.x > 0), net.cell(net.v <= 0, net.x <= 0)):
        of, bulk = cell.moments, cell.moments.dx.expand(int(cell.neurons.sum()) - 1)
        inside = of.trace.square() + 4 * (of.dx.square() + 2 * of.s2 * of.dx * of.inner)
        parts += [bulk, -bulk, pair(of.trace, inside)]
    return torch.cat(parts).sort().values


@theorem("section 3.2: v_j = 0", of="relu-activation", cracking="section 3.2", closed="section 2")
def relu_zero_neuron(net: Relu, printed: bool = False) -> Error:
    """A neuron with $v_j = 0$ belongs to no cell and contributes two zero eigenvalues.

    In print: it belongs to the negative cell, $v_j ≤ 0$
    Remark: The loss has no Hessian at $v_j = 0$; the comparison uses that of automatic
        differentiation, with ReLU derivative 0 at 0.
    """
    # The printed count of bulk eigenvalues makes sense only where both cells have neurons.
    if not ((net.v == 0).any() and (net.v > 0).any() and (net.v < 0).any()):
        return None
    return relative(
        _printed_spectrum(net) if printed else net.spectrum.eigenvalues, net.eigenvalues
    )
