"""The largest eigenvalue of many symmetric matrices at once, by three-term Lanczos."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
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
        self.basis: list[Float[Tensor, "n p"]] = []
        self.diagonal: list[Float[Tensor, " n"]] = []
        self.couplings: list[Float[Tensor, " n"]] = []
        self.current = self.vectors
        self.steps = self.products = 0

    def step(self) -> None:
        """One product with every matrix, and the next basis vectors."""
        vectors = self.current
        images = self.operator @ vectors
        overlaps = torch.linalg.vecdot(images, vectors)
        images.addcmul_(vectors, overlaps[:, None], value=-1)
        if self.basis:
            images.addcmul_(self.basis[-1], self.couplings[-1][:, None], value=-1)
        lengths = images.norm(dim=1)
        self.basis.append(vectors)
        self.diagonal.append(overlaps)
        self.couplings.append(lengths)
        # A vector of length zero stays zero: its space is exhausted.
        tiny = torch.finfo(images.dtype).tiny
        self.current = images.div_(lengths.clamp(min=tiny)[:, None])
        self.steps += 1
        self.products += len(vectors)

    def look(self, last: bool) -> None:
        """Take out the networks that have converged, and at the end all."""
        diagonal, couplings = (
            torch.stack(parts).double().cpu().numpy() for parts in (self.diagonal, self.couplings)
        )
        smallest = 10 * torch.finfo(self.current.dtype).eps
        tops = _tops(diagonal, couplings, smallest, self.waiting.numpy())
        done = torch.from_numpy(tops.residuals <= self.tol * np.abs(tops.values))
        lost = torch.from_numpy(~np.isfinite(tops.residuals))
        leaving = self.waiting & (done | lost | last)
        if not leaving.any():
            return
        self._take_out(leaving, diagonal, couplings, tops)
        self.converged[self.rows[leaving & done]] = True
        self.waiting &= ~leaving
        open_count = int(self.waiting.sum())
        if open_count <= (1 - _DROPPED) * len(self.rows):
            self._keep(self.waiting)

    def _take_out(
        self, leaving: Bool[Tensor, " n"], diagonal: np.ndarray, couplings: np.ndarray, tops: _Tops
    ) -> None:
        """Put together the Ritz vectors of some networks."""
        rows = leaving.nonzero()[:, 0]
        coordinates = np.zeros((self.steps, len(rows)))
        for column, row in enumerate(rows.tolist()):
            size = tops.sizes[row]
            if np.isfinite(tops.residuals[row]):
                coordinates[:size, column] = eigh_tridiagonal(
                    diagonal[:size, row],
                    couplings[: size - 1, row],
                    select="i",
                    select_range=(size - 1, size - 1),
                )[1][:, 0]
            else:
                coordinates[:, column] = np.nan
        weights = torch.from_numpy(coordinates).to(self.current)
        everyone = len(rows) == len(self.rows)
        index = rows.to(self.current.device)
        found = torch.zeros(len(rows), self.operator.size).to(self.current)
        for weight, vectors in zip(weights, self.basis, strict=True):
            found.addcmul_(vectors if everyone else vectors[index], weight[:, None])
        found /= found.norm(dim=1, keepdim=True)
        self.vectors[self.rows[rows].to(found.device)] = found

    def _keep(self, kept: Bool[Tensor, " n"]) -> None:
        """Go on with some of the networks only."""
        index = kept.nonzero()[:, 0].to(self.current.device)
        self.rows, self.waiting = self.rows[kept], self.waiting[kept]
        if not len(index):
            return
        self.operator = self.operator.select(index)
        self.current = self.current[index]
        for parts in (self.basis, self.diagonal, self.couplings):
            parts[:] = [part[index] for part in parts]


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
