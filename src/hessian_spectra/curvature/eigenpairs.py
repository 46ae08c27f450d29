"""The top eigenpairs of a matrix that is only known by its products."""

import math
import warnings
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from hessian_spectra.curvature.dense import DENSE_LIMIT, dense_spectrum, numeric_spectrum
from hessian_spectra.curvature.interface import (
    ConvergenceWarning,
    NotFiniteError,
    SymmetricOperator,
    in_own_type,
    size_of,
)
from hessian_spectra.curvature.lanczos import Krylov, Preference
from hessian_spectra.curvature.rows import norm
from hessian_spectra.seeding import generator
from hessian_spectra.spectrum import KnownVectors, Spectrum
from hessian_spectra.validation import is_count, require

Which = Literal["largest algebraic", "largest magnitude", "smallest algebraic", "LA", "LM", "SA"]

_BY_NAME: dict[str, Preference] = {
    "largest algebraic": lambda values: values,
    "largest magnitude": lambda values: values.abs(),
    "smallest algebraic": lambda values: -values,
}
# Scipy's words for the same.
_PREFERENCES = {
    **_BY_NAME,
    "LA": _BY_NAME["largest algebraic"],
    "LM": _BY_NAME["largest magnitude"],
    "SA": _BY_NAME["smallest algebraic"],
}
# Vectors that are multiplied together where many eigenpairs are wanted.
_BLOCK = 10


@in_own_type
def top_eigenpairs(
    operator: SymmetricOperator,
    k: int = 10,
    tol: float = 1e-5,
    which: Which = "largest algebraic",
    *,
    start: Tensor | None = None,
    verify: bool = False,
    seed: int = 0,
    max_iterations: int | None = None,
    basis_size: int | None = None,
    memory: int = 2 << 30,
) -> Spectrum:
    """The ``k`` top eigenpairs, by Lanczos' method with reorthogonalisation.

    It stops when every residual ``‖A z − λ z‖ / |λ_max|`` is at most ``tol``, where ``λ_max`` is
    the eigenvalue of largest magnitude that was met. A Krylov space holds one vector of each
    eigenspace, so after convergence a second space, random and orthogonal to the pairs that were
    found, looks for copies of multiple eigenvalues and for others that were missed, and goes on
    while it finds any. From ``k = 50`` on, blocks of ten vectors are multiplied together.

    That each pair is an eigenpair is certain up to its residual; that no other eigenvalue belongs
    between them is not. A second space of ``m`` products misses one that stands out from the rest
    by a share ``ε`` of the spectrum's range with a chance of at most ``1.648 √p exp(−√ε (2m − 1))``
    (Kuczyński and Woźniakowski 1992, Theorem 3.2), which promises nothing for one that hardly
    stands out. By default ``m`` is a quarter of the products of the first search, at least 8 and at
    most 40, and nothing for ``k = 1``, whose value a copy does not change, and after a ``start``.

    Args:
        operator: a symmetric operator ``(p, p)``; a dense tensor is one. If ``p`` is small or ``k``
            is close to it, the dense matrix is decomposed instead.
        k: how many eigenpairs.
        tol: the largest relative residual accepted.
        which: ``"largest algebraic"``, ``"largest magnitude"`` or ``"smallest algebraic"``, or
            scipy's words for these, ``"LA"``, ``"LM"`` and ``"SA"``.
        start: a vector ``(p,)``, or several ``(p, s)`` whose sum is taken, to start from instead
            of a random vector: the eigenvectors of a matrix nearby.
        verify: whether the second space is as large as the first: ``m`` is then the number of
            products of the first search, whatever ``k`` and ``start`` are.
        seed: seed of the random vectors.
        max_iterations: the largest number of products; by default ``max(300, 20 k)``.
        basis_size: how many vectors of length ``p`` to hold before a restart; by default as many as
            are needed and fit into ``memory``.
        memory: what the basis may take, in bytes, with one more vector that is being made, beside
            the ``k`` vectors of the result; at least ``k + 2`` vectors are held. Where fewer fit
            than are needed, restarts take some more products. A product takes what it takes.

    Returns:
        A spectrum of ``k`` eigenvalues with eigenvectors ``(p, k)``, residuals and ``converged``.

    Raises:
        ValueError: ``k`` is not in ``1..p``, or another argument is out of its range.
        NotFiniteError: a product is not finite, or too large to be squared.

    Warns:
        ConvergenceWarning: a residual is above ``tol``.

    Example:
        >>> top_eigenpairs(torch.diag(torch.arange(500.0)), k=2).eigenvalues
        tensor([498., 499.])
    """
    p = size_of(operator)
    _require_arguments(p, k, tol, which, max_iterations, basis_size)
    require(memory > 0, "memory", "a number of bytes above zero", memory)
    first = None if start is None else _sum_of(start, operator)
    draws = generator(seed, "eigenpairs")
    if p <= max(100, 3 * k) and p <= DENSE_LIMIT:
        pairs = _from_dense(dense_spectrum(operator), k, tol, _PREFERENCES[which])
        _warn(pairs, tol, None)
        return pairs
    fitting = memory // (p * operator.dtype.itemsize) - 1
    capacity = min(p, basis_size or max(k + 2, fitting))
    search = _Search(
        operator=operator,
        k=k,
        tol=tol,
        preference=_PREFERENCES[which],
        budget=max_iterations or max(300, 20 * k),
        capacity=capacity,
        draws=draws,
        # Many vectors are worth the extra products of blocks, if the basis has room for them.
        block=_BLOCK if k >= 5 * _BLOCK and capacity >= 2 * k + 2 * _BLOCK else 1,
        start=first,
        verify=verify,
        # One pair is found as well without, and what is found is measured.
        lean=k == 1,
    )
    pairs = search.run()
    _warn(pairs, tol, search.budget if search.products >= search.budget else None)
    return pairs


def _warn(pairs: Spectrum, tol: float, exhausted: int | None) -> None:
    """Say what has not converged, after how many products if it was their number that ended it."""
    assert pairs.residuals is not None
    assert pairs.converged is not None
    good, k = int(pairs.converged.sum()), len(pairs.converged)
    if good < k:
        cure = (
            "raise tol: rounding or an asymmetry of the products allows no less"
            if exhausted is None
            else f"raise max_iterations above {exhausted}, or tol"
        )
        warnings.warn(
            f"top_eigenpairs: {good} of {k} eigenpairs converged; the largest residual is "
            f"{float(pairs.residuals.max()):.1e}, tol is {tol:.1e}; {cure}",
            ConvergenceWarning,
            stacklevel=3,
        )


def _sum_of(start: Tensor, operator: SymmetricOperator) -> Tensor:
    """The sum of some columns, each scaled to length one.

    Its Krylov space finds ``s`` eigenvectors nearby in few more than ``s`` products, where a block
    of ``s`` vectors takes ``s`` for each of its steps.
    """
    p = operator.shape[0]
    fits = start.ndim in (1, 2) and len(start) == p and start.numel() > 0
    require(fits, "start", f"shape ({p},) or ({p}, s)", tuple(start.shape))
    columns = start.detach().reshape(p, -1).to(operator.dtype).to(operator.device)
    lengths = columns.norm(dim=0)
    if not torch.isfinite(lengths).all():
        raise ValueError("start: expected finite numbers, got NaN or infinity")
    total = columns @ (1 / lengths.where(lengths > 0, torch.inf))
    # Where the operator is zero, eigenvectors that start from one another shrink without end, to
    # subnormal numbers, which processors multiply a hundred times more slowly.
    return total.where(total.abs() > torch.finfo(total.dtype).eps ** 2, 0.0)


def _require_arguments(
    p: int, k: int, tol: float, which: str, max_iterations: int | None, basis_size: int | None
) -> None:
    require(is_count(k, 1, p), "k", f"1 to p = {p} eigenpairs", k)
    require(tol > 0, "tol", "a positive relative residual", tol)
    require(which in _PREFERENCES, "which", f"one of {sorted(_PREFERENCES)}", which)
    enough = max_iterations is None or max_iterations >= k
    require(enough, "max_iterations", f"at least k = {k}", max_iterations)
    fits = basis_size is None or basis_size >= min(p, k + 2)
    require(fits, "basis_size", f"at least k + 2 = {k + 2}", basis_size)


def _from_dense(full: Spectrum, k: int, tol: float, preference: Preference) -> Spectrum:
    assert full.residuals is not None
    chosen = torch.argsort(preference(full.eigenvalues), descending=True, stable=True)[:k]
    vectors, residuals = full.eigenvectors()[:, chosen], full.residuals[chosen]
    values, basis = full.eigenvalues[chosen], KnownVectors(vectors)
    return numeric_spectrum(values, basis, full.method, residuals, residuals <= tol)


class _Pairs(NamedTuple):
    """Approximate eigenpairs, the best ones first: values (r,), vectors (r, p), residuals (r,)."""

    values: Tensor
    vectors: Tensor
    residuals: Tensor

    def best_with(self, other: "_Pairs", preference: Preference) -> "_Pairs":
        """As many as these, of both."""
        values, vectors, residuals = map(torch.cat, zip(self, other, strict=True))
        order = torch.argsort(preference(values), descending=True, stable=True)[: len(self.values)]
        return _Pairs(values[order], vectors[order.to(vectors.device)], residuals[order])


@dataclass(kw_only=True)
class _Search:
    """One call of :func:`top_eigenpairs`."""

    operator: SymmetricOperator
    k: int
    tol: float
    preference: Preference
    budget: int
    capacity: int
    draws: torch.Generator
    block: int
    start: Tensor | None
    verify: bool
    lean: bool
    products: int = 0
    scale: float = 0.0

    def run(self) -> Spectrum:
        """Find k pairs, then look for copies until none is found."""
        p = self.operator.shape[0]
        nothing = torch.empty(0, p, dtype=self.operator.dtype, device=self.operator.device)
        with tqdm(desc="top eigenpairs", unit="product", disable=None, leave=False) as bar:
            pairs, complete = self._krylov(nothing, None, bar)
            residuals = self._verified(pairs) if self.lean else None
            if residuals is not None and self._spoiled(pairs, residuals):
                self.start, self.lean = pairs.vectors[0], False
                pairs, complete = self._krylov(nothing, None, bar)
                residuals = None
            patience = self._patience()
            while patience and not complete and self._converged(pairs):
                threshold = float(self.preference(pairs.values[-1:])) + self.tol * self.scale
                copies, complete = self._krylov(pairs.vectors, (threshold, patience), bar)
                if len(copies.values) == 0:
                    break
                pairs, residuals = pairs.best_with(copies, self.preference), None
        return self._spectrum(pairs, self._verified(pairs) if residuals is None else residuals)

    def _spoiled(self, pairs: _Pairs, residuals: Tensor) -> bool:
        """Whether a pair that seemed to have converged has not, with products left to go on."""
        seemed = self._converged(pairs) and self.products < self.budget
        return seemed and bool((residuals > self.tol * self.scale).any())

    def _patience(self) -> int:
        """The number of products to spend on what the first search has missed."""
        if self.verify:
            return self.products
        # A second copy does not change the largest eigenvalue, so k = 1 needs no second look.
        brief = self.k == 1 or self.start is not None
        return 0 if brief else min(max(8, self.products // 4), 40)

    def _converged(self, pairs: _Pairs) -> bool:
        return bool((pairs.residuals <= self.tol * self.scale).all())

    def _krylov(
        self, locked: Tensor, better_than: tuple[float, int] | None, bar: tqdm
    ) -> tuple[_Pairs, bool]:
        """The best pairs of one Krylov space, and whether nothing else can be there.

        Args:
            locked: ``(l, p)`` eigenvectors that the space stays orthogonal to.
            better_than: ``None`` to find ``k`` pairs; else a threshold that all pairs must exceed
                and the number of products after which the absence of such pairs is believed.
            bar: counts the products.
        """
        first = better_than is None
        space = self._space(locked, self.start if first else None, first and self.lean)
        checked, best = 0, None
        while True:
            before = space.products
            space.step()
            bar.update(space.products - before)
            self.products += space.products - before
            if space.lost and best is not None:
                # It was too late to tighten it.
                space, checked, best = self._space(locked, best, False), 0, None
                continue
            over = space.full or self.products >= self.budget
            # Often enough to stop in time, seldom enough that small matrices cost nothing.
            if not (over or space.crowded) and space.products < checked + 1 + checked // 20:
                continue
            checked = space.products
            values, coordinates, residuals = space.ritz(self.preference)
            self.scale = max(self.scale, space.scale)
            wanted = self.k
            if better_than is not None:
                threshold, patience = better_than
                wanted = int((self.preference(values) > threshold).sum())
                over = over or (wanted == 0 and space.products >= patience)
            good = bool((residuals[:wanted] <= self.tol * self.scale).all())
            if over or (good and 0 < wanted <= space.size):
                pairs = _Pairs(
                    values[:wanted], space.vectors(coordinates[:, :wanted]), residuals[:wanted]
                )
                return pairs, space.full or self.products >= self.budget
            if space.strays(residuals, self.tol):
                best = space.vectors(coordinates[:, :1])[0]
                space.tighten()
            if space.crowded:
                space.restart(self.k + (space.capacity - self.k) // 2, self.preference)

    def _space(self, locked: Tensor, start: Tensor | None, lean: bool) -> Krylov:
        """A Krylov space outside the locked vectors; with them it holds no more than at first."""
        capacity = max(self.k + 2, self.capacity - len(locked))
        return Krylov(
            self.operator, locked, capacity, self.draws, self.block, start=start, lean=lean
        )

    def _spectrum(self, pairs: _Pairs, residuals: Tensor) -> Spectrum:
        device, dtype = self.operator.device, self.operator.dtype
        relative = residuals / self.scale if self.scale else residuals
        return numeric_spectrum(
            pairs.values.to(dtype).to(device),
            KnownVectors(pairs.vectors.T),
            f"Lanczos, {self.products} products",
            relative.to(dtype).to(device),
            (relative <= self.tol).to(device),
        )

    def _verified(self, pairs: _Pairs) -> Tensor:
        """The residuals as products show them, not the recurrence alone.

        For random signs s, ``‖(A Z − Z Λ) s‖²`` is the sum of the squared residuals in expectation:
        one product tells whether rounding or noise adds to them. Only if it does are all measured.
        """
        draw = torch.randint(0, 2, (len(pairs.values),), generator=self.draws) * 2.0 - 1.0
        signs = draw.to(pairs.vectors.dtype).to(pairs.vectors.device)
        values = pairs.values.to(signs.dtype).to(signs.device)
        image = self.operator @ (signs @ pairs.vectors)
        self.products += 1
        together = norm(image - (signs * values) @ pairs.vectors) ** 2
        if not math.isfinite(together):
            raise NotFiniteError("operator: a product is not finite")
        excess = max(0.0, together - float(pairs.residuals.square().sum()))
        residuals = (pairs.residuals.square() + excess).sqrt()
        limit = self.tol * self.scale
        if bool(((residuals > limit) & (pairs.residuals <= limit)).any()):
            self.products += len(values)
            measured = [
                norm(self.operator @ vector - value * vector)
                for vector, value in zip(pairs.vectors, values, strict=True)
            ]
            residuals = torch.tensor(measured, dtype=torch.float64)
        return residuals
