"""Several inputs and outputs: Corollaries B.1 to B.3, sections 4.1 and B.4 of singh2026cracking."""

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from hessian_papers.theorems.bias import bias_pair
from hessian_papers.theorems.catalogue import FAILS, ROOT, Error, theorem
from hessian_papers.theorems.errors import basis_error, pairs_error, relative, worst
from hessian_papers.theorems.instances import Instance
from hessian_papers.theorems.two_layer import (
    Cell,
    Moments,
    TwoLayer,
    block_hessian,
    outlier_vector,
)
from hessian_spectra.closed_form import instances


@dataclass(eq=False, kw_only=True)
class SeveralInputs(Instance, instances.SeveralInputs):
    """Several inputs, ``x (n, D)``, ``y (n,)``."""

    @property
    def decoupled(self) -> Tensor:
        """Corollary B.1: ±δx_d, each m − 1 times, and a pair for each coordinate; ascending."""
        parts = []
        for w, v, x in zip(self.w, self.v, self.x.mT, strict=True):
            of = Moments.of(w, v, x, self.y)
            bulk = of.dx.expand(len(w) - 1)
            parts += [of.outliers, bulk, -bulk]
        return torch.cat(parts).sort().values


@dataclass(eq=False, kw_only=True)
class MultiInput(SeveralInputs, instances.MultiInput):
    """Several decorrelated inputs; every third network is a diagonal one."""


@dataclass(eq=False, kw_only=True)
class CorrelatedInput(SeveralInputs, instances.CorrelatedInput):
    """Several correlated inputs."""


@dataclass(eq=False, kw_only=True)
class MultiOutput(Instance, instances.MultiOutput):
    """Several outputs, ``x (n,)``, ``y (n, K)``."""

    @property
    def heads(self) -> list[Cell]:
        """Each output as a network of its own."""
        rows = zip(self.w, self.v, self.y.mT, strict=True)
        return [TwoLayer(w=w, v=v, x=self.x, y=y).cells[0] for w, v, y in rows]


@dataclass(eq=False, kw_only=True)
class Orthogonal(Instance, instances.Orthogonal):
    """An orthogonal first layer, whitened inputs and E[yx] = 0."""

    @property
    def share(self) -> Tensor:
        """tr(H)/D = ‖w‖² + ν², with VᵀV = ν² I."""
        return self.w @ self.w + self.V.square().sum() / self.V.shape[1]


@theorem(cracking="Corollary B.1")
def multi_input_spectrum(net: MultiInput) -> Error:
    """For decorrelated inputs the spectrum is the union of those of the coordinates: $±δx_d$, each
    $m - 1$ times, and a pair for each.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem(of="multi-input-spectrum", cracking="eq. (112), (113)")
def multi_input_decoupled(net: MultiInput) -> Error:
    """Each coordinate's pair is that of a network with only this input, with $σ_d^2$ and $yx_d$."""
    return relative(net.decoupled, net.eigenvalues)


@theorem(cracking="appendix B.4.1, below Corollary B.1")
def coordinate_signs(net: MultiInput) -> Error:
    r"""The sign of a coordinate's small outlier follows its progress: $λ_2 > 0$ exactly where
    $⟨w_d, v_d⟩/β_d^*$ is between 1/3 and 1, with $β_d^* = yx_d/σ_d^2$.

    Measured by: the product of both outliers, as eigenvalues of the coordinate's block
    """
    count, m = net.w.shape
    errors = []
    for d in range(count):
        of = Moments.of(net.w[d], net.v[d], net.x[:, d], net.y)
        start = d * 2 * m
        values = torch.linalg.eigvalsh(net.hessian[start : start + 2 * m, start : start + 2 * m])
        outliers = values[[-1, m - 1]]
        errors.append(relative(of.product, -outliers.prod(), over=net.size**2))
    return worst(*errors)


@theorem(of="multi-input-spectrum", cracking="appendix B.4.1")
def diagonal_networks(net: MultiInput) -> Error:
    """Diagonal linear networks are the case $m = 1$, without a bulk."""
    return relative(net.spectrum.eigenvalues, net.eigenvalues) if net.w.shape[1] == 1 else None


@theorem(of="multi-input-spectrum", cracking="eq. (114)")
def mixture(net: MultiInput) -> Error:
    """For $m > 1$ the network is a mixture of m diagonal ones, $f(x) = Σ_i ⟨β^{(i)}, x⟩$.

    Measured by: the network's outputs
    """
    return relative(sum(net.x @ beta for beta in (net.w * net.v).mT), net.outputs)


@theorem(ours=True, cracking="Corollary B.1, beyond its assumption")
def correlated_spectrum(net: CorrelatedInput) -> Error:
    r"""For correlated inputs the bulk stays $±δx_d$ with $δx = Σα - E[yx]$, and the 2D outliers are
    the eigenvalues of a $2D × 2D$ matrix: $\operatorname{diag}(δx_d, -δx_d)$ plus
    $Σ_{de}u_d u_e^⊤$, $u_d = (‖w_d + v_d‖, ‖w_d - v_d‖)/\sqrt2$.

    Remark: Our addition.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem(cracking="Corollary B.2")
def multi_output_spectrum(net: MultiOutput) -> Error:
    """The spectrum is the union of those of the heads: $±δ_k x$, each $m - 1$ times, and a pair
    for each.
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem(of="multi-output-spectrum", cracking="Corollaries B.2, B.3")
def multi_output_basis(net: MultiOutput) -> Error:
    """The heads' eigenvectors form an orthonormal basis."""
    return basis_error(net.hessian, net.spectrum.eigenvectors(), net.spectrum.eigenvalues)


@theorem(of="multi-output-spectrum", cracking="Corollary B.3, eq. (119)")
def multi_output_vector(net: MultiOutput) -> Error:
    """$z^k = λ(0; w_k; v_k; 0) + δ_k x(0; v_k; w_k; 0)$, in the group order $(v_k, w_k)$."""
    pairs = []
    for k, head in enumerate(net.heads):
        for value in head.moments.outliers:
            column = torch.zeros(len(net.w), 2 * len(head.w), dtype=torch.float64)
            column[k] = outlier_vector(head.w, head.v, value, head.moments.dx)
            pairs.append((column.flatten(), value))
    return pairs_error(net.hessian, pairs)


@theorem("eq. (116): order", of="multi-output-spectrum", cracking="eq. (116)")
def multi_output_display(net: MultiOutput, printed: bool = False) -> Error:
    """The displayed block of head k is in the order $(v_k, w_k)$.

    In print: rows labelled $∂/∂w_k$, $∂/∂v_k$
    """
    m = net.w.shape[1]
    blocks = [block_hessian([head], m) for head in net.heads]
    if printed:
        # As the labels have it, brought to the order (v_k, w_k).
        blocks = [block.roll((m, m), (0, 1)) for block in blocks]
    return relative(torch.block_diag(*blocks), net.hessian)


@theorem(ours=True, cracking="section 4.1", closed="section 3")
def orthogonal_spectrum(net: Orthogonal) -> Error:
    """For $V^⊤V = ν^2I$, $E[xx^⊤] = I$ and $E[yx] = 0$ the spectrum of $f = w^⊤Vx$ is a pair, a
    triple ($D - 1$ times), $±ρ$ ($m - D$ times each) and 0 ($(D - 1)(m - 1)$ times), $ρ = ‖V^⊤w‖$.

    Remark: Our addition: it contains Theorems 3.1 ($D = 1$) and B.1 ($D = 2$).
    """
    return relative(net.spectrum.eigenvalues, net.eigenvalues)


@theorem(tolerance=ROOT, cracking="eq. (106)", closed="eq. (6), (103)")
def orthogonal_plain(net: Orthogonal) -> Error:
    r"""Without bias, for $σ^2 = 1$ and $E[yx] = 0$, the pair is
    $S/2 ± \frac12\sqrt{S^2 + 12δx^2}$.
    """
    if net.V.shape[1] > 1:
        return None
    outliers = net.eigenvalues[[-1, len(net.w) - 1]]
    return relative(bias_pair(net.share, (net.V.mT @ net.w).square().sum()), outliers)


@theorem(cracking="section 4.1, hypothesis", closed="section 3, conjecture")
def orthogonal_pair(net: Orthogonal) -> Error:
    r"""Two outliers sum to $\operatorname{tr}(H)/D$ exactly, for every D.

    Remark: A conjecture of the papers, proved for an orthogonal first layer, whitened inputs and
        $E[yx] = 0$.
    """
    sums = torch.stack([first + second for first, second in combinations(net.eigenvalues, 2)])
    nearest = sums[(sums - net.share).abs().argmin()]
    shares = torch.stack([nearest, net.eigenvalues.sum() / net.V.shape[1]])
    return relative(net.share, shares, over=net.size)


@theorem(tolerance=FAILS, assumption=lambda net: 0, cracking="Corollary B.1")
def decorrelation(net: CorrelatedInput) -> Error:
    """Decorrelated inputs are needed: for correlated ones the sum over the coordinates errs by at
    least 1 % of the largest eigenvalue.

    Statistic: largest error over the instances.

    Measured by: a round number far above round-off
    """
    return relative(net.decoupled, net.eigenvalues)
