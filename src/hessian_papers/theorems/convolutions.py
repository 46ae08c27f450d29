"""A convolution's Hessian by its patches: wu2022dissecting, appendix A.2, eq. (29) to (35)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import conv2d, cross_entropy, pad

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import relative, worst
from hessian_papers.theorems.instances import WithoutNetwork, measured
from hessian_papers.theorems.layerwise import SECOND_DERIVATIVES, gram, roots, second_derivatives
from hessian_spectra.closed_form.instances import Draw


@dataclass(eq=False, kw_only=True)
class Convolutions(WithoutNetwork):
    """A convolution, its ReLU and a linear layer of scores.

    Args:
        x: images ``(N, channels, height, width)``.
        y: classes ``(N,)``.
        kernel: of the convolution ``(m, channels, height, width)``.
        bias: ``(m,)``.
        head: of the linear layer ``(c, m P)``, P the number of positions.
        stride: of the convolution.
        padding: of the images.
        alike: whether all positions are: images are constant, and so is the head.
    """

    stream = "convolutions"
    source = SECOND_DERIVATIVES

    kernel: Tensor
    bias: Tensor
    head: Tensor
    stride: int
    padding: int
    alike: bool

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Every third one has positions that are alike."""
        odd, alike, side = number % 2, number % 3 == 2, 3 + number % 2
        m, channels, c = (draw.integer(2, 3) for _ in range(3))
        x = draw.normal(3, channels, *((1, 1) if alike else (side, side)))
        kernel = draw.normal(m, channels, 2, 1 + odd)
        stride, padding = (1, 0) if alike else (1 + odd, odd)
        x = x.expand(-1, -1, side, side).clone()
        positions = conv2d(x, kernel, None, stride, padding)[0, 0].numel()
        head = draw.normal(c, m, 1 if alike else positions).expand(-1, -1, positions)
        return cls(
            x=x,
            y=torch.arange(len(x)) % c,
            kernel=kernel,
            bias=draw.normal(m),
            head=(head / positions).flatten(1),
            stride=stride,
            padding=padding,
            alike=alike,
        )

    def layer_outputs(self, x: Tensor, kernel: Tensor) -> Tensor:
        """z of a sample ``(m P,)``."""
        return conv2d(x[None], kernel, self.bias, self.stride, self.padding).flatten()

    def loss_of(self, z: Tensor, y: Tensor) -> Tensor:
        """The cross-entropy of a sample by z."""
        return cross_entropy(self.head @ z.relu(), y)

    @cached_property
    def patches(self) -> Tensor:
        """X of each sample ``(N, d, P)``, patch by patch."""
        images, (height, width) = pad(self.x, [self.padding] * 4), self.kernel.shape[2:]
        rows, columns = (
            range(0, size - patch + 1, self.stride)
            for size, patch in zip(images.shape[2:], (height, width), strict=True)
        )
        pieces = [images[:, :, i : i + height, j : j + width] for i in rows for j in columns]
        return torch.stack([piece.flatten(1) for piece in pieces], dim=2)

    @cached_property
    def rows(self) -> Tensor:
        """``N = Q G (N, c, m, P)``."""
        z = torch.stack([self.layer_outputs(x, self.kernel) for x in self.x])
        jacobians = self.head * (z > 0).to(z)[:, None, :]
        rows = roots(z.relu() @ self.head.mT) @ jacobians
        return rows.unflatten(2, (len(self.kernel), -1))

    def reduced(self, printed: bool = False) -> Tensor:
        """``M_m`` of each sample ``(N, m, m)``; in print of N reshaped as it lies in memory."""
        samples, _, m, positions = self.rows.shape
        rows = self.rows if printed else self.rows.transpose(2, 3)
        return gram(rows.reshape(samples, -1, m)) / positions

    @measured
    def output_hessians(self) -> Tensor:
        """M of each sample ``(N, m P, m P)``."""
        outputs = [self.layer_outputs(x, self.kernel) for x in self.x]
        return second_derivatives(self.loss_of, outputs, self.y)

    @measured
    def weight_hessians(self) -> Tensor:
        """The Hessian of each sample's loss by w ``(N, m d, m d)``."""

        def loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
            return self.loss_of(self.layer_outputs(x, w.view_as(self.kernel)), y)

        return second_derivatives(loss, [self.kernel.flatten()] * len(self.x), self.x, self.y)


@theorem(dissecting="eq. (29), (30)")
def convolution_hessian(net: Convolutions) -> Error:
    """The Hessian of a sample's loss with respect to a kernel is $(I ⊗ X)M(I ⊗ X^⊤)$, with a patch
    in each column of X. $M = G^⊤AG$ is that with respect to the outputs at all positions.
    """
    M = gram(net.rows.flatten(2))
    eye = torch.eye(len(net.kernel), dtype=M.dtype)
    spread = torch.stack([torch.kron(eye, x.contiguous()) for x in net.patches])
    return worst(
        relative(M, net.output_hessians), relative(spread @ M @ spread.mT, net.weight_hessians)
    )


@theorem("dissecting eq. (33)", dissecting="eq. (33)")
def output_hessian_of_a_convolution(net: Convolutions, printed: bool = False) -> Error:
    """The mean of M's blocks over positions is $M_m = N_m^⊤ N_m/P$, where $N_m$ is N reshaped to
    $cP × m$ after its axes $(c, m, P)$ are permuted to $(c, P, m)$.

    In print: $N_m$ is N reshaped to $cP × m$
    """
    m = len(net.kernel)
    blocks = net.output_hessians.unflatten(2, (m, -1)).unflatten(1, (m, -1))
    mean = torch.stack([blocks[:, :, p, :, p] for p in range(blocks.shape[2])]).mean(dim=0)
    return relative(net.reduced(printed), mean)


@theorem("dissecting eq. (35)", dissecting="eq. (35), with (31) and (33)")
def convolution_of_positions_alike(net: Convolutions, printed: bool = False) -> Error:
    """For constant images, and scores of means over the P positions, the Hessian with respect to
    the kernel is $P M_m ⊗ XX^⊤$: P times the approximation, with $M_m$ of (33).

    In print: $H ≈ M_m ⊗ XX^⊤$
    Remark: The print drops the blocks of M between two positions.
    """
    if not net.alike:
        return None
    pairs = zip(net.reduced(), gram(net.patches.mT), strict=True)
    stated = torch.stack([torch.kron(M, products) for M, products in pairs])
    return relative(stated * (1 if printed else net.patches.shape[2]), net.weight_hessians)
