"""Bases in which the Gauss-Newton matrix of a deep linear network falls apart into small blocks.

Written in such bases of the spaces between the layers, the entries ``(j, i)`` of all layers couple
with one another alone, and the block of a pair has rank one: the gradient of output ``j`` by the
entries ``(j, i)`` at input ``i``. So each pair has at most one eigenvalue that is not zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._pairs import rank_of
from hessian_spectra.closed_form.assumptions import ROUNDING


@dataclass(frozen=True)
class AlignedLayers:
    """A balanced network, or one of two layers, in bases that make its layers diagonal.

    Args:
        first: ``(r_1,)`` positive singular values of the first layer, descending.
        last: ``(r_2,)`` positive singular values of the last layer, descending.
        left: for each layer orthonormal columns of length ``d_l``; pair ``(i, j)`` takes column
            ``j`` of the basis that they begin.
        right: for each layer orthonormal columns of length ``d_{l-1}``; pair ``(i, j)`` takes
            column ``i``.
    """

    first: Float[Tensor, " r_1"]
    last: Float[Tensor, " r_2"]
    left: Sequence[Tensor]
    right: Sequence[Tensor]

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.left)

    @property
    def parameters(self) -> int:
        """Number of parameters ``p``."""
        return sum(self._sizes())

    def _sizes(self) -> list[int]:
        """Number of parameters of each layer."""
        return [len(left) * len(right) for left, right in zip(self.left, self.right, strict=True)]

    def eigenbasis(self) -> Float[Tensor, "p p"]:
        """Orthonormal eigenvectors, in the order of the groups of ``spectrum_of_pairs``."""
        vectors = self._coefficients()
        layers = vectors.split(self._sizes())
        for left, right, rows in zip(self.left, self.right, layers, strict=True):
            block = rows.reshape(len(left), len(right), -1)
            block = torch.einsum("aj,jip->aip", _completed(left), block)
            rows.copy_(torch.einsum("bi,aip->abp", _completed(right), block).flatten(0, 1))
        return vectors

    def _coefficients(self) -> Float[Tensor, "p p"]:
        """The eigenvectors in coordinates of ``left`` and ``right``, layer after layer."""
        p, depth = self.parameters, self.depth
        identity = torch.eye(p, dtype=self.first.dtype, device=self.first.device)
        if depth == 1:
            return identity
        r_1, r_2 = len(self.first), len(self.last)
        places = self._places()
        of_pairs = torch.stack([place[:r_2, :r_1].T.flatten() for place in places])  # (L, r_1 r_2)
        # With j beyond the rank only the last layer's gradient is left, with i the first layer's.
        of_bulk = torch.cat([places[-1][r_2:, :r_1].T.flatten(), places[0][:r_2, r_1:].flatten()])
        taken = torch.zeros(p, dtype=torch.bool, device=identity.device)
        taken[of_pairs.flatten()] = True
        taken[of_bulk] = True
        blocks = torch.linalg.qr(self._gradients()[:, :, None], mode="complete").Q
        pairs = torch.arange(r_1 * r_2, device=identity.device)
        along = identity.new_zeros(p, r_1 * r_2)
        across = identity.new_zeros(p, r_1 * r_2, depth - 1)
        along[of_pairs, pairs] = blocks[:, :, 0].T
        across[of_pairs, pairs] = blocks[:, :, 1:].transpose(0, 1)
        return torch.cat(
            [along, identity[:, of_bulk], across.flatten(1), identity[:, ~taken]], dim=1
        )

    def _places(self) -> list[Tensor]:
        """The parameter index of each entry of each layer, ``(d_l, d_{l-1})``."""
        indices = torch.arange(self.parameters, device=self.first.device).split(self._sizes())
        return [part.reshape(len(left), -1) for part, left in zip(indices, self.left, strict=True)]

    def _gradients(self) -> Float[Tensor, "pairs L"]:
        """A multiple, for each pair, of ``s_i^{l-1} s_j^{L-l}``, whose largest entry is 1."""
        first = self.first[:, None].expand(-1, len(self.last)).flatten()
        last = self.last.repeat(len(self.first))
        largest = torch.maximum(first, last)
        steps = torch.arange(self.depth, device=first.device, dtype=first.dtype)
        return (first / largest)[:, None] ** steps * (last / largest)[:, None] ** steps.flip(0)


def align(weights: Sequence[Tensor]) -> AlignedLayers | None:
    """Such bases, or ``None`` where there are none up to rounding."""
    if len(weights) == 2:
        u_1, s_1, v_1 = torch.linalg.svd(weights[0], full_matrices=False)
        u_2, s_2, v_2 = torch.linalg.svd(weights[1], full_matrices=False)
        return AlignedLayers(
            first=s_1[: rank_of(s_1, max(weights[0].shape))],
            last=s_2[: rank_of(s_2, max(weights[1].shape))],
            left=(v_2.T, u_2),
            right=(v_1.T, u_1),
        )
    _, values, v = torch.linalg.svd(weights[0], full_matrices=False)
    rank = rank_of(values, max(weights[0].shape))
    if rank > min(min(weight.shape) for weight in weights):
        return None
    bases = [v[:rank].T]
    for weight in weights:
        # The columns of W_l V are orthogonal where the layers are balanced, so that this merely
        # divides them by the singular values; it keeps the basis orthonormal for the smallest ones,
        # and within the eigenspace of a repeated one it hands the same vectors to the next layer.
        basis, triangle = torch.linalg.qr(weight @ bases[-1])
        bases.append(torch.where(triangle.diagonal() < 0, -basis, basis))
    for weight, before, after in zip(weights, bases[:-1], bases[1:], strict=True):
        rest = weight - (after * values[:rank]) @ before.T
        if bool((rest.abs() > ROUNDING * values[0]).any()):
            return None
    return AlignedLayers(first=values[:rank], last=values[:rank], left=bases[1:], right=bases[:-1])


def _completed(columns: Float[Tensor, "d k"]) -> Float[Tensor, "d d"]:
    """An orthonormal basis that begins with these columns."""
    rest = torch.linalg.qr(columns, mode="complete").Q[:, columns.shape[1] :]
    return torch.cat([columns, rest], dim=1)
