"""A layer's Gauss-Newton matrix in parts: what a batch gives of it, passing by or held in memory.

It is ``Σ s vec(D) vec(D)ᵀ`` over samples n and squares r, with ``D = N_nrᵀ X_n (m, d)``.
"""

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.layerwise.passes import LayersBatch, Pair
from hessian_spectra.validation import require

Side = Literal["output", "inputs"]


class Squares:
    """The inputs and squares of some samples; of those that pass by one thing can be asked, once.

    Args:
        inputs: ``X (n, P, d)``.
        pairs: ``N_r`` and ``s N_r (n, P, m)`` for each r.
    """

    def __init__(self, inputs: Tensor, pairs: Iterable[Pair]) -> None:
        self.inputs, self.pairs = inputs, pairs

    def weighted(self, factor: Tensor, side: Side) -> Tensor:
        """``Σ s D C Dᵀ`` on the outputs' side, ``Σ s Dᵀ B D`` on the inputs', for a factor.

        At a single position D is N xᵀ, and D C Dᵀ = (xᵀ C x) N Nᵀ.
        """
        if self.inputs.shape[1] == 1:
            x = self.inputs[:, 0]
            if side == "output":
                forms = ((x @ factor) * x).sum(dim=1, keepdim=True)
                return _tensor(sum((s[:, 0] * forms).T @ rows[:, 0] for rows, s in self.pairs))
            images = ((s[:, 0] @ factor) * rows[:, 0] for rows, s in self.pairs)
            weights: Any = sum(image.sum(dim=1) for image in images)
            return (x.T * weights) @ x
        total: Any = 0.0
        for rows, signed in self.pairs:
            gradients, others = rows.mT @ self.inputs, signed.mT @ self.inputs  # (n, m, d)
            if side == "output":
                total = total + torch.einsum("noi,npi->op", others @ factor, gradients)
            else:
                total = total + torch.einsum("noi,noj->ij", factor @ gradients, others)
        return _tensor(total)

    def diagonal(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """``Σ s (r_iᵀ D t_j)²``, ``(m, d)``, of bases with the columns ``r_i`` and ``t_j``."""
        x = self.inputs @ inputs
        pairs = ((rows @ outputs, signed @ outputs) for rows, signed in self.pairs)
        if x.shape[1] == 1:
            weights: Any = sum((rows * signed)[:, 0] for rows, signed in pairs)
            return weights.T @ x[:, 0].square()
        return _tensor(sum(((a.mT @ x) * (b.mT @ x)).sum(dim=0) for a, b in pairs))

    def product(self, weights: Tensor) -> Tensor:
        """``Σ s D ⟨D, V⟩`` for each V of ``(k, m, d)``."""
        images = torch.einsum("npi,koi->npko", self.inputs, weights)
        back: Any = torch.zeros_like(images)
        for rows, signed in self.pairs:
            along = torch.einsum("npo,npko->nk", rows, images)
            back = back + torch.einsum("nk,npo->npko", along, signed)
        return torch.einsum("npko,npi->koi", back, self.inputs)


class WrittenDown:
    """A part as a matrix.

    Args:
        matrix: ``(m d, m d)``.
        shape: of the weight, ``(m, d)``.
    """

    def __init__(self, matrix: Tensor, shape: tuple[int, int]) -> None:
        self.matrix, self._shape = matrix, shape

    def weighted(self, factor: Tensor, side: Side) -> Tensor:
        """See :class:`Squares`."""
        entries = self.matrix.view(*self._shape, *self._shape)
        return torch.einsum("oipj,ij->op" if side == "output" else "oipj,op->ij", entries, factor)

    def diagonal(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """See :class:`Squares`."""
        m, d = self._shape
        right = outputs.T @ self.matrix.view(m * d, m, d) @ inputs
        left = outputs.T @ right.permute(1, 2, 0).reshape(m * d, m, d) @ inputs
        return left.reshape(m * d, m * d).diagonal().view(m, d)

    def product(self, weights: Tensor) -> Tensor:
        """See :class:`Squares`."""
        return (weights.flatten(1) @ self.matrix).view_as(weights)


# A part of the matrix, by what is asked of it.
Part = Squares | WrittenDown


class HeldGaussNewton(Operator):
    """The matrix by parts that stay in memory: as one matrix, or as squares where these are less.

    Args:
        batches: what each batch says of the layer alone.
        shape: of the weight, ``(m, d)``.

    Raises:
        ValueError: there are no batches.
    """

    def __init__(self, batches: Iterable[LayersBatch], shape: tuple[int, int]) -> None:
        self._shape, size = shape, shape[0] * shape[1]
        squares: list[Part] = []
        whole: list[Tensor] = []
        for batch in batches:
            inputs, pairs = batch.inputs[0][:, 0], [pair for (pair,) in batch.squares()]
            apart = inputs.numel() + 2 * sum(rows.numel() for rows, _ in pairs)
            if size * size > apart:
                squares.append(Squares(inputs, pairs))
            else:
                whole = [sum(whole, _matrix(inputs, pairs))]
        self.parts = [*squares, *(WrittenDown(matrix, shape) for matrix in whole)]
        require(bool(self.parts), "gauss_newton", "data", "none")
        super().__init__(size, inputs.dtype, inputs.device)

    def _matmat(self, columns: Tensor) -> Tensor:
        weights = columns.T.reshape(-1, *self._shape)
        image: Any = sum(part.product(weights) for part in self.parts)
        return image.reshape(columns.shape[1], -1).T


def _matrix(inputs: Tensor, pairs: Iterable[Pair]) -> Tensor:
    """The part of some samples as a matrix."""
    total: Any = 0.0
    for rows, signed in pairs:
        gradients, others = ((each.mT @ inputs).flatten(1) for each in (rows, signed))
        total = total + others.T @ gradients
    return _tensor(total)


def _tensor(total: Any) -> Tensor:
    """A sum, which of no summands is a number."""
    return torch.as_tensor(total).contiguous()
