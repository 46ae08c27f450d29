"""Several inputs and outputs: Corollaries B.1 to B.3, sections 4.1 and B.4 of singh2026cracking."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

import torch
from torch import Tensor, nn

from hessian_papers.theorems.bias import bias_pair
from hessian_papers.theorems.catalogue import FAILS, ROOT, Error, theorem
from hessian_papers.theorems.errors import basis_error, relative, vectors_error
from hessian_papers.theorems.instances import (
    Draw,
    Instance,
    numbers,
    orthonormal,
    whitened,
    without,
)
from hessian_papers.theorems.linear import Cell, Moments, TwoLayer, block_hessian, outlier_vector
from hessian_spectra import closed_form as cf
from hessian_spectra.models import LinearNetwork, MultiInputLinear, MultiOutputLinear


@dataclass(eq=False, kw_only=True)
class Several(Instance):
    """Linear networks with several inputs or outputs: ``w``, ``v`` ``(D, m)`` or ``(K, m)``."""

    w: Tensor
    v: Tensor

    @classmethod
    def weights(cls, draw: Draw, rows: int, width: int) -> tuple[Tensor, Tensor]:
        """Random ``w`` and ``v``."""
        w = draw.scale() * draw.normal(rows, width)
        return w, draw.scale() * draw.normal(rows, width)


@dataclass(eq=False, kw_only=True)
class SeveralInputs(Several):
    """Several inputs, ``x (n, D)``, ``y (n,)``."""

    @classmethod
    def on(cls, draw: Draw, width: int, x: Tensor, y: Tensor) -> Self:
        """A network for the given inputs, and targets that correlate with these."""
        w, v = cls.weights(draw, x.shape[1], width)
        return cls(w=w, v=v, x=x, y=x @ draw.normal(x.shape[1]) + draw.scale() * y)

    def fitted(self) -> Self:
        """The network without a residual."""
        return replace(self, y=self.x @ (self.w * self.v).sum(dim=1))

    def model(self) -> nn.Module:
        """The network f(x) = Σ_d ⟨w_d, v_d⟩ x_d."""
        return MultiInputLinear(self.v, self.w)

    @property
    def exact(self) -> Tensor:
        """The library's eigenvalues."""
        return cf.multi_input(self.w, self.v, self.x, self.y).eigenvalues

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
class MultiInput(SeveralInputs, stream="multi_input"):
    """Several decorrelated inputs.

    Every third network is a diagonal one, ``m = 1``. The edge cases: one input; an input that is
    always 0; w = v in one coordinate; zero residual.
    """

    @classmethod
    def drawn(cls, draw: Draw) -> "list[MultiInput]":
        """The edge cases and the random networks."""

        def base(inputs: int = 3, width: int = 3, points: int = 8) -> MultiInput:
            x, y = draw.inputs_and_targets(points, inputs)
            # Each input keeps a variance of its own: decorrelated, not whitened.
            x = whitened(x) * torch.tensor([draw.scale() for _ in range(inputs)])
            return cls.on(draw, width, x, y)

        edges = [
            base(inputs=1),
            base(inputs=4, width=1),
            replace(i := base(), x=i.x * numbers(1.0, 0.0, 1.0)),
            replace(i := base(), w=torch.cat([i.v[:1], i.w[1:]])),
            base().fitted(),
        ]
        return edges + [
            base(
                draw.integer(1, 4),
                1 if k % 3 == 0 else draw.integer(2, draw.width // 2),
                draw.integer(4, draw.size),
            )
            for k in range(draw.instances)
        ]


@dataclass(eq=False, kw_only=True)
class CorrelatedInput(SeveralInputs, stream="correlated_input"):
    """Several correlated inputs.

    The edge cases: fewer points than inputs; m = 1; two equal inputs; zero residual.
    """

    @classmethod
    def drawn(cls, draw: Draw) -> "list[CorrelatedInput]":
        """The edge cases and the random networks."""

        def base(inputs: int = 3, width: int = 3, points: int = 8) -> CorrelatedInput:
            x, y = draw.inputs_and_targets(points, inputs)
            x = x @ (torch.eye(inputs).double() + draw.normal(inputs, inputs))
            return cls.on(draw, width, x, y)

        edges = [base(points=2), base(width=1)]
        edges += [replace(i := base(), x=i.x[:, [0, 0, 2]]), base().fitted()]
        return edges + [
            base(draw.integer(2, 4), draw.integer(1, draw.width // 2), draw.integer(2, draw.size))
            for _ in range(draw.instances)
        ]


@dataclass(eq=False, kw_only=True)
class MultiOutput(Several, stream="multi_output"):
    """Several outputs, ``x (n,)``, ``y (n, K)``.

    The edge cases: one output; m = 1; one head with w = v; one head without a residual.
    """

    @classmethod
    def drawn(cls, draw: Draw) -> "list[MultiOutput]":
        """The edge cases and the random networks."""

        def base(outputs: int = 3, width: int = 3, points: int = 8) -> MultiOutput:
            x, _ = draw.points(points)
            _, y = draw.points(points, outputs)
            x = draw.scale() * x
            w, v = cls.weights(draw, outputs, width)
            return cls(w=w, v=v, x=x, y=x[:, None] * draw.normal(outputs) + y)

        edges = [
            base(outputs=1),
            base(width=1),
            replace(i := base(), w=torch.cat([i.v[:1], i.w[1:]])),
            replace(i := base(), y=torch.cat([i.x[:, None] * (i.w[0] @ i.v[0]), i.y[:, 1:]], 1)),
        ]
        return edges + [
            base(draw.integer(1, 4), draw.integer(1, draw.width // 2), draw.integer(1, draw.size))
            for _ in range(draw.instances)
        ]

    def model(self) -> nn.Module:
        """The network f_k(x) = ⟨w_k, v_k⟩ x."""
        return MultiOutputLinear(self.v, self.w)

    @property
    def heads(self) -> list[Cell]:
        """Each output as a network of its own."""
        rows = zip(self.w, self.v, self.y.mT, strict=True)
        return [TwoLayer(w=w, v=v, x=self.x, y=y).cells[0] for w, v, y in rows]


@dataclass(eq=False, kw_only=True)
class Orthogonal(Instance, stream="orthogonal"):
    """An orthogonal first layer: ``w (m,)``, ``V (m, D)``, whitened ``x (n, D)``, E[yx] = 0.

    The edge cases: m = D; D = 1; w orthogonal to the columns of V; w = 0; V = 0; zero targets.
    """

    w: Tensor
    V: Tensor

    @classmethod
    def drawn(cls, draw: Draw) -> "list[Orthogonal]":
        """The edge cases and the random networks."""

        def base(inputs: int = 3, width: int = 5, points: int = 9) -> Orthogonal:
            x, y = draw.inputs_and_targets(points, inputs)
            x = whitened(x)
            w = draw.scale() * draw.normal(width)
            V = draw.scale() * orthonormal(draw.normal(width, inputs))
            return cls(w=w, V=V, x=x, y=draw.scale() * without(y, x))

        edges = [
            base(width=3),
            base(inputs=1),
            replace(i := base(), w=without(i.w, i.V)),
            replace(i := base(), w=0 * i.w),
            replace(i := base(), V=0 * i.V),
            replace(i := base(), y=0 * i.y),
        ]
        return edges + [
            base(
                inputs := draw.integer(1, 4),
                draw.integer(inputs, draw.width),
                draw.integer(inputs + 1, draw.size),
            )
            for _ in range(draw.instances)
        ]

    def model(self) -> nn.Module:
        """The network f(x) = wᵀV x."""
        return LinearNetwork(self.V, self.w)

    @property
    def share(self) -> Tensor:
        """tr(H)/D = ‖w‖² + ν², with VᵀV = ν² I."""
        return self.w @ self.w + self.V.square().sum() / self.V.shape[1]


@theorem("Corollary B.1: spectrum", cracking="Corollary B.1")
def multi_input_spectrum(net: MultiInput) -> Error:
    """For decorrelated inputs the spectrum is the union of those of the coordinates: $±δx_d$, each
    $m - 1$ times, and a pair for each.
    """
    return relative(net.exact, net.eigenvalues)


@theorem("Corollary B.1: formula", cracking="eq. (112), (113)")
def multi_input_decoupled(net: MultiInput) -> Error:
    """Each coordinate's pair is that of a network with only this input, with $σ_d^2$ and $yx_d$."""
    return relative(net.decoupled, net.eigenvalues)


@theorem("diagonal networks", cracking="appendix B.4.1")
def diagonal_networks(net: MultiInput) -> Error:
    """Diagonal linear networks are the case $m = 1$, without a bulk."""
    return relative(net.exact, net.eigenvalues) if net.w.shape[1] == 1 else None


@theorem("eq. (114): mixture", source="the network's outputs", cracking="eq. (114)")
def mixture(net: MultiInput) -> Error:
    """For $m > 1$ the network is a mixture of m diagonal ones, $f(x) = Σ_i ⟨β^{(i)}, x⟩$."""
    return relative(sum(net.x @ beta for beta in (net.w * net.v).mT), net.outputs)


@theorem(
    "correlated inputs (ours)",
    remark="Our addition.",
    cracking="Corollary B.1, beyond its assumption",
)
def correlated_spectrum(net: CorrelatedInput) -> Error:
    r"""For correlated inputs the bulk stays $±δx_d$ with $δx = Σα - E[yx]$, and the 2D outliers are
    the eigenvalues of a $2D × 2D$ matrix: $\operatorname{diag}(δx_d, -δx_d)$ plus
    $Σ_{de}u_d u_e^⊤$, $u_d = (‖w_d + v_d‖, ‖w_d - v_d‖)/\sqrt2$.
    """
    return relative(net.exact, net.eigenvalues)


@theorem("Corollary B.2: spectrum", cracking="Corollary B.2")
def multi_output_spectrum(net: MultiOutput) -> Error:
    """The spectrum is the union of those of the heads: $±δ_k x$, each $m - 1$ times, and a pair
    for each.
    """
    exact = cf.multi_output(net.w, net.v, net.x, net.y)
    return relative(exact.eigenvalues, net.eigenvalues)


@theorem("Corollary B.2: eigenvectors", cracking="Corollaries B.2, B.3")
def multi_output_basis(net: MultiOutput) -> Error:
    """The heads' eigenvectors form an orthonormal basis."""
    exact = cf.multi_output(net.w, net.v, net.x, net.y)
    return basis_error(net.hessian, exact.eigenvectors(), exact.eigenvalues)


@theorem("Corollary B.3", cracking="Corollary B.3, eq. (119)")
def multi_output_vector(net: MultiOutput) -> Error:
    """$z^k = λ(0; w_k; v_k; 0) + δ_k x(0; v_k; w_k; 0)$, in the group order $(v_k, w_k)$."""
    columns, values = [], []
    for k, head in enumerate(net.heads):
        for value in head.moments.outliers:
            column = torch.zeros(len(net.w), 2 * len(head.w), dtype=torch.float64)
            column[k] = outlier_vector(head.w, head.v, value, head.moments.dx)
            columns.append(column.flatten())
            values.append(value)
    return vectors_error(net.hessian, torch.stack(columns, dim=1), torch.stack(values))


@theorem("eq. (116): order", printed="rows labelled $∂/∂w_k$, $∂/∂v_k$", cracking="eq. (116)")
def multi_output_display(net: MultiOutput, printed: bool = False) -> Error:
    """The displayed block of head k is in the order $(v_k, w_k)$."""
    m = net.w.shape[1]
    blocks = [block_hessian([head], m) for head in net.heads]
    if printed:
        # As the labels have it, brought to the order (v_k, w_k).
        blocks = [block.roll((m, m), (0, 1)) for block in blocks]
    return relative(torch.block_diag(*blocks), net.hessian)


@theorem(
    "orthogonal layer (ours)",
    remark="Our addition: it contains Theorems 3.1 ($D = 1$) and B.1 ($D = 2$).",
    cracking="section 4.1",
    closed="section 3",
)
def orthogonal_spectrum(net: Orthogonal) -> Error:
    """For $V^⊤V = ν^2I$, $E[xx^⊤] = I$ and $E[yx] = 0$ the spectrum of $f = w^⊤Vx$ is a pair, a
    triple ($D - 1$ times), $±ρ$ ($m - D$ times each) and 0 ($(D - 1)(m - 1)$ times), $ρ = ‖V^⊤w‖$.
    """
    exact = cf.orthogonal_first_layer(net.w, net.V, net.x, net.y)
    return relative(exact.eigenvalues, net.eigenvalues)


@theorem("eq. (106): no bias", tolerance=ROOT, cracking="eq. (106)", closed="eq. (6), (103)")
def orthogonal_plain(net: Orthogonal) -> Error:
    r"""Without bias, for $σ^2 = 1$ and $E[yx] = 0$, the pair is
    $S/2 ± \frac12\sqrt{S^2 + 12δx^2}$.
    """
    if net.V.shape[1] > 1:
        return None
    outliers = net.eigenvalues[[-1, len(net.w) - 1]]
    return relative(bias_pair(net.share, (net.V.mT @ net.w).square().sum()), outliers)


@theorem(
    "section 4.1: pair sum",
    remark="A conjecture of the papers, proved for an orthogonal first layer, whitened inputs and "
    "$E[yx] = 0$.",
    cracking="section 4.1, hypothesis",
    closed="section 3, conjecture",
)
def orthogonal_pair(net: Orthogonal) -> Error:
    r"""Two outliers sum to $\operatorname{tr}(H)/D$ exactly, for every D."""
    sums = torch.stack([first + second for first, second in combinations(net.eigenvalues, 2)])
    nearest = sums[(sums - net.share).abs().argmin()]
    shares = torch.stack([nearest, net.eigenvalues.sum() / net.V.shape[1]])
    return relative(net.share, shares, over=net.size)


@theorem(
    tolerance=FAILS,
    source="a round number far above round-off",
    assumption=lambda net: 0,
    cracking="Corollary B.1",
)
def decorrelation(net: CorrelatedInput) -> Error:
    """Decorrelated inputs are needed: for correlated ones the sum over the coordinates errs by at
    least 1 % of the largest eigenvalue.

    Statistic: largest error over the instances.
    """
    return relative(net.decoupled, net.eigenvalues)
