"""The eigenvalues that two consecutive linear layers repeat, in any network and under any loss."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, finite, read
from hessian_spectra.closed_form._layers import Layers, prefixes_and_suffixes, read_layers
from hessian_spectra.closed_form._pairs import rank_of
from hessian_spectra.closed_form.assumptions import ROUNDING
from hessian_spectra.spectrum import Spectrum

_METHOD = "closed form, the bulk of two consecutive linear layers"
# A vector that a matrix reaches, up to rounding in both.
_REACHED = 1e-10


def bulk(gradient: ArrayLike, width: int, *, layers: Sequence[ArrayLike] | None = None) -> Spectrum:
    """The part ``±σ_i(G)`` of the Hessian spectrum of any loss of ``W_2 W_1``, a product of layers.

    The loss depends on ``W_1``, ``(m, D)``, and ``W_2``, ``(K, m)``, through their product alone,
    and is twice differentiable in it and in all other parameters. Its gradient in the product is
    ``G = ∂L/∂(W_2 W_1)``, with the singular triples ``(u_i, σ_i, v_i)``. The direction
    ``(a v_iᵀ, ±u_i aᵀ)`` of ``(W_1, W_2)`` leaves the product as it is to first order if and only
    if ``(W_2 a, W_1ᵀ a)`` is a multiple of ``(u_i, ∓v_i)``, which are ``D + K - 1`` linear
    conditions on ``a``. The second order then makes it an eigenvector of the Hessian of the whole
    network, with the eigenvalue ``±σ_i``: each occurs at least ``m - D - K + 1`` times.

    With the layers at hand the count is exact for these directions. It is larger where the layers
    are of a lower rank, or where ``r`` singular values are equal: then ``r (m - D - K + r)``. It is
    also known which directions with ``G v = 0`` or ``Gᵀu = 0`` leave the product as it is; their
    eigenvalue is 0.

    * A bias between the layers that does not vary counts as a condition more: its
      ``m - D - K`` copies are those of ``width - 1``.
    * One that varies is a column of the first layer, whose input is 1: ``gradient`` has ``D + 1``
      columns.
    * Where the product's outputs are the logits of a softmax the loss depends on their differences
      alone: ``gradient`` is ``QᵀG`` for an orthonormal basis ``Q (K, K - 1)`` of what is orthogonal
      to ``(1, ..., 1)``, and ``QᵀW_2`` the second layer. Likewise with an orthonormal basis of what
      the inputs span: ``G Q`` and ``W_1 Q``.

    Args:
        gradient: ``(..., K, D)`` ``G``, in units of the loss per entry of the product.
        width: ``m``.
        layers: ``(W_1, W_2)``, of a single gradient.

    Returns:
        A part of the spectrum, of kind ``"bulk"``: ``values`` ``(..., 2 min(D, K))`` are ``σ_i``,
        descending, and ``-σ_i``; ``eigenvalues`` has them as often as they occur, ascending along
        the last axis, and none if ``m < D + K``. With ``layers`` there are eigenvectors in the
        parameter order ``(W_1, W_2)``, each row by row; equal values are counted in the first of
        them, those that vanish as one group of kind ``"zero"``, together with
        ``|D - K| (m - min(D, K))`` or more others that are 0.

    Raises:
        ValueError: bad shape or type, an empty or not finite gradient, or a width below 1.

    Source: this project; for ``D = K = 1`` singh2026cracking, Theorem 3.1.

    Example:
        >>> bulk([[3.0, 0.0]], width=4).eigenvalues
        tensor([-3., -3.,  3.,  3.], dtype=torch.float64)
        >>> first, last = torch.eye(3, 1), torch.eye(1, 3)  # f = ⟨w, v⟩ x with w = v
        >>> s = bulk([[2.0]], 3, layers=(first, last))
        >>> s.eigenvalues
        tensor([-2., -2., -2.,  2.,  2.], dtype=torch.float64)
        >>> s.eigenvectors().shape
        torch.Size([6, 5])
    """
    if width < 1:
        raise ValueError(f"width: expected at least 1, got {width}")
    if layers is None:
        (slope,) = read({"gradient": "?"}, gradient=gradient)
        if slope.ndim < 2:
            raise ValueError(f"gradient: expected shape (..., K, D), got {tuple(slope.shape)}")
        sizes = torch.linalg.svdvals(slope)
        groups = 2 * sizes.shape[-1]
        return Spectrum(
            values=finite(torch.cat([sizes, -sizes], dim=-1)),
            multiplicities=[max(0, width - sum(slope.shape[-2:]) + 1)] * groups,
            kinds=["bulk"] * groups,
            method=_METHOD,
        )
    if len(layers) != 2:
        raise ValueError(f"layers: expected (W_1, W_2), got {len(layers)}")
    first, last, slope = read(
        {"W_1": "mD", "W_2": "Km", "gradient": "KD"},
        W_1=layers[0],
        W_2=layers[1],
        gradient=gradient,
    )
    if len(first) != width:
        raise ValueError(f"width: expected m = {len(first)} as in W_1, got {width}")
    return Spaces(first, last, slope).spectrum(zeros=True)


def deep_bulk(gradient: ArrayLike, weights: Layers) -> Spectrum:
    """The bulk of a chain of linear layers of any ranks, by hidden layer, under any loss.

    The loss depends on the layers through their product ``W_L ... W_1`` alone, with the gradient
    ``G`` in it. Between the neighbours of the hidden layer ``l`` the gradient is
    ``G_l = (W_L ... W_{l+2})ᵀ G (W_{l-1} ... W_1)ᵀ``. Each of its positive singular values ``σ``
    is an eigenvalue of the whole network's Hessian, as is ``-σ``, with the eigenvectors
    ``(a vᵀ, ±u aᵀ)`` in ``(W_l, W_{l+1})`` for all ``a`` of ``ker W_{l+1} ∩ ker W_lᵀ``. That space
    has at least ``d_l - rank W_l - rank W_{l+1}`` dimensions, and ``d_l - r`` where the layers are
    balanced and of rank ``r``. Eigenvectors of different hidden layers are orthogonal, so that
    their counts add up where values agree.

    Args:
        gradient: ``(d_L, d_0)`` ``G``.
        weights: the layers ``W_l``, ``(d_l, d_{l-1})``, ``L >= 2`` of them.

    Returns:
        A part of the spectrum with eigenvectors in the order of the layers, each row by row; kind
        ``"bulk"``, the cell names the hidden layer, ``"1"`` to ``"L-1"``.

    Raises:
        ValueError: bad shape or type, fewer than two layers, or empty or not finite input.

    Source: this project.

    Example:
        >>> weights = torch.eye(3, 1), torch.diag(torch.tensor([1.0, 0.0, 0.0])), torch.eye(1, 3)
        >>> deep_bulk([[2.0]], weights).eigenvalues
        tensor([-2., -2., -2., -2.,  2.,  2.,  2.,  2.], dtype=torch.float64)
    """
    given = list(weights)
    if len(given) < 2:
        raise ValueError(f"weights: expected at least two layers, got {len(given)}")
    shapes = {"gradient": (f"d_{len(given)}", "d_0")}
    *layers, slope = read_layers(given, shapes, gradient=gradient)
    before, after = prefixes_and_suffixes(layers)
    starts = [0]
    for layer in layers:
        starts.append(starts[-1] + layer.numel())
    values, multiplicities, cells, parts = [], [], [], []
    for hidden in range(len(layers) - 1):
        first, last = layers[hidden : hidden + 2]
        spaces = Spaces(first, last, after[hidden + 1].T @ slope @ before[hidden].T)
        copies = [spaces.both.free.shape[1] * (i < spaces.rank) for i in range(len(spaces.sizes))]
        values += [spaces.sizes, -spaces.sizes]
        multiplicities += [*copies, *copies]
        cells += [str(hidden + 1)] * (2 * len(copies))
        parts.append((starts[hidden], spaces))

    def eigenbasis() -> Tensor:
        columns = [slope.new_zeros(starts[-1], 0)]
        for start, spaces in parts:
            for sign in (1.0, -1.0):
                for i in range(spaces.rank):
                    part = spaces.vectors(spaces.both.free[:, None], i, sign)
                    column = slope.new_zeros(starts[-1], part.shape[1])
                    column[start : start + len(part)] = part
                    columns.append(column)
        return torch.cat(columns, dim=1)

    return Spectrum(
        values=finite(torch.cat(values)),
        multiplicities=multiplicities,
        kinds=["bulk"] * len(cells),
        cells=cells,
        method=f"{_METHOD}, hidden layer by hidden layer",
        eigenbasis=eigenbasis,
    )


def sign_counts(product: ArrayLike, gradient: ArrayLike, width: int) -> tuple[Tensor, Tensor]:
    """Two consecutive linear layers enforce negative and positive eigenvalues, at least so many.

    It holds for any width, also where the bulk is empty: in a bottleneck, a LoRA adapter, or the
    value and output matrices of a head. For every ``X (m, m)`` the direction ``(X W_1, -W_2 X)``
    leaves the product as it is to first order, and along it the Hessian of the whole network has
    the quadratic form ``-2 tr(Q X²)`` with ``Q = W_1 Gᵀ W_2``. Let ``p`` eigenvalues of ``Q`` have
    a positive real part and ``q`` a negative one; they are those of ``P Gᵀ`` for ``P = W_2 W_1``,
    and zeros. Let ``n`` be the rank of ``(P Gᵀ)²``, in general position the number of eigenvalues
    that are not 0. At least ``n m - (n² - p + q) / 2`` eigenvalues of the Hessian are negative, and
    ``n m - (n² + p - q) / 2`` positive. At critical points, where ``Q = 0``, it says nothing.

    Args:
        product: ``(..., K, D)`` ``P``.
        gradient: ``(..., K, D)`` ``G = ∂L/∂P``.
        width: ``m``, at least the rank of ``P``.

    Returns:
        The numbers of negative and of positive eigenvalues, ``(...)`` each.

    Raises:
        ValueError: bad shape or type, shapes that differ, empty or not finite input, or a width
            below 1.

    Source: this project.

    Example:
        >>> sign_counts([[2.0]], [[3.0]], width=4)  # two_layer_linear with <w, v> δx > 0
        (tensor(4), tensor(3))
    """
    if width < 1:
        raise ValueError(f"width: expected at least 1, got {width}")
    matrix, slope = read({"product": "?", "gradient": "?"}, product=product, gradient=gradient)
    if matrix.ndim < 2 or matrix.shape != slope.shape:
        raise ValueError(
            "gradient: expected shape (..., K, D) as of the product, got "
            f"{tuple(slope.shape)} and {tuple(matrix.shape)}"
        )
    short = matrix.shape[-2] <= matrix.shape[-1]
    turned = matrix @ slope.mT if short else slope.mT @ matrix
    values, ranks = torch.linalg.eigvals(turned).real, torch.linalg.svdvals(turned @ turned)
    sizes = (torch.linalg.matrix_norm(matrix) * torch.linalg.matrix_norm(slope))[..., None]
    # The square has no digits left of a nilpotent part, whose computed eigenvalues are not 0.
    rank = (ranks > _REACHED * sizes.square()).sum(-1)
    floor = _REACHED * sizes
    more = (values > floor).sum(-1) - (values < -floor).sum(-1)
    both = rank * (2 * width - rank)
    return (both + more) // 2, (both - more) // 2


class _Range:
    """A matrix ``(k, m)``, as the spaces that it reaches and takes to 0."""

    def __init__(self, matrix: Tensor) -> None:
        self.size = matrix.numel()
        outer, sizes, inner = torch.linalg.svd(matrix)
        rank = rank_of(sizes, max(matrix.shape))
        self.reached = outer[:, :rank]
        self.backward = (inner[:rank].T / sizes[:rank]) @ self.reached.T  # the pseudo-inverse
        self.free = inner[rank:].T  # (m, m - rank)


class Spaces:
    """The directions of two layers in which their product does not move, by singular value of G.

    Args:
        first: ``(m, D)``.
        last: ``(K, m)``.
        gradient: ``(K, D)``.
    """

    def __init__(self, first: Tensor, last: Tensor, gradient: Tensor) -> None:
        left, self.sizes, right = torch.linalg.svd(gradient)
        floor = ROUNDING * float(self.sizes[0])
        self.rank = int((self.sizes > floor).sum())
        self.left, self.left_null = left.split([self.rank, len(left) - self.rank], dim=1)
        self.right, self.right_null = right.T.split([self.rank, len(right) - self.rank], dim=1)
        self.both, self.first, self.last = map(_Range, (torch.cat([last, first.T]), first.T, last))
        steps = -self.sizes[: self.rank].diff() > floor
        # Equal singular values stand side by side.
        self.starts = [0, *(steps.nonzero().flatten() + 1).tolist()][: self.rank]

    def spectrum(
        self, placed: Callable[[Tensor], Tensor] | None = None, *, zeros: bool = False
    ) -> Spectrum:
        """Both signs of each singular value.

        Args:
            placed: from eigenvectors as columns in the order ``(W_1, W_2)``, each row by row, to
                those in another one.
            zeros: whether the zeros are there, too, if there are any.
        """
        values, kinds = torch.cat([self.sizes, -self.sizes]), ["bulk"] * (2 * len(self.sizes))
        copies = [0] * len(kinds)
        size = self.first.size + self.last.size
        bases: list[Callable[[], Tensor]] = [partial(values.new_zeros, size, 0)]
        for place, sign in ((0, 1.0), (len(self.sizes), -1.0)):
            for start, stop in pairwise([*self.starts, self.rank]):
                matrices = self.matrices(start, stop, sign)
                copies[place + start] = matrices.shape[-1]
                bases.append(partial(self.vectors, matrices, start, sign))
        if zeros and (count := self.count_of_zeros()) > 0:
            values, kinds = torch.cat([values, values.new_zeros(1)]), [*kinds, "zero"]
            copies.append(count)
            bases.append(self.zeros)

        def eigenbasis() -> Tensor:
            columns = torch.cat([basis() for basis in bases], dim=1)
            return columns if placed is None else placed(columns)

        return Spectrum(
            values=finite(values),
            multiplicities=copies,
            kinds=kinds,
            method=_METHOD,
            eigenbasis=eigenbasis,
        )

    def matrices(self, start: int, stop: int, sign: float) -> Float[Tensor, "m r copies"]:
        """All ``M`` for which ``(M Vᵀ, ±U Mᵀ)`` does not move the product, orthonormal.

        They are those with ``(W_2 M, W_1ᵀ M) = (U S, ∓V Sᵀ)`` for some ``S``, ``(r, r)``, where the
        columns of ``U`` and ``V`` belong to ``r`` equal singular values.
        """
        left, right, r = self.left[:, start:stop], self.right[:, start:stop], stop - start
        eye = torch.eye(r, dtype=left.dtype, device=left.device)
        free = torch.einsum("mf,rs->mrfs", self.both.free, eye).flatten(2)
        units = torch.eye(r * r, dtype=left.dtype, device=left.device).unflatten(1, (r, r))
        targets = torch.cat([left @ units, -sign * right @ units.mT], dim=1)  # (r², K + D, r)
        missed = targets - self.both.reached @ (self.both.reached.T @ targets)
        allowed = _null_space(missed.flatten(1).T)
        special = torch.einsum("mk,skr,sc->mrc", self.both.backward, targets, allowed)
        basis = torch.linalg.qr(special.flatten(0, 1)).Q.unflatten(0, special.shape[:2])
        return torch.cat([free, basis], dim=-1)

    def vectors(
        self, matrices: Float[Tensor, "m r copies"], start: int, sign: float
    ) -> Float[Tensor, "p copies"]:
        """``(M Vᵀ, ±U Mᵀ) / √2``, each a column."""
        which = slice(start, start + matrices.shape[1])
        first = torch.einsum("mrc,dr->mdc", matrices, self.right[:, which])
        last = torch.einsum("kr,mrc->kmc", self.left[:, which], matrices)
        return math.sqrt(0.5) * torch.cat([first.flatten(0, 1), sign * last.flatten(0, 1)])

    def zeros(self) -> Float[Tensor, "p copies"]:
        """Orthonormal ``(A, C)`` with ``G Aᵀ = 0`` and ``CᵀG = 0`` that do not move the product."""
        up, down = self._shared()
        first = torch.einsum("mi,dj->mdij", self.last.backward @ up, down)
        last = -torch.einsum("ki,mj->kmij", up, self.first.backward @ down)
        both = torch.cat([part.flatten(2).flatten(0, 1) for part in (first, last)])
        only_first = torch.einsum("mi,dj->mdij", self.last.free, self.right_null)
        only_last = torch.einsum("ki,mj->kmij", self.left_null, self.first.free)
        above, below = (part.flatten(2).flatten(0, 1) for part in (only_first, only_last))
        return torch.cat([torch.block_diag(above, below), torch.linalg.qr(both).Q], dim=1)

    def count_of_zeros(self) -> int:
        """The number of these directions."""
        pairs = (self.last.free, self.right_null), (self.left_null, self.first.free), self._shared()
        return sum(left.shape[1] * right.shape[1] for left, right in pairs)

    def _shared(self) -> tuple[Tensor, Tensor]:
        """The parts of the null spaces of ``Gᵀ`` and of ``G`` that the layers reach."""
        return tuple(
            null @ _null_space(null - layer.reached @ (layer.reached.T @ null))
            for layer, null in ((self.last, self.left_null), (self.first, self.right_null))
        )


def _null_space(matrix: Tensor) -> Tensor:
    """An orthonormal basis of what a matrix takes to 0, up to rounding in entries near 1."""
    _, sizes, right = torch.linalg.svd(matrix)
    return right[int((sizes > _REACHED).sum()) :].T
