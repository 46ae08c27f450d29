"""Lanczos' method with full reorthogonalisation, thick restarts and locked eigenvectors."""

from collections.abc import Callable

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import OperatorError, SymmetricOperator

# How much an eigenvalue is wanted: λ, −λ or |λ|.
Preference = Callable[[Tensor], Tensor]

# Columns of the basis that a restart rotates at a time, to need no second basis.
_CHUNK = 1 << 16


def dot(left: Tensor, right: Tensor) -> float:
    """The dot product of two vectors, summed pairwise.

    ``left @ right`` and ``norm`` sum on the CPU in the order of the entries: in float32 they lose
    four digits at five million entries, and with them the orthogonality of the basis.
    """
    return float((left * right).sum())


def norm(vector: Tensor) -> float:
    """The Euclidean norm of a vector, summed pairwise."""
    return dot(vector, vector) ** 0.5


class Krylov:
    """An orthonormal basis ``V`` of a Krylov space, grown by one product at a time.

    ``A V = V B + v cᵀ`` with ``B`` the projection of the operator, ``v`` the next basis vector and
    ``c`` its coupling, so that a Ritz pair ``(λ, V s)`` has the residual ``|cᵀ s|``. Where the
    space is invariant it goes on with a random vector: a Krylov space holds one vector of each
    eigenspace, and further ones come in only so.

    Args:
        operator: a symmetric operator.
        locked: ``(l, p)`` orthonormal eigenvectors that the space stays orthogonal to.
        capacity: how many basis vectors fit before :meth:`restart` makes room.
        generator: draws the random vectors.
    """

    def __init__(
        self,
        operator: SymmetricOperator,
        locked: Tensor,
        capacity: int,
        generator: torch.Generator,
    ) -> None:
        self.operator = operator
        self.locked = locked
        self.generator = generator
        self.room = operator.shape[0] - len(locked)
        self.capacity = min(capacity, self.room)
        self.size = 0
        self.products = 0
        self.coupling = torch.zeros(0, dtype=torch.float64)
        # The largest magnitude of a Ritz value so far.
        self.scale = 0.0
        self._projection = torch.zeros(self.capacity, self.capacity, dtype=torch.float64)
        self._basis = locked.new_empty(min(32, self.capacity) + 1, operator.shape[0])
        self._basis[0] = self._random()

    @property
    def full(self) -> bool:
        """Whether the basis spans the whole space outside the locked vectors."""
        return self.size == self.room

    def _random(self) -> Tensor:
        """A random unit vector outside the basis and the locked vectors."""
        draw = torch.randn(self._basis.shape[1], generator=self.generator, dtype=torch.float64)
        vector = draw.to(self._basis.dtype).to(self._basis.device)
        for _ in range(2):
            vector = self._outside(vector / norm(vector))
        return vector / norm(vector)

    def _outside(self, vector: Tensor) -> Tensor:
        """The part of a vector that is orthogonal to the basis and the locked vectors."""
        for rows in (self.locked, self._basis[: self.size]):
            if len(rows):
                vector = torch.addmv(vector, rows.T, rows @ vector, alpha=-1)
        return vector

    def step(self) -> None:
        """One product with the operator, and one more basis vector.

        Raises:
            OperatorError: the product is not finite.
        """
        j = self.size
        if j + 2 > len(self._basis):
            larger = self._basis.new_empty(min(2 * j, self.capacity) + 1, self._basis.shape[1])
            larger[: j + 1] = self._basis[: j + 1]
            self._basis = larger
        vector = self._basis[j]
        image = self.operator @ vector
        self.products += 1
        diagonal = dot(vector, image)
        if diagonal != diagonal:
            raise OperatorError("operator: a product is not finite")
        self._projection[:j, j] = self._projection[j, :j] = self.coupling
        self._projection[j, j] = diagonal
        # What is known to be there goes first. The full pass then corrects rounding alone and
        # needs no second one, except where it cancels much after all.
        known = self.coupling.nonzero().flatten().tolist()
        image = image - diagonal * vector
        if len(known) > 1:
            coupling = self.coupling.to(image.dtype).to(image.device)
            image = torch.addmv(image, self._basis[:j].T, coupling, alpha=-1)
        elif known:
            image = image - float(self.coupling[known[0]]) * self._basis[known[0]]
        self.size = j + 1
        before = norm(image)
        image = self._outside(image)
        after = norm(image)
        if after < 0.7 * before:
            image = self._outside(image)
            after = norm(image)
        self.coupling = torch.zeros(self.size, dtype=torch.float64)
        self.scale = max(self.scale, abs(diagonal))
        if self.full:
            return
        if after > 10 * torch.finfo(image.dtype).eps * self.scale:
            self.coupling[j] = after
            self._basis[self.size] = image / after
        else:
            self._basis[self.size] = self._random()

    def ritz(self, preference: Preference) -> tuple[Tensor, Tensor, Tensor]:
        """Ritz values, their coordinates in the basis (columns), residuals; the best ones first."""
        values, coordinates = torch.linalg.eigh(self._projection[: self.size, : self.size])
        order = torch.argsort(preference(values), descending=True, stable=True)
        self.scale = max(self.scale, float(values.abs().max()))
        coordinates = coordinates[:, order]
        return values[order], coordinates, (self.coupling @ coordinates).abs()

    def vectors(self, coordinates: Tensor) -> Tensor:
        """The vectors ``(r, p)`` with these coordinates ``(size, r)``."""
        basis = self._basis[: self.size]
        return coordinates.T.to(basis.dtype).to(basis.device) @ basis

    def restart(self, keep: int, preference: Preference) -> None:
        """Shrink the basis to the ``keep`` best Ritz vectors and the vector that comes next."""
        values, coordinates, _ = self.ritz(preference)
        values, coordinates = values[:keep], coordinates[:, :keep]
        coupling = self.coupling @ coordinates
        rotation = coordinates.T.to(self._basis.dtype).to(self._basis.device)
        for columns in self._basis.split(_CHUNK, dim=1):
            columns[:keep] = rotation @ columns[: self.size]
        self._basis[keep] = self._basis[self.size]
        self._projection.zero_()
        self._projection.diagonal()[:keep] = values
        self.coupling = coupling
        self.size = keep
