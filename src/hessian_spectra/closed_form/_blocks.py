"""Hessians that fall apart into two-layer linear blocks, one for each cell, coordinate or head."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._inputs import finite, norm, require_all, times_power_of_two
from hessian_spectra.closed_form._reduction import Reduction, Sector
from hessian_spectra.closed_form.assumptions import ROUNDING
from hessian_spectra.spectrum import Spectrum


@dataclass(frozen=True)
class Block:
    """The Hessian of ``f = ⟨w, v⟩ x`` in ``(v, w)`` (singh2026cracking, Theorem 3.1, any loss).

    Args:
        w: ``(m,)`` second layer.
        v: ``(m,)`` first layer.
        second_moment: ``()`` mean of ``l'' x²``; ``x²`` for the squared error.
        residual_covariance: ``()`` mean of ``l' x``; ``x (f - y)`` for the squared error.
        rows: which parameters of the whole network these are.
        cell: the label of the block.
    """

    w: Float[Tensor, " m"]
    v: Float[Tensor, " m"]
    second_moment: Tensor
    residual_covariance: Tensor
    rows: slice | Tensor
    cell: str = ""

    def reduction(self) -> Reduction:
        """The block along the sums and the differences of the two layers.

        In the coordinates ``((z_v + z_w)/√2, (z_v - z_w)/√2)`` it is ``diag(δx I, -δx I)`` plus
        ``σ² u uᵀ`` with ``u = (w + v, w - v)/√2``.
        """
        return Reduction(self.sectors(column=0, start=0), self.second_moment.reshape(1, 1))

    def sectors(self, column: int, start: int) -> list[Sector]:
        """The sums, then the differences, of layers that stand in the parameters from ``start``."""
        m, root = len(self.w), math.sqrt(0.5)
        return [
            Sector(
                sign * self.residual_covariance,
                root * (self.w + sign * self.v)[:, None],
                [column],
                [(start, root), (start + m, sign * root)],
            )
            for sign in (1.0, -1.0)
        ]

    def values(self) -> Float[Tensor, " 4"]:
        """Both outliers, ascending, and the two bulk eigenvalues ``+δx`` and ``-δx``."""
        sums, differences = norm(self.w + self.v), norm(self.w - self.v)
        dx = self.residual_covariance
        pair = stable_pair(sums, differences, self.w @ self.v, self.second_moment, dx)
        return torch.cat([pair, torch.stack([dx, -dx])])

    @property
    def multiplicities(self) -> list[int]:
        """The multiplicity of each of :meth:`values`."""
        return [1, 1, len(self.w) - 1, len(self.w) - 1]


def stable_pair(
    sums: Tensor,
    differences: Tensor,
    inner_product: Tensor,
    second_moment: Tensor,
    residual_covariance: Tensor,
) -> Float[Tensor, "... 2"]:
    """The outlier pair, ascending, from ``P = ‖w + v‖``, ``Q = ‖w - v‖`` and ``c = ⟨w, v⟩``.

    These are the eigenvalues of ``[[δx + σ² P²/2, σ² P Q/2], [σ² P Q/2, -δx + σ² Q²/2]]``, where
    ``P² + Q² = 2(‖w‖² + ‖v‖²)`` and ``P² - Q² = 4c``; the latter would cancel for small ``c``.
    ``σ²`` may be negative, as the mean of ``l'' x²`` is for some losses.
    """
    # The matrix is odd in (σ², δx): for σ² < 0 that of -σ² and -δx has the larger trace.
    sign = torch.where(second_moment < 0, -1.0, 1.0)
    moment, dx = sign * second_moment, sign * residual_covariance
    fit = moment * inner_product
    half_trace = moment * ((sums**2 + differences**2) / 4)
    largest = half_trace + torch.hypot(dx + fit, moment * (sums * differences / 2))
    # The smaller eigenvalue follows from the product of both, which factorises, so that nothing
    # cancels. The larger one is 0 only for H = 0, where both are.
    divisor = torch.where(largest > 0, largest, 1.0)
    smallest = -(dx / divisor) * (dx + 2 * fit)
    pair = torch.stack([smallest, largest], dim=-1)
    return torch.where(sign[..., None] < 0, -pair.flip(-1), pair)


def pair_from_numbers(
    squared_norm_w: Tensor,
    squared_norm_v: Tensor,
    inner_product: Tensor,
    second_moment: Tensor,
    residual_covariance: Tensor,
    inner_name: str = "inner_product",
) -> Float[Tensor, "... 2"]:
    """The outlier pair, descending, from squared norms and inner product.

    Raises:
        ValueError: a square is negative, or the inner product, which the message calls
            ``inner_name``, larger than Cauchy and Schwarz allow.
    """
    require_all("squared_norm_w", squared_norm_w, squared_norm_w >= 0, "no negative value")
    require_all("squared_norm_v", squared_norm_v, squared_norm_v >= 0, "no negative value")
    largest = squared_norm_w.sqrt() * squared_norm_v.sqrt()
    # A few rounding errors of room: parallel vectors reach the bound.
    excess = inner_product.abs() - largest * (1 + 1e-12)
    if bool((excess > 0).any()):
        worst = excess.flatten().argmax()
        raise ValueError(
            f"{inner_name}: expected at most {float(largest.flatten()[worst])} in absolute value "
            f"(the product of both norms), got {float(inner_product.flatten()[worst])}"
        )
    both, cross = squared_norm_w + squared_norm_v, 2 * inner_product
    sums, differences = ((both + sign * cross).clamp(min=0).sqrt() for sign in (1, -1))
    pair = stable_pair(sums, differences, inner_product, second_moment, residual_covariance)
    return pair.flip(-1)


def blocks_of_rows(
    w: Float[Tensor, "k m"],
    v: Float[Tensor, "k m"],
    second_moments: Float[Tensor, " k"],
    residual_covariances: Float[Tensor, " k"],
) -> list[Block]:
    """A block for each row, its number the cell; the parameters are ``v_1, w_1, v_2, ...``."""
    size = 2 * w.shape[1]
    return [
        Block(*numbers, rows=slice(size * row, size * (row + 1)), cell=str(row))
        for row, numbers in enumerate(zip(w, v, second_moments, residual_covariances, strict=True))
    ]


def spectrum_of_blocks(
    blocks: Sequence[Block], power: int, method: str, dead: Tensor | None = None
) -> Spectrum:
    """The direct sum of blocks.

    Args:
        blocks: the blocks, scaled.
        power: the Hessian is ``2**power`` times the scaled one.
        method: the theorem's name.
        dead: ``(d,)`` parameters that the loss does not depend on.
    """
    values = [times_power_of_two(block.values(), power) for block in blocks]
    multiplicities = [count for block in blocks for count in block.multiplicities]
    kinds = ["outlier", "outlier", "bulk", "bulk"] * len(blocks)
    cells = [block.cell for block in blocks for _ in range(4)]
    if dead is not None and len(dead) > 0:
        values.append(torch.zeros(1, dtype=torch.float64, device=dead.device))
        multiplicities.append(len(dead))
        kinds.append("zero")
        cells.append("")
    return Spectrum(
        values=finite(torch.cat(values)),
        multiplicities=multiplicities,
        kinds=kinds,
        cells=cells,
        method=method,
        eigenbasis=partial(_eigenbasis, blocks, dead, sum(multiplicities)),
    )


def spectrum_of_coupled_blocks(
    blocks: Sequence[Block],
    coupling: Float[Tensor, "k k"],
    sizes: Float[Tensor, " k"],
    power: int,
    methods: tuple[str, str],
) -> Spectrum:
    """Blocks of one width with outliers that may be coupled, beside a bulk as it is without that.

    Args:
        blocks: the blocks, scaled, of parameters that stand one after the other.
        coupling: ``(k, k)`` in the place of the diagonal matrix of second moments.
        sizes: what of each row of it is compared with, to tell whether it is diagonal.
        power: the Hessian is ``2**power`` times the scaled one.
        methods: the theorem's name for a diagonal coupling, and for another.
    """
    others = coupling - torch.diag(coupling.diagonal())
    if bool((others.abs() <= ROUNDING * sizes[:, None] * sizes).all()):
        return spectrum_of_blocks(blocks, power, methods[0])
    m = len(blocks[0].w)
    sectors = [part for d, block in enumerate(blocks) for part in block.sectors(d, 2 * m * d)]
    reduction = Reduction(sectors, coupling)
    outliers = reduction.outlier_values()
    bulk = torch.stack([sector.value for sector in sectors])
    return Spectrum(
        values=finite(times_power_of_two(torch.cat([outliers, bulk]), power)),
        multiplicities=[1] * len(outliers) + [m - 1] * len(bulk),
        kinds=["outlier"] * len(outliers) + ["bulk"] * len(bulk),
        cells=[""] * len(outliers) + [b.cell for b in blocks for _ in range(2)],
        method=methods[1],
        eigenbasis=reduction.eigenbasis,
    )


def _eigenbasis(blocks: Sequence[Block], dead: Tensor | None, parameters: int) -> Tensor:
    parts = [(block.rows, block.reduction().eigenbasis()) for block in blocks]
    if dead is not None and len(dead) > 0:
        parts.append((dead, torch.eye(len(dead), dtype=torch.float64, device=dead.device)))
    vectors = parts[0][1].new_zeros(parameters, parameters)
    column = 0
    for rows, basis in parts:
        vectors[rows, column : column + basis.shape[1]] = basis
        column += basis.shape[1]
    return vectors
