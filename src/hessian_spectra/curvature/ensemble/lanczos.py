"""The largest eigenvalue of many symmetric matrices at once, by three-term Lanczos."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dsterf
from torch import Tensor

from hessian_spectra.curvature.ensemble.products import Hessians

# Finished networks are dropped once they are this share of those multiplied.
_DROPPED = 0.2


class RitzVectors(NamedTuple):
    """The Ritz vector of largest value of each of ``N`` matrices.

    Attributes:
        vectors: ``(N, p)`` float64, of length 1; NaN where a product was not finite.
        products: the number of products with single matrices.
    """

    vectors: Tensor
    products: int


class _Tops(NamedTuple):
    """The largest eigenvalue of each tridiagonal matrix, in its leading ``sizes`` rows."""

    values: np.ndarray
    residuals: np.ndarray
    sizes: np.ndarray


def largest(
    operator: Hessians, start: Tensor, images: Tensor, tol: float, limit: int
) -> RitzVectors:
    """The Ritz vector of largest value for each network, until its residual is ``tol`` of it.

    Three-term Lanczos, whose first products are given. Rounding of a product counts as much as the
    share of its vector in the Ritz vector. So, from a start that is nearly right, products in
    float32 bring the residual down to where the first product, in float64, is exact.

    There is no reorthogonalisation: rounding brings copies of eigenvalues that have converged, and
    the largest is only looked at until it has.

    Args:
        operator: the matrices, float32 or float64.
        start: ``(N, p)`` float64 of length 1, with a part along the eigenvectors looked for.
        images: ``(N, p)`` float64, the products with ``start``.
        tol: largest ``‖A v − θ v‖ / |θ|``.
        limit: at most so many steps.
    """
    run = _Run(operator, start, images, tol)
    # A look costs some microseconds for each network; small networks' products cost less.
    interval = 4 if operator.footprint < 10_000 else 2
    while len(run.rows) and run.steps < limit:
        run.step()
        if run.steps % interval == 0 or run.steps in (limit, operator.size):
            run.look(last=run.steps == limit)
    return RitzVectors(run.vectors, run.products)


class _Run:
    """The state of a batch: of the networks in ``rows``, those that ``waiting`` marks are open."""

    def __init__(self, operator: Hessians, start: Tensor, images: Tensor, tol: float) -> None:
        self.operator, self.tol = operator, tol
        self.start, self.vectors = start, start.clone()
        self.rows = torch.arange(len(start))
        self.waiting = torch.ones(len(start), dtype=torch.bool)
        # Basis vectors but the first, each time of the networks whose rows stand with them.
        self.basis: list[tuple[Float[Tensor, "n p"], Int[Tensor, " n"]]] = []
        # Diagonal and couplings of the tridiagonal matrices: of all looks before, and since.
        self.known = np.zeros((2, 0, len(start)))
        self.recent: list[Float[Tensor, "2 n"]] = []
        self.products = 0
        self.previous = start.to(operator.dtype)
        self.current = self._advance(start, images.clone()).to(operator.dtype)

    @property
    def steps(self) -> int:
        """The dimension of the Krylov spaces so far."""
        return len(self.basis) + 1

    def _advance(
        self, vectors: Float[Tensor, "n p"], images: Float[Tensor, "n p"]
    ) -> Float[Tensor, "n p"]:
        """The next basis vectors, from images that have no part along the one before."""
        overlaps = torch.linalg.vecdot(images, vectors)
        images.addcmul_(vectors, overlaps[:, None], value=-1)
        lengths = images.norm(dim=1)
        self.recent.append(torch.stack([overlaps, lengths]).double())
        self.lengths = lengths.to(self.operator.dtype)
        # A vector of length zero stays zero: its space is exhausted.
        return images.div_(lengths.clamp(min=torch.finfo(images.dtype).tiny)[:, None])

    def step(self) -> None:
        """One product with every matrix."""
        images = self.operator @ self.current
        images.addcmul_(self.previous, self.lengths[:, None], value=-1)
        self.basis.append((self.current, self.rows))
        self.products += len(self.rows)
        self.previous, self.current = self.current, self._advance(self.current, images)

    def look(self, last: bool) -> None:
        """Take out the networks that have converged, and at the end all."""
        recent = torch.stack(self.recent, dim=1).cpu().numpy()
        self.known, self.recent = np.concatenate([self.known, recent], axis=1), []
        smallest = 10 * torch.finfo(self.current.dtype).eps
        tops = _tops(self.known[0], self.known[1], smallest, self.waiting.numpy())
        done = torch.from_numpy(tops.residuals <= self.tol * np.abs(tops.values))
        lost = torch.from_numpy(~np.isfinite(tops.residuals))
        leaving = self.waiting & (done | lost | last)
        if not leaving.any():
            return
        self._take_out(leaving.nonzero()[:, 0], tops)
        self.waiting &= ~leaving
        if int(self.waiting.sum()) <= (1 - _DROPPED) * len(self.rows):
            self._keep(self.waiting)

    def _take_out(self, places: Int[Tensor, " k"], tops: _Tops) -> None:
        """Put together the Ritz vectors of the networks at some places."""
        coordinates = np.full((self.steps, len(places)), np.nan)
        for column, place in enumerate(places.tolist()):
            size = tops.sizes[place]
            if np.isfinite(tops.residuals[place]):
                diagonal, couplings = self.known[:, :size, place]
                coordinates[:, column] = 0
                coordinates[:size, column] = eigh_tridiagonal(
                    diagonal, couplings[:-1], select="i", select_range=(size - 1, size - 1)
                )[1][:, 0]
        rows = self.rows[places]
        weights = torch.from_numpy(coordinates).to(self.start)
        rest = torch.zeros(len(rows), self.operator.size).to(self.current)
        for weight, (vectors, present) in zip(weights[1:], self.basis, strict=True):
            if len(present) > len(rows):
                vectors = vectors[torch.searchsorted(present, rows).to(rest.device)]
            rest.addcmul_(vectors, weight[:, None].to(rest.dtype))
        index = rows.to(rest.device)
        result = rest.double().addcmul_(self.start[index], weights[0][:, None])
        self.vectors[index] = result / result.norm(dim=1, keepdim=True)

    def _keep(self, kept: Bool[Tensor, " n"]) -> None:
        """Go on with some of the networks only."""
        index = kept.nonzero()[:, 0].to(self.current.device)
        self.known = self.known[:, :, kept.numpy()]
        self.rows, self.waiting = self.rows[kept], self.waiting[kept]
        self.current, self.previous = self.current[index], self.previous[index]
        self.lengths = self.lengths[index]
        if len(index):
            self.operator = self.operator.select(index)


def _tops(
    diagonal: np.ndarray, couplings: np.ndarray, smallest: float, wanted: np.ndarray
) -> _Tops:
    """The largest eigenvalue of tridiagonal matrices (columns), and the residual of its vector.

    Where a coupling vanishes against the matrix the space is exhausted, and what follows is noise.
    The residual is the last coupling times the last coordinate of the eigenvector. With the pivots
    d_j of T − θ, seen as functions of θ, its square is −1/d_k'(θ): a sum of one sign, which no
    cancellation spoils.
    """
    steps, count = diagonal.shape
    with np.errstate(all="ignore"):
        scale = np.maximum.accumulate(np.abs(diagonal) + couplings, axis=0)
        ended = couplings <= smallest * scale
        # The first coupling stems from products in float64.
        ended[0] = couplings[0] <= 10 * np.finfo(float).eps * scale[0]
        sizes = np.where(ended.any(axis=0), ended.argmax(axis=0) + 1, steps)
        values = np.full(count, np.nan)
        for row in np.flatnonzero(wanted & np.isfinite(scale[-1])):
            size = sizes[row]
            # LAPACK's wrapper refuses a matrix without couplings.
            part = diagonal[:size, row]
            values[row] = part[0] if size == 1 else dsterf(part, couplings[: size - 1, row])[0][-1]
        smallest_pivots = np.finfo(float).eps * scale[-1] + np.finfo(float).tiny
        pivots, slopes = diagonal[0] - values, np.full(count, -1.0)
        for step in range(1, steps):
            inside = step < sizes
            squares = couplings[step - 1] ** 2
            # A vanishing pivot is a coordinate that vanishes; the next one goes on from before.
            pivots = np.where(np.abs(pivots) < smallest_pivots, smallest_pivots, pivots)
            following = -1 + squares * slopes / pivots**2
            slopes = np.where(inside, following, slopes)
            pivots = np.where(inside, diagonal[step] - values - squares / pivots, pivots)
        residuals = couplings[sizes - 1, np.arange(count)] / np.sqrt(-slopes)
    return _Tops(values, residuals, sizes)
