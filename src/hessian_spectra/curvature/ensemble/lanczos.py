"""The largest eigenvalue of many symmetric matrices at once, by three-term Lanczos."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dsterf
from torch import Tensor

from hessian_spectra.curvature.ensemble.products import Products

# Ritz values are looked at every so many steps: it costs a few microseconds for each network.
_INTERVAL = 4
# Finished networks are dropped once they are this share of those multiplied.
_DROPPED = 0.2


class RitzPairs(NamedTuple):
    """The largest Ritz pair of each of ``N`` matrices.

    Attributes:
        vectors: ``(N, p)``, of length 1.
        converged: ``(N,)`` the residual is at most as asked.
        products: the number of products with single matrices.
    """

    vectors: Tensor
    converged: Tensor
    products: int


class _Tops(NamedTuple):
    """The largest eigenvalue of each tridiagonal matrix, in its leading ``sizes`` rows."""

    values: np.ndarray
    residuals: np.ndarray
    sizes: np.ndarray


def largest(operator: Products, start: Tensor, tol: float, limit: int) -> RitzPairs:
    """The Ritz pair of largest value for each network, until its residual is ``tol`` of the value.

    Without reorthogonalisation: rounding brings copies of eigenvalues that have converged, and
    the largest is only looked at until it has.

    Args:
        operator: the matrices.
        start: ``(N, p)``, with a part along the eigenvectors that are looked for.
        tol: largest ``‖A v − θ v‖ / |θ|``.
        limit: at most so many steps.
    """
    run = _Run(operator, start, tol)
    while len(run.rows) and run.steps < limit:
        run.step()
        if run.steps % _INTERVAL == 0 or run.steps in (limit, operator.size):
            run.look(last=run.steps == limit)
    return RitzPairs(run.vectors, run.converged, run.products)


class _Run:
    """The state of a batch: of the networks in ``rows``, those that ``waiting`` marks are open."""

    def __init__(self, operator: Products, start: Tensor, tol: float) -> None:
        self.operator, self.tol = operator, tol
        self.vectors = start / start.norm(dim=1, keepdim=True)
        self.converged = torch.zeros(len(start), dtype=torch.bool)
        self.rows = torch.arange(len(start))
        self.waiting = torch.ones(len(start), dtype=torch.bool)
        # Basis vectors, each time of the networks whose rows stand with them.
        self.basis: list[tuple[Float[Tensor, "n p"], Int[Tensor, " n"]]] = []
        self.current = self.vectors
        self.previous = torch.zeros_like(start)
        self.lengths = torch.zeros_like(start[:, 0])
        # Diagonal and couplings of the tridiagonal matrices: of all looks before, and since.
        self.known = np.zeros((2, 0, len(start)))
        self.recent: list[Float[Tensor, "2 n"]] = []
        self.steps = self.products = 0

    def step(self) -> None:
        """One product with every matrix, and the next basis vectors."""
        vectors = self.current
        images = self.operator @ vectors
        overlaps = torch.linalg.vecdot(images, vectors)
        images.addcmul_(vectors, overlaps[:, None], value=-1)
        images.addcmul_(self.previous, self.lengths[:, None], value=-1)
        self.lengths = images.norm(dim=1)
        self.recent.append(torch.stack([overlaps, self.lengths]))
        self.basis.append((vectors, self.rows))
        self.previous = vectors
        # A vector of length zero stays zero: its space is exhausted.
        tiny = torch.finfo(images.dtype).tiny
        self.current = images.div_(self.lengths.clamp(min=tiny)[:, None])
        self.steps += 1
        self.products += len(vectors)

    def look(self, last: bool) -> None:
        """Take out the networks that have converged, and at the end all."""
        recent = torch.stack(self.recent, dim=1).double().cpu().numpy()
        self.known, self.recent = np.concatenate([self.known, recent], axis=1), []
        smallest = 10 * torch.finfo(self.current.dtype).eps
        tops = _tops(self.known[0], self.known[1], smallest, self.waiting.numpy())
        done = torch.from_numpy(tops.residuals <= self.tol * np.abs(tops.values))
        lost = torch.from_numpy(~np.isfinite(tops.residuals))
        leaving = self.waiting & (done | lost | last)
        if not leaving.any():
            return
        self._take_out(leaving.nonzero()[:, 0], tops)
        self.converged[self.rows[leaving & done]] = True
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
        found = torch.zeros(len(rows), self.operator.size).to(self.current)
        weights = torch.from_numpy(coordinates).to(found)
        for weight, (vectors, present) in zip(weights, self.basis, strict=True):
            if len(present) > len(rows):
                vectors = vectors[torch.searchsorted(present, rows).to(found.device)]
            found.addcmul_(vectors, weight[:, None])
        found /= found.norm(dim=1, keepdim=True)
        self.vectors[rows.to(found.device)] = found

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
        sizes = np.where(ended.any(axis=0), ended.argmax(axis=0) + 1, steps)
        values = np.full(count, np.nan)
        for row in np.flatnonzero(wanted & np.isfinite(scale[-1])):
            size = sizes[row]
            # LAPACK's wrapper refuses a matrix without couplings.
            part = diagonal[:size, row]
            values[row] = part[0] if size == 1 else dsterf(part, couplings[: size - 1, row])[0][-1]
        pivots, slopes = diagonal[0] - values, np.full(count, -1.0)
        for step in range(1, steps):
            inside = step < sizes
            squares = couplings[step - 1] ** 2
            pivots = np.where(pivots == 0, np.finfo(float).tiny, pivots)
            following = -1 + squares * slopes / pivots**2
            slopes = np.where(inside, following, slopes)
            pivots = np.where(inside, diagonal[step] - values - squares / pivots, pivots)
        residuals = couplings[sizes - 1, np.arange(count)] / np.sqrt(-slopes)
    return _Tops(values, residuals, sizes)
