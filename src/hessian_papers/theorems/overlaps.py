"""Overlaps of two models' top eigenspaces: wu2022dissecting, appendix G.1, eq. (267), (268)."""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from typing import Self

import torch
from torch import Tensor

from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import relative, worst
from hessian_papers.theorems.instances import WithoutNetwork, measured
from hessian_papers.theorems.layerwise import descending
from hessian_spectra import curvature as cv
from hessian_spectra.closed_form.instances import Draw, orthonormal


@dataclass(eq=False, kw_only=True)
class Models(WithoutNetwork):
    """Two models' Kronecker factors with $τ_m γ_1 > τ_1 γ_2$.

    Args:
        x: ``E[M]`` of both ``(2, m, m)``.
        y: ``E[x xᵀ]`` of both ``(2, n, n)``.
    """

    stream = "models"
    source = "canonical angles between the spaces of dense eigenvectors"

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """Random eigenvectors; an odd instance has units of one sign in the first of them."""

        def factor(size: int, low: float, high: float, same_sign: bool) -> Tensor:
            columns = draw.normal(size, size)
            columns[:, 0] = columns[:, 0].abs() if same_sign else columns[:, 0]
            values = low + (high - low) * draw.uniform(size).sort(descending=True).values
            values[0] = 1.0
            basis = orthonormal(columns)
            return (basis * values) @ basis.mT

        sizes = [(2 + k % 3, draw.integer(2, 4), k % 2 == 1) for k in range(draw.instances)]
        return {
            f"random {k}": cls(
                x=torch.stack([factor(m, 0.4, 0.9, signs) for _ in range(2)]),
                y=torch.stack([factor(n, 0.0, 0.35, signs) for _ in range(2)]),
            )
            for k, (m, n, signs) in enumerate(sizes)
        }

    @property
    def share(self) -> Tensor:
        """``k / m`` for all k ``(m,)``."""
        m = self.x.shape[1]
        return torch.arange(1, m + 1, dtype=self.x.dtype) / m

    @property
    def bases(self) -> tuple[Tensor, Tensor]:
        """The eigenvectors r and r' of both models."""
        return descending(self.x[0]), descending(self.x[1])

    @cached_property
    def moved(self) -> Tensor:
        """r' with permuted units, under all signs of these ``(2^m, m!, m, m)``; first without."""
        _, other = self.bases
        orders = torch.tensor([*permutations(range(len(other)))])
        signs = torch.tensor([*product((1.0, -1.0), repeat=len(other))])
        return signs[:, None, :, None] * other[orders]

    @measured
    def overlaps(self) -> Tensor:
        """Overlaps of the top k dense eigenvectors of the two products, ``(m,)`` for k up to m."""
        spaces = [descending(torch.kron(*pair)) for pair in zip(self.x, self.y, strict=True)]
        return by_angles(*(space[:, : self.x.shape[1]] for space in spaces))

    @measured
    def moved_overlaps(self) -> Tensor:
        """Overlaps of the first k eigenvectors r and :attr:`moved` r' ``(2^m, m!, m)``."""
        return by_angles(self.bases[0], self.moved)


def by_angles(first: Tensor, other: Tensor) -> Tensor:
    """``‖cos φ‖² / k`` of the spaces of the first k columns, for all k, by canonical angles φ."""
    cosines = first.mT @ other
    squares = [
        torch.linalg.svdvals(cosines[..., :k, :k]).square().mean(dim=-1)
        for k in range(1, cosines.shape[-1] + 1)
    ]
    return torch.stack(squares, dim=-1)


@theorem(dissecting="Definition 2.1")
def overlap_is_a_mean_of_squared_cosines(net: Models) -> Error:
    """The overlap $‖U^⊤V‖_F^2/k$ of two k-dimensional spaces, by any orthonormal bases, is the mean
    squared cosine of their canonical angles.
    """
    first, other = (descending(torch.kron(*pair)) for pair in zip(net.x, net.y, strict=True))
    squares = (first.mT @ other).square().cumsum(dim=0).cumsum(dim=1).diagonal()
    size = torch.arange(1, len(squares) + 1)
    return relative((squares / size)[: net.x.shape[1]], net.overlaps)


@theorem(dissecting="Theorem G.1, eq. (267)")
def overlap_of_products(net: Models) -> Error:
    """With $τ_mγ_1 > τ_1γ_2$ the top k-spaces of two products $E[M] ⊗ E[xx^⊤]$ overlap by
    $(t_1 · t_1')^2$ times the overlap of the top k-spaces of $E[M]$, for all $k ≤ m$.

    Remark: In print the eigenvalues γ of $E[xx^⊤]$ end at m; there are n.
    """
    t, other = (descending(of)[:, 0] for of in net.y)
    return relative((t @ other).square() * cv.subspace_overlaps(*net.bases), net.overlaps)


@theorem("dissecting eq. (268)", dissecting="Theorem G.1, eq. (268)")
def overlap_of_random_spaces(net: Models, printed: bool = False) -> Error:
    """The overlap of two k-spaces is $Σ_{i,j ≤ k} (r_i · r_j')^2/k$. Its mean over all
    permutations and signs of the units of a model is $k/m$.

    In print: $Σ_{i ≤ k} (r_i · r_i')^2$, with the mean $k/m$
    Remark: By Definition 2.1 all pairs of vectors count, and their sum is divided by k.
    Measured by: canonical angles between the spaces of dense eigenvectors, for all permutations
        and signs of the units
    """
    squares = (net.bases[0].mT @ net.moved).square()
    if printed:
        stated = squares.diagonal(dim1=2, dim2=3).cumsum(dim=2)
    else:
        sums = squares.cumsum(dim=2).cumsum(dim=3).diagonal(dim1=2, dim2=3)
        stated = sums / (net.share * sums.shape[2])
    actual = net.moved_overlaps
    return worst(relative(stated, actual), relative(net.share, actual.mean(dim=(0, 1))))


@theorem(
    "dissecting eq. (268): permutations",
    of="overlap-of-random-spaces",
    dissecting="Theorem G.1, above eq. (268)",
)
def overlap_of_permuted_units(net: Models, printed: bool = False) -> Error:
    """The mean overlap over permutations of units alone is $k/m + S_k S_k'/(k m (m - 1))$ with
    $S_k = Σ_{i ≤ k} ((1^⊤r_i)^2 - 1)$.

    In print: $k/m$, since units may be permuted
    Remark: The mean over their signs as well is $k/m$.
    Measured by: canonical angles between the spaces of dense eigenvectors, for all permutations
        of the units
    """
    first, other = ((of.sum(dim=0).square() - 1).cumsum(dim=0) for of in net.bases)
    m, stated = len(first), net.share
    beyond = first * other / (stated * m * m * (m - 1))
    return relative(stated if printed else stated + beyond, net.moved_overlaps[0].mean(dim=0))
