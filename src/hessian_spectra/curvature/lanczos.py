"""Block Lanczos with full reorthogonalisation, thick restarts and locked eigenvectors."""

from collections.abc import Callable

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import OperatorError, SymmetricOperator

# How much an eigenvalue is wanted: λ, −λ or |λ|.
Preference = Callable[[Tensor], Tensor]

# Columns of the basis to work on at a time, so that copies of them stay in the cache.
_CHUNK = 1 << 16


def gram(left: Tensor, right: Tensor) -> Tensor:
    """The dot products of rows ``(a, p)`` with rows ``(b, p)``: ``(a, b)`` in float64 on the CPU.

    Float32 sums over all of ``p`` would lose four digits at five million entries, and with them the
    orthogonality of the basis.
    """
    total = torch.zeros(len(left), len(right), dtype=torch.float64, device=left.device)
    for columns, others in zip(left.split(_CHUNK, dim=1), right.split(_CHUNK, dim=1), strict=True):
        total += columns.double() @ others.double().T
    return total.cpu()


def norm(vector: Tensor) -> float:
    """The Euclidean norm of a vector, with all the digits of its type."""
    return float(gram(vector[None], vector[None])) ** 0.5


class Krylov:
    """An orthonormal basis ``V`` of a block Krylov space, grown by one block of products at a time.

    ``A V = V B + W Cᵀ`` with ``B`` the projection of the operator, ``W`` the next block of basis
    vectors and ``C`` its coupling, so that a Ritz pair ``(λ, V s)`` has the residual ``‖Cᵀ s‖``.
    Where the space is invariant it goes on with random vectors: the Krylov space of one vector
    holds one vector of each eigenspace, and further ones come in only so.

    Args:
        operator: a symmetric operator.
        locked: ``(l, p)`` orthonormal eigenvectors that the space stays orthogonal to.
        capacity: how many basis vectors fit before :meth:`restart` makes room.
        generator: draws the random vectors.
        block: how many vectors to multiply together. A basis of hundreds of vectors is
            orthogonalised several times faster so, for some more products.
    """

    def __init__(
        self,
        operator: SymmetricOperator,
        locked: Tensor,
        capacity: int,
        generator: torch.Generator,
        block: int = 1,
    ) -> None:
        self.operator = operator
        self.locked = locked
        self.generator = generator
        self.room = operator.shape[0] - len(locked)
        self.capacity = min(capacity, self.room)
        self.size = 0
        # How many vectors wait behind the basis to be multiplied.
        self.width = min(block, self.room)
        self.products = 0
        self.coupling = torch.zeros(0, self.width, dtype=torch.float64)
        # The largest magnitude of a Ritz value so far.
        self.scale = 0.0
        # Both grow with the basis: its capacity may be far more than it takes.
        rows = min(32, self.capacity) + self.width
        self._projection = torch.zeros(rows, rows, dtype=torch.float64)
        self._basis = locked.new_empty(rows, operator.shape[0])
        for row in range(self.width):
            self._basis[row] = self._random(row)

    @property
    def full(self) -> bool:
        """Whether the basis spans the whole space outside the locked vectors."""
        return self.size == self.room

    @property
    def crowded(self) -> bool:
        """Whether the next step needs a restart first."""
        return self.size + self.width > self.capacity

    def _random(self, count: int) -> Tensor:
        """A random unit vector outside the locked and the first ``count`` basis vectors."""
        draw = torch.randn(self._basis.shape[1], generator=self.generator, dtype=torch.float64)
        vector = draw.to(self._basis.dtype).to(self._basis.device)
        for _ in range(2):
            vector = self._outside((vector / norm(vector))[None], count)[0]
        return vector / norm(vector)

    def _outside(self, vectors: Tensor, count: int) -> Tensor:
        """The part of some rows outside the locked and the first ``count`` basis vectors."""
        for rows in (self.locked, self._basis[:count]):
            if len(rows):
                vectors = torch.addmm(vectors, vectors @ rows.T, rows, alpha=-1)
        return vectors

    def step(self) -> None:
        """Multiply the vectors that wait, and find those that come next.

        Raises:
            OperatorError: a product is not finite.
        """
        old, new = self.size, self.size + self.width
        self._reserve(new + self.width)
        block = self._basis[old:new]
        images = (
            (self.operator @ block[0])[None] if len(block) == 1 else (self.operator @ block.T).T
        )
        self.products += self.width
        diagonal = gram(block, images)
        if not torch.isfinite(diagonal).all():
            raise OperatorError("operator: a product is not finite")
        self._projection[:old, old:new] = self.coupling
        self._projection[old:new, :old] = self.coupling.T
        self._projection[old:new, old:new] = (diagonal + diagonal.T) / 2
        self.scale = max(self.scale, float(diagonal.abs().max()))
        # What is known to be there goes first. The full pass then corrects rounding alone and
        # needs no second one, except where it cancels much after all.
        first = int(self.coupling.any(dim=1).float().argmax()) if old else 0
        known = torch.cat([self.coupling[first:], diagonal]).to(images.dtype).to(images.device)
        images = torch.addmm(images, known.T, self._basis[first:new], alpha=-1)
        self.size = new
        self.width = min(self.width, self.room - new)
        # Zeros when the space is full, and so are the residuals.
        self.coupling = torch.zeros(new, max(1, self.width), dtype=torch.float64)
        if self.width:
            self._extend(images, old)

    def _reserve(self, rows: int) -> None:
        if rows > len(self._basis):
            wanted = min(max(rows, 2 * len(self._basis)), self.capacity + self.width)
            used = self.size + self.width
            basis = self._basis.new_empty(wanted, self._basis.shape[1])
            basis[:used] = self._basis[:used]
            projection = torch.zeros(wanted, wanted, dtype=torch.float64)
            projection[:used, :used] = self._projection[:used, :used]
            self._basis, self._projection = basis, projection

    def _extend(self, images: Tensor, old: int) -> None:
        """Orthonormalise what is new in the images of the vectors from ``old`` on."""
        smallest = 10 * torch.finfo(images.dtype).eps * self.scale
        lengths = [norm(image) for image in images]
        count = self.size
        for row, image in enumerate(self._outside(images, self.size), start=old):
            added = self._basis[self.size : count]
            if len(added):
                overlaps = gram(image[None], added)[0]
                self.coupling[row, : len(added)] = overlaps
                image = image - overlaps.to(image.dtype).to(image.device) @ added
            length = norm(image)
            if length < 0.7 * lengths[row - old]:
                image = self._outside(image[None], count)[0]
                length = norm(image)
            if length > smallest and count < self.size + self.width:
                self.coupling[row, count - self.size] = length
                self._basis[count] = image / length
                count += 1
        for row in range(count, self.size + self.width):
            self._basis[row] = self._random(row)

    def ritz(self, preference: Preference) -> tuple[Tensor, Tensor, Tensor]:
        """Ritz values, their coordinates in the basis (columns), residuals; the best ones first."""
        values, coordinates = torch.linalg.eigh(self._projection[: self.size, : self.size])
        order = torch.argsort(preference(values), descending=True, stable=True)
        self.scale = max(self.scale, float(values.abs().max()))
        coordinates = coordinates[:, order]
        return values[order], coordinates, (self.coupling.T @ coordinates).norm(dim=0)

    def vectors(self, coordinates: Tensor) -> Tensor:
        """The vectors ``(r, p)`` with these coordinates ``(size, r)``."""
        basis = self._basis[: self.size]
        return coordinates.T.to(basis.dtype).to(basis.device) @ basis

    def restart(self, keep: int, preference: Preference) -> None:
        """Shrink the basis to the ``keep`` best Ritz vectors and the vectors that wait."""
        values, coordinates, _ = self.ritz(preference)
        values, coordinates = values[:keep], coordinates[:, :keep]
        rotation = coordinates.T.to(self._basis.dtype).to(self._basis.device)
        for columns in self._basis.split(_CHUNK, dim=1):
            columns[:keep] = rotation @ columns[: self.size]
            columns[keep : keep + self.width] = columns[self.size : self.size + self.width].clone()
        self._projection.zero_()
        self._projection.diagonal()[:keep] = values
        self.coupling = coordinates.T @ self.coupling
        self.size = keep
