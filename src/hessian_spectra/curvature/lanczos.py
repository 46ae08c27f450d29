"""Block Lanczos with thick restarts, locked eigenvectors and as much orthogonality as is needed."""

from collections.abc import Callable

import torch
from torch import Tensor

from hessian_spectra.curvature.interface import SymmetricOperator, require_moderate
from hessian_spectra.curvature.rows import Rows, gram, norm

# How much an eigenvalue is wanted: λ, −λ or |λ|.
Preference = Callable[[Tensor], Tensor]


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
        start: ``(p,)`` the first vector, instead of a random one.
        lean: leave out the reorthogonalisation until :meth:`tighten`. A basis loses its
            orthogonality along Ritz vectors that converge, and there alone, by the rounding of a
            product over their residual, so that the pair that converges first is found as well
            without. Source: Paige (1980), "Accuracy and effectiveness of the Lanczos algorithm for
            the symmetric eigenproblem", section 3.
    """

    def __init__(
        self,
        operator: SymmetricOperator,
        locked: Tensor,
        capacity: int,
        generator: torch.Generator,
        block: int = 1,
        start: Tensor | None = None,
        lean: bool = False,
    ) -> None:
        self.operator = operator
        self.locked = locked
        self.generator = generator
        self.lean = lean and block == 1
        self.room = operator.shape[0] - len(locked)
        self.capacity = min(capacity, self.room)
        self.size = 0
        # How many vectors wait behind the basis to be multiplied.
        self.width = min(block, self.room)
        self.products = 0
        # Whether the basis has turned out not to be orthonormal: nothing that follows is right.
        self.lost = False
        self.coupling = torch.zeros(0, self.width, dtype=torch.float64)
        # The largest magnitude of a Ritz value so far.
        self.scale = 0.0
        self._projection = torch.zeros(0, 0, dtype=torch.float64)
        self._basis = Rows(locked, self.capacity + self.width)
        self._reserve(self.width)
        for row in range(self.width):
            self._put(row, start if row == 0 else None)

    @property
    def full(self) -> bool:
        """Whether the basis spans the whole space outside the locked vectors."""
        return self.size == self.room

    @property
    def crowded(self) -> bool:
        """Whether the next step needs a restart first."""
        return self.size + self.width > self.capacity

    def _reserve(self, rows: int) -> None:
        self._basis.reserve(rows)
        if rows > len(self._projection):
            wanted = max(rows, 2 * len(self._projection))
            projection = torch.zeros(wanted, wanted, dtype=torch.float64)
            projection[: self.size, : self.size] = self._projection[: self.size, : self.size]
            self._projection = projection

    def _put(self, row: int, vector: Tensor | None = None) -> None:
        """Make a row the unit part of a vector outside the locked and the earlier ones.

        A random vector takes the place of none, and of one that has no such part.
        """
        target = self._basis[row]
        smallest = 10 * torch.finfo(target.dtype).eps
        length = 0.0
        while length <= smallest:
            if vector is None:
                vector = torch.randn(len(target), generator=self.generator, dtype=target.dtype)
            target.copy_(vector)
            vector = None
            length = _normalise(target)
            for _ in range(2 if row or len(self.locked) else 0):
                self._outside(target[None], row)
                length = min(length, _normalise(target))

    def _outside(self, vectors: Tensor, count: int) -> Tensor:
        """Take from rows, in place, what lies along the locked and the first ``count`` others.

        Returns:
            ``(b,)`` the squared lengths of what was taken.
        """
        taken = torch.zeros(len(vectors), dtype=torch.float64)
        if len(self.locked):
            overlaps = gram(vectors, self.locked)
            vectors.addmm_(overlaps.to(vectors), self.locked, alpha=-1)
            taken += overlaps.square().sum(dim=1)
        if count:
            overlaps = self._basis.overlaps(vectors, count)
            self._basis.subtract(vectors, overlaps)
            taken += overlaps.square().sum(dim=1)
        return taken

    def tighten(self) -> None:
        """Reorthogonalise the last vectors, on which all that follows depends, and all to come."""
        self.lean = False
        for row in range(max(0, self.size - 1), self.size + self.width):
            for _ in range(2):
                self._outside(self._basis[row][None], row)
                _normalise(self._basis[row])

    def strays(self, residuals: Tensor, tol: float) -> bool:
        """Whether a lean basis loses its orthogonality along another Ritz vector than the first.

        The first then converges more slowly. Later than this :meth:`tighten` would spoil it.
        """
        if not self.lean or len(residuals) == 1:
            return False
        other = float(residuals[1:].min())
        # A product rounds by some units in the last place.
        rounding = 10 * torch.finfo(self.locked.dtype).eps * self.scale
        return other < float(residuals[0]) and rounding >= tol * other

    def step(self) -> None:
        """Multiply the vectors that wait, and find those that come next.

        Raises:
            NotFiniteError: a product is not finite, or too large to be squared.
        """
        old, new, width = self.size, self.size + self.width, self.width
        self._reserve(new + width)
        if width == 1:
            block = self._basis[old][None]
            # In place of the vector that comes next: another allocation costs as much as a sum.
            images = self._basis[new][None]
            images[0] = self.operator @ block[0]
        else:
            block = torch.stack([self._basis[row] for row in range(old, new)])
            images = (self.operator @ block.T).T.clone(memory_format=torch.contiguous_format)
        self.products += width
        require_moderate(images)
        diagonal = gram(block, images)
        self._projection[:old, old:new] = self.coupling
        self._projection[old:new, :old] = self.coupling.T
        self._projection[old:new, old:new] = (diagonal + diagonal.T) / 2
        self.scale = max(self.scale, float(diagonal.abs().max()))
        # What is known to be there goes first. The full pass then corrects rounding alone and
        # needs no second one, except where it cancels much after all.
        first = int(self.coupling.any(dim=1).float().argmax()) if old else 0
        self._basis.subtract(images, torch.cat([self.coupling[first:], diagonal]).T, first)
        self.size = new
        self.width = min(width, self.room - new)
        # Zeros when the space is full, and so are the residuals.
        self.coupling = torch.zeros(new, max(1, self.width), dtype=torch.float64)
        if self.width:
            self._extend(images, old)

    def _extend(self, images: Tensor, old: int) -> None:
        """Orthonormalise what is new in the images of the vectors from ``old`` on."""
        smallest = 10 * torch.finfo(images.dtype).eps * self.scale
        squares = [norm(image) ** 2 for image in images]
        taken = [0.0] * len(images) if self.lean else self._outside(images, self.size).tolist()
        count = self.size
        for row, image in enumerate(images):
            for place in range(self.size, count):
                overlap = float(gram(image[None], self._basis[place][None]))
                self.coupling[old + row, place - self.size] = overlap
                image.sub_(self._basis[place], alpha=overlap)
                taken[row] += overlap**2
            # Along an orthonormal basis there is no more of a vector than all of it.
            self.lost |= taken[row] > 1.01 * squares[row]
            if taken[row] > 0.5 * squares[row]:
                self._outside(image[None], count)
                length = norm(image)
            else:
                length = (squares[row] - taken[row]) ** 0.5
            if length > smallest and count < self.size + self.width:
                self.coupling[old + row, count - self.size] = length
                torch.div(image, length, out=self._basis[count])
                count += 1
        for row in range(count, self.size + self.width):
            self._put(row)

    def ritz(self, preference: Preference) -> tuple[Tensor, Tensor, Tensor]:
        """Ritz values, their coordinates in the basis (columns), residuals; the best ones first."""
        values, coordinates = torch.linalg.eigh(self._projection[: self.size, : self.size])
        order = torch.argsort(preference(values), descending=True, stable=True)
        self.scale = max(self.scale, float(values.abs().max()))
        coordinates = coordinates[:, order]
        return values[order], coordinates, (self.coupling.T @ coordinates).norm(dim=0)

    def vectors(self, coordinates: Tensor) -> Tensor:
        """The unit vectors ``(r, p)`` with these coordinates ``(size, r)``."""
        result = self._basis.combine(coordinates.T)
        for vector in result:
            _normalise(vector)
        return result

    def restart(self, keep: int, preference: Preference) -> None:
        """Shrink the basis to the ``keep`` best Ritz vectors and the vectors that wait."""
        values, coordinates, _ = self.ritz(preference)
        values, coordinates = values[:keep], coordinates[:, :keep]
        self._basis.replace(coordinates.T, self.width)
        self._projection.zero_()
        self._projection.diagonal()[:keep] = values
        self.coupling = coordinates.T @ self.coupling
        self.size = keep


def _normalise(vector: Tensor) -> float:
    """Scale a vector, in place, to length one unless it is zero; what its length was."""
    length = norm(vector)
    if length:
        vector.div_(length)
    return length
