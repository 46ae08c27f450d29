"""Two weight matrices: appendices D.3.3 and D.4 of singh2026cracking."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.layers import Deep
from hessian_papers.theorems.two_layer import Linear
from hessian_spectra.closed_form.instances import Draw, whitened

# Parts of appendix D.3.3.
of_the_sharpness = partial(theorem, of="matrices-sharpness")


@dataclass(eq=False, kw_only=True)
class Matrices(Deep):
    """Two weight matrices ``(m, D)`` and ``(K, m)``, ``x (n, D)``, ``y (n, K)``.

    The inputs are whitened but in every fourth instance; every other instance has zero loss; K = D
    (the paper's case) in two of three.
    """

    stream = "matrices"

    @classmethod
    def of_size(
        cls, draw: Draw, k: int, inputs: int = 2, outputs: int = 2, width: int = 3, points: int = 6
    ) -> Self:
        """One network, of the k-th kind."""
        x, y = draw.inputs_and_targets(points, inputs, outputs)
        if k % 4 != 3:
            x = whitened(x)
        first, second = draw.scaled(width, inputs), draw.scaled(outputs, width)
        noise = (k % 2) * draw.scale() * y
        return cls(weights=(first, second), x=x, y=x @ first.mT @ second.mT + noise)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The smallest sizes, and a second matrix of 0."""
        zero = cls.of_size(draw, 1)
        return {
            "all sizes 1": cls.of_size(draw, 1, 1, 1, 1),
            "W_2 = 0": replace(zero, weights=(zero.weights[0], 0 * zero.weights[1])),
        }

    @classmethod
    def count(cls, draw: Draw) -> int:
        """The number of other families: two layers are cheap."""
        return draw.instances

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to three inputs and outputs."""
        inputs = draw.integer(1, 3)
        outputs = inputs if number % 3 else draw.integer(1, 3)
        width, points = draw.integer(1, draw.width // 2), draw.integer(3, draw.size)
        return cls.of_size(draw, number, inputs, outputs, width, points)

    @property
    def white(self) -> bool:
        """True where Σ is the identity."""
        return super().white and abs(self.input_scale - 1) < 1e-12

    @property
    def hidden(self) -> Tensor:
        """W_1 Σ W_1ᵀ."""
        return self.weights[0] @ self.second_moments @ self.weights[0].mT

    @property
    def diagonal_blocks(self) -> tuple[Tensor, Tensor]:
        """The measured Hessian's, of both layers."""
        count = self.weights[0].numel()
        return self.hessian[:count, :count], self.hessian[count:, count:]


@of_the_sharpness(cracking="appendices D.3.3, D.4")
def matrices_blocks(net: Matrices) -> Error:
    """The diagonal blocks are $W_2^⊤W_2 ⊗ Σ$ and $I ⊗ W_1ΣW_1^⊤$, for weights flattened by rows."""
    first, second = net.diagonal_blocks
    eye = torch.eye(net.outlets, dtype=torch.float64)
    return worst(
        relative(torch.kron(net.weights[1].mT @ net.weights[1], net.second_moments), first),
        relative(torch.kron(eye, net.hidden), second),
    )


@theorem(of="layers-trace-any", ours=True, cracking="appendix D.4, beyond its assumption")
def matrices_trace(net: Matrices) -> Error:
    r"""$\operatorname{tr}(H) = \operatorname{tr}(Σ)‖W_2‖_F^2 + K \operatorname{tr}(W_1ΣW_1^⊤)$ for
    any inputs, at any loss.

    Remark: Our addition.
    """
    second = net.outlets * net.hidden.trace()
    return relative(net.second_moments.trace() * net.weights[1].square().sum() + second, net.trace)


@theorem(cracking="appendix D.4")
def matrices_frobenius(net: Matrices) -> Error:
    """For whitened inputs and $K = D$ the trace is $D(‖W_1‖_F^2 + ‖W_2‖_F^2)$.

    Remark: The paper has $≃$; for $Σ = I$ it is exact.
    """
    if not net.white or net.inputs != net.outlets:
        return None
    first, second = (weight.square().sum() for weight in net.weights)
    return relative(net.inputs * (first + second), net.trace)


@of_the_sharpness(cracking="appendix D.3.3, beyond its assumption")
def matrices_lower_bound(net: Matrices) -> Error:
    r"""$λ_{\max}(H) ≥ \max(λ_{\max}(W_1ΣW_1^⊤), λ_{\max}(Σ)‖W_2‖_2^2)$ for any inputs, at any loss;
    for whitened ones the bound is $\max(‖W_1‖_2^2, ‖W_2‖_2^2)$.

    Remark: The paper has it for $Σ = I$.
    """
    hidden, inputs = (torch.linalg.eigvalsh(of)[-1] for of in (net.hidden, net.second_moments))
    bound = torch.maximum(hidden, net.norms[1] * inputs)
    return excess(bound, net.eigenvalues[-1], net.size)


@of_the_sharpness("D.3.3: block-diagonal", cracking=r"appendix D.3.3, last line on $λ_{\max}$")
def matrices_block_diagonal(net: Matrices, printed: bool = False) -> Error:
    r"""For whitened inputs the larger of the diagonal blocks' eigenvalues is
    $\max(σ_{\max}^2(W_1), σ_{\max}^2(W_2))$.

    In print: $\max\lbrace σ_{\max}^2(W_2), σ_{\max}^2(W_1)^2\rbrace$
    Remark: The norms beside it are right.
    """
    if not net.white:
        return None
    first, second = net.norms
    largest = max(torch.linalg.eigvalsh(block)[-1] for block in net.diagonal_blocks)
    return relative(torch.maximum(first**2 if printed else first, second), largest)


@of_the_sharpness(cracking="appendix D.3.3, exact value")
def matrices_ggn(net: Matrices) -> Error:
    """For whitened inputs the largest eigenvalue of the GGN is $‖W_1‖_2^2 + ‖W_2‖_2^2$.

    Remark: From anon2026data, eq. (10).
    """
    return relative(net.norms.sum(), net.ggn_eigenvalues[-1]) if net.white else None


@theorem("D.3.3: λ_max", cracking="appendix D.3.3")
def matrices_sharpness(net: Matrices, printed: bool = False) -> Error:
    r"""For whitened inputs and zero loss $λ_{\max}(H) = ‖W_1‖_2^2 + ‖W_2‖_2^2$.

    In print: $λ_{\max}(H) = \max(‖W_1‖_2^2, ‖W_2‖_2^2)$ if the Hessian is block-diagonal
    Remark: The Hessian of a two-layer network is not block-diagonal at zero loss, so the printed
        value is only a lower bound.
    """
    if not (net.white and net.loss < 1e-20 * net.size):
        return None
    return relative(net.norms.max() if printed else net.norms.sum(), net.eigenvalues[-1])


@theorem("D.1.3: alignments", source="singular values", cracking="appendix D.1.3")
def alignments_of_vectors(net: Linear, printed: bool = False) -> Error:
    r"""For vectors the spectral alignment $σ_{\max}(W^⊤V)$ and the nuclear one $Σ_i σ_i(W^⊤V)$ are
    $|⟨w, v⟩|$.

    In print: They all reduce to the standard inner product of vectors
    Remark: The Frobenius alignment does. The paper correlates absolute values.
    """
    product = net.w[:, None].mT @ net.v[:, None]
    inner = net.w @ net.v
    values = [torch.linalg.matrix_norm(product, ord=of) for of in (2, "nuc")]
    over = float(net.w.norm() * net.v.norm())
    return relative(inner if printed else inner.abs(), torch.stack(values), over=over)


@theorem("D.1.3: sizes", of="alignments-of-vectors", cracking="appendix D.1.3, model")
def matrices_sizes(net: Matrices, printed: bool = False) -> Error:
    r"""In $f(x) = W_2W_1x$ the first matrix is $m × D$.

    In print: $W_1 ∈ R^{D × m}$, as $W_2$
    Remark: The error of the print is that of the number of rows that the product needs.
    Measured by: the network's outputs
    """
    first, second = net.weights
    if printed:
        return relative(net.inputs, second.shape[1])
    return relative(net.x @ first.mT @ second.mT, net.outputs)
