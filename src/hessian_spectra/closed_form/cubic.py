"""The cubic behind the triples: depressed form, Viète's roots and the bounds that follow."""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class DepressedCubic(NamedTuple):
    """The characteristic polynomial ``t³ + p t + q``, ``λ = t + s``, of a symmetric 3 x 3 matrix.

    All three roots are real, so that ``p <= 0`` and ``4 p³ + 27 q² <= 0``.

    Attributes:
        p: ``(...)`` linear coefficient.
        q: ``(...)`` constant coefficient.
        shift: ``(...)`` ``s``, a third of the trace.

    Source: singh2026cracking, eq. (107) to (110) and Appendix B.5 (its ``q`` lacks brackets in
    print).

    Example:
        >>> cubic = DepressedCubic.of(torch.diag(torch.tensor([1.0, 2.0, 6.0]).double()))
        >>> [round(float(number), 12) for number in cubic]
        [-7.0, -6.0, 3.0]
        >>> [round(float(root), 12) for root in cubic.roots()]
        [6.0, 2.0, 1.0]
    """

    p: Tensor
    q: Tensor
    shift: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> "DepressedCubic":
        """The cubic of symmetric matrices ``(..., 3, 3)``.

        ``p`` is minus half the squared Frobenius norm of the traceless part, a sum of squares that
        rounding cannot turn positive, and ``q`` minus its determinant.
        """
        shift = matrix.diagonal(dim1=-2, dim2=-1).sum(-1) / 3
        identity = torch.eye(3, dtype=matrix.dtype, device=matrix.device)
        traceless = matrix - shift[..., None, None] * identity
        return cls(
            p=-(traceless * traceless).sum((-2, -1)) / 2,
            q=-torch.linalg.det(traceless),
            shift=shift,
        )

    def roots(self) -> Tensor:
        """The eigenvalues ``(..., 3)`` by Viète's formula, descending: ``k = 0, 1, 2``.

        Where two roots meet the arc cosine turns a rounding error ``ε`` into ``√ε``; the spectra of
        this package come from the matrix instead.
        """
        radius = 2 * torch.sqrt(-self.p / 3)
        # 3q/(2p) √(-3/p) = -4q / radius³; rounding may carry it past ±1, and 0/0 belongs to t = 0.
        cosine = torch.where(radius > 0, -4 * self.q / radius**3, 1.0).clamp(-1.0, 1.0)
        steps = torch.arange(3, dtype=self.p.dtype, device=self.p.device) * (2 * math.pi / 3)
        angles = (torch.arccos(cosine) / 3)[..., None] - steps
        roots = self.shift[..., None] + radius[..., None] * torch.cos(angles)
        return roots.sort(dim=-1, descending=True).values

    def half_width(self) -> Tensor:
        """``ξ = 2 √(-p/3)``: no eigenvalue is further than this from the shift."""
        return 2 * torch.sqrt(-self.p / 3)
