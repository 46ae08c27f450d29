"""Two consecutive linear layers anywhere: eigenvalues that repeat, under any loss; all is ours."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, residual, worst
from hessian_papers.theorems.instances import Instance
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.closed_form import instances


@dataclass(eq=False, kw_only=True)
class Consecutive(Instance, instances.Consecutive):
    """Two linear layers, with what stands before and behind them, and their loss."""

    @cached_property
    def problem(self) -> cv.Problem:
        """Network, loss and data for brute force."""
        return cv.Problem(self.model(), self.criterion, [(self.x, self.y)])

    @property
    def vectors(self) -> Tensor:
        """The eigenvectors stated, as directions of the whole network."""
        part = self.spectrum.eigenvectors()
        whole = part.new_zeros(len(self.hessian), part.shape[1])
        whole[self.places] = part
        return whole

    def copies(self, value: Tensor) -> int:
        """How often brute force has an eigenvalue."""
        return int(((self.eigenvalues - value).abs() < 1e-9 * self.size).sum())

    def along_the_orbit(self, generator: Tensor) -> Tensor:
        """The direction ``(X W_1, -W_2 X)``, in which the product does not move."""
        z = torch.zeros(len(self.hessian), dtype=torch.float64)
        layers = generator @ self.first, -self.last @ generator
        z[self.places] = torch.cat([layer.flatten() for layer in layers])
        return z


@theorem(ours=True, cracking="Theorem 3.1, beyond its assumption")
def consecutive_bulk(net: Consecutive) -> Error:
    r"""Two consecutive linear layers, $W_1$ of $m × D$ and $W_2$ of $K × m$, stand in any network,
    under any loss. Let $G = ∂L/∂(W_2W_1) = Σ_i σ_iu_iv_i^⊤$. The Hessian of the whole network has
    the eigenvalues $±σ_i$, each at least $m - D - K + 1$ times. Their eigenvectors are
    $(av_i^⊤, ±u_ia^⊤)$ for which $(W_2a, W_1^⊤a)$ is a multiple of $(u_i, ∓v_i)$.

    Remark: Theorem 3.1 has it for $D = K = 1$ and the squared error.
    """
    part, gradient = net.spectrum, net.gradient_in_product
    stated = cf.bulk(gradient, len(net.first))
    # Relative to the largest eigenvalue, where many of them may be zeros of round-off.
    missing = [max(0, count - net.copies(value)) for value, count in _counts(stated.eigenvalues)]
    return worst(residual(net.hessian, net.vectors, part.eigenvalues), *map(float, missing))


def _counts(values: Tensor) -> list[tuple[Tensor, int]]:
    unique, counts = values.unique(return_counts=True)
    return list(zip(unique, counts.tolist(), strict=True))


@theorem(of="consecutive-bulk", ours=True, cracking="Theorem 3.1, beyond its assumption")
def consecutive_others(net: Consecutive) -> Error:
    r"""Let $m ≥ D + K - 1$, the layers have full rank, and the $σ_i$ differ. All but
    $\min(D, K)(3\max(D, K) + \min(D, K) - 2)$ eigenvalues of the two layers are $±σ_i$ and zeros.
    The zeros are $|D - K|(m - \min(D, K))$.

    Measured by: the numbers of eigenvalues near those that are stated, in networks of two layers
    """
    gradient, width = net.gradient_in_product, len(net.first)
    low, high = sorted(gradient.shape)
    sizes = torch.linalg.svdvals(gradient)
    gaps = torch.cat([sizes[:-1] - sizes[1:], sizes[-1:]])
    ranks = [int(torch.linalg.matrix_rank(layer)) for layer in (net.first, net.last)]
    full = ranks == [gradient.shape[1], gradient.shape[0]]
    bare = net.before is None and net.after is None and net.y.is_floating_point()
    if not (bare and full and width >= low + high - 1 and gaps.min() > 1e-4 * net.size):
        return None
    repeated = [value for value, _ in _counts(net.spectrum.eigenvalues)]
    others = len(net.eigenvalues) - sum(map(net.copies, repeated))
    return relative(low * (3 * high + low - 2), others)


@theorem(of="consecutive-bulk", ours=True, cracking="Theorem 3.1, beyond its assumption")
def consecutive_signs(net: Consecutive) -> Error:
    r"""Along $(XW_1, -W_2X)$, for any $X$, the quadratic form of the Hessian is
    $-2\operatorname{tr}(QX^2)$ with $Q = W_1G^⊤W_2$. Let n be the rank of $(W_2W_1G^⊤)^2$. Let p
    eigenvalues of $W_2W_1G^⊤$ have a positive real part, and q a negative one. At any width at
    least $nm - (n^2 - p + q)/2$ eigenvalues of the Hessian are negative, and $nm - (n^2 + p -
    q)/2$ positive.
    """
    gradient, width = net.gradient_in_product, len(net.first)
    generator = torch.linspace(-1, 2, width * width, dtype=torch.float64).sin().view(width, -1)
    generator = generator + torch.eye(width, dtype=torch.float64)
    z = net.along_the_orbit(generator)
    form = -2 * (net.first @ gradient.mT @ net.last @ generator @ generator).trace()
    away = relative(form, z @ net.hessian @ z, over=net.size * z.square().sum())
    floor = 1e-12 * net.size
    bounds = cf.sign_counts(net.last @ net.first, gradient, width)
    counts = ((net.eigenvalues < -floor).sum(), (net.eigenvalues > floor).sum())
    few = [excess(bound, count, over=1.0) for bound, count in zip(bounds, counts, strict=True)]
    return worst(away, *few)
