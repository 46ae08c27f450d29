"""Two weight matrices: appendices D.3.3 and D.4 of singh2026cracking."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.instances import Draw, Instance, whitened


def squared_norm(matrix: Tensor) -> Tensor:
    """The squared spectral norm."""
    return torch.linalg.matrix_norm(matrix, ord=2).square()


@dataclass(eq=False, kw_only=True)
class Matrices(Instance, stream="matrices"):
    """Two weight matrices: ``first (m, D)``, ``second (K, m)``, ``x (n, D)``, ``y (n, K)``.

    The inputs are whitened but in every fourth instance; every other instance has zero loss; K = D
    (the paper's case) in two of three. The edge cases: all sizes 1; a zero matrix W_2.
    """

    first: Tensor
    second: Tensor

    @classmethod
    def drawn(cls, draw: Draw) -> "list[Matrices]":
        """The edge cases and the random networks."""

        def base(
            k: int, inputs: int = 2, outputs: int = 2, width: int = 3, points: int = 6
        ) -> Matrices:
            x, y = draw.inputs_and_targets(points, inputs, outputs)
            if k % 4 != 3:
                x = whitened(x)
            first = draw.scale() * draw.normal(width, inputs)
            second = draw.scale() * draw.normal(outputs, width)
            noise = (k % 2) * draw.scale() * y
            return cls(first=first, second=second, x=x, y=x @ first.mT @ second.mT + noise)

        zero = base(1)
        edges = [base(1, 1, 1, 1), replace(zero, second=0 * zero.second)]
        return edges + [
            base(
                k,
                inputs := draw.integer(1, 3),
                inputs if k % 3 else draw.integer(1, 3),
                draw.integer(1, draw.width // 2),
                draw.integer(3, draw.size),
            )
            for k in range(draw.instances)
        ]

    def model(self) -> nn.Module:
        """Two bias-free linear layers of PyTorch's own."""
        layers = []
        for weight in (self.first, self.second):
            layer = nn.Linear(weight.shape[1], len(weight), bias=False, dtype=torch.float64)
            layer.weight = nn.Parameter(weight.clone())
            layers.append(layer)
        return nn.Sequential(*layers)

    @cached_property
    def covariance(self) -> Tensor:
        """Σ = E[xxᵀ]."""
        return self.x.mT @ self.x / len(self.x)

    @property
    def hidden(self) -> Tensor:
        """W_1 Σ W_1ᵀ."""
        return self.first @ self.covariance @ self.first.mT

    @property
    def white(self) -> bool:
        """True where the inputs are whitened."""
        eye = torch.eye(len(self.covariance), dtype=torch.float64)
        return torch.allclose(self.covariance, eye, atol=1e-12)

    @property
    def norms(self) -> Tensor:
        """‖W_1‖_2² and ‖W_2‖_2² ``(2,)``."""
        return torch.stack([squared_norm(self.first), squared_norm(self.second)])

    @property
    def diagonal_blocks(self) -> tuple[Tensor, Tensor]:
        """The measured Hessian's, of both layers."""
        count = self.first.numel()
        return self.hessian[:count, :count], self.hessian[count:, count:]


@theorem("D.3.3: blocks", cracking="appendices D.3.3, D.4")
def matrices_blocks(net: Matrices) -> Error:
    """The diagonal blocks are $W_2^⊤W_2 ⊗ Σ$ and $I ⊗ W_1ΣW_1^⊤$, for weights flattened by rows."""
    first, second = net.diagonal_blocks
    eye = torch.eye(len(net.second), dtype=torch.float64)
    return worst(
        relative(torch.kron(net.second.mT @ net.second, net.covariance), first),
        relative(torch.kron(eye, net.hidden), second),
    )


@theorem(
    "D.4: trace, any inputs", remark="Our addition.", cracking="appendix D.4, beyond its assumption"
)
def matrices_trace(net: Matrices) -> Error:
    r"""$\operatorname{tr}(H) = \operatorname{tr}(Σ)‖W_2‖_F^2 + K \operatorname{tr}(W_1ΣW_1^⊤)$ for
    any inputs, at any loss.
    """
    second = len(net.second) * net.hidden.trace()
    return relative(net.covariance.trace() * net.second.square().sum() + second, net.trace)


@theorem(
    "D.4: trace, whitened",
    remark="The paper has $≃$; for $Σ = I$ it is exact.",
    cracking="appendix D.4",
)
def matrices_frobenius(net: Matrices) -> Error:
    """For whitened inputs and $K = D$ the trace is $D(‖W_1‖_F^2 + ‖W_2‖_F^2)$."""
    inputs = net.first.shape[1]
    if not net.white or inputs != len(net.second):
        return None
    return relative(inputs * (net.first.square().sum() + net.second.square().sum()), net.trace)


@theorem(
    "D.3.3: lower bound",
    remark="The paper has it for $Σ = I$.",
    cracking="appendix D.3.3, beyond its assumption",
)
def matrices_lower_bound(net: Matrices) -> Error:
    r"""$λ_{\max}(H) ≥ \max(λ_{\max}(W_1ΣW_1^⊤), λ_{\max}(Σ)‖W_2‖_2^2)$ for any inputs, at any loss;
    for whitened ones the bound is $\max(‖W_1‖_2^2, ‖W_2‖_2^2)$.
    """
    hidden, inputs = (torch.linalg.eigvalsh(of)[-1] for of in (net.hidden, net.covariance))
    bound = torch.maximum(hidden, net.norms[1] * inputs)
    return excess(bound, net.eigenvalues[-1], net.size)


@theorem(
    "D.3.3: block-diagonal",
    printed=r"$\max\lbrace σ_{\max}^2(W_2), σ_{\max}^2(W_1)^2\rbrace$",
    remark="The norms beside it are right.",
    cracking=r"appendix D.3.3, last line on $λ_{\max}$",
)
def matrices_block_diagonal(net: Matrices, printed: bool = False) -> Error:
    r"""For whitened inputs the larger of the diagonal blocks' eigenvalues is
    $\max(σ_{\max}^2(W_1), σ_{\max}^2(W_2))$.
    """
    if not net.white:
        return None
    first, second = net.norms
    largest = max(torch.linalg.eigvalsh(block)[-1] for block in net.diagonal_blocks)
    return relative(torch.maximum(first**2 if printed else first, second), largest)


@theorem(
    "λ_max of the GGN",
    remark="From anon2026data, eq. (10).",
    cracking="appendix D.3.3, exact value",
)
def matrices_ggn(net: Matrices) -> Error:
    """For whitened inputs the largest eigenvalue of the GGN is $‖W_1‖_2^2 + ‖W_2‖_2^2$."""
    return relative(net.norms.sum(), net.ggn_eigenvalues[-1]) if net.white else None


@theorem(
    "D.3.3: λ_max",
    printed=r"$λ_{\max}(H) = \max(‖W_1‖_2^2, ‖W_2‖_2^2)$ if the Hessian is block-diagonal",
    remark="The Hessian of a two-layer network is not block-diagonal at zero loss, so the "
    "printed value is only a lower bound.",
    cracking="appendix D.3.3",
)
def matrices_sharpness(net: Matrices, printed: bool = False) -> Error:
    r"""For whitened inputs and zero loss $λ_{\max}(H) = ‖W_1‖_2^2 + ‖W_2‖_2^2$."""
    if not (net.white and net.loss < 1e-20 * net.size):
        return None
    return relative(net.norms.max() if printed else net.norms.sum(), net.eigenvalues[-1])
