"""Linear networks of any depth, layers and inputs: anon2026data, and beyond its assumptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._inputs import (
    ArrayLike,
    exponent,
    finite,
    read,
    times_power_of_two,
)
from hessian_spectra.closed_form._layers import (
    Layers,
    end_to_end,
    matrices,
    off_identity,
    prefixes_and_suffixes,
    read_layers,
    unbalance,
)
from hessian_spectra.closed_form._losses import Loss, output_derivatives
from hessian_spectra.closed_form._pairs import rank_of, spectrum_of_pairs
from hessian_spectra.closed_form.assumptions import ROUNDING
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require_word


def deep_linear(
    weights: Layers,
    x: ArrayLike,
    y: ArrayLike,
    *,
    loss: Loss | None = None,
    check: bool = True,
) -> Spectrum:
    """Gauss-Newton spectrum of ``f(x) = W_L ... W_1 x`` under ``1/(2n) Σ_i ‖f(x_i) - y_i‖²``.

    Where the residual is uncorrelated with the inputs, ``(f(X) - Y) Xᵀ = 0``, as at every
    least-squares solution whatever its loss, it is the spectrum of the Hessian. Nothing else is
    assumed, of layers or inputs. With ``P_l = W_{l-1} ... W_1``, ``S_l = W_L ... W_{l+1}`` and ``X
    Xᵀ / n = F Fᵀ`` the non-zero eigenvalues are those of

        ``Σ_l (S_l S_lᵀ) ⊗ (Fᵀ P_lᵀ P_l F)``,

    which has no more than ``d_L d_0`` rows. How far it falls apart is found, not asked for:

    * Where all ``S_l S_lᵀ`` commute, as with two layers, one output, or balanced layers, ``W_l W_lᵀ
      = W_{l+1}ᵀ W_{l+1}``, their eigenvectors ``u_j`` leave ``d_L`` problems of ``d_0`` rows, the
      matrices ``Σ_l ‖S_lᵀu_j‖² Fᵀ P_lᵀ P_l F``. All ``u_j`` with ``W_Lᵀu_j = 0`` share one, so that
      its eigenvalues repeat: the bulk.
    * For ``X Xᵀ / n = σ_x² I`` besides, and two layers or balanced ones, there is one eigenvalue
      for each pair of the singular values ``s_i`` of ``W_1`` and ``s_j`` of ``W_L``,

        ``λ_ij = σ_x² Σ_l s_i^{2(l-1)} s_j^{2(L-l)}``,   ``0⁰ = 1``,

      where singular values beyond the size of a layer count as 0. Pairs of two positive ones are
      the outliers; ``s_i^{2(L-1)} σ_x²`` occurs ``d_L - r_L`` times and ``s_j^{2(L-1)} σ_x²`` ``d_0
      - r_1`` times, with ``r_l`` the rank of ``W_l``: the bulk.

    For another loss with the second derivatives ``M_i``, ``(d_L, d_L)``, by the outputs of sample
    ``i``, the non-zero eigenvalues are those of ``E[M ⊗ x xᵀ] Σ_l (S_l S_lᵀ) ⊗ (P_lᵀ P_l)``: one
    problem of all. It is the spectrum of the Hessian where ``E[∇l xᵀ] = 0``.

    For ``L = 1`` each eigenvalue of ``X Xᵀ / n`` occurs ``d_L`` times. An eigenvector has in layer
    ``l`` the matrix ``S_lᵀ u (P_l F z)ᵀ``, summed over ``u`` and ``z`` if they do not separate.

    Args:
        weights: the layers ``W_1, ..., W_L``, each ``(d_l, d_{l-1})``.
        x: ``(d_0, n)`` inputs, one sample a column.
        y: ``(d_L, n)`` targets. The Gauss-Newton matrix of the squared error does not depend on
            them.
        loss: a module of torch, whose ``reduction`` does not matter, or a function of outputs and
            targets with a number for each output, ``(n, d_L)``, which are added up over the
            outputs, or for each sample, ``(n,)``; by default half the squared error.
        check: has no effect, since there is nothing to refuse: it is there for those who pass it to
            every closed form. Whether the Hessian is meant, too, is asked by :func:`of`.

    Returns:
        The spectrum in the parameter order ``(W_1, ..., W_L)``, each layer row by row. Of pairs the
        kinds ``"outlier"`` with cell ``"i,j"``, ``"bulk"`` with cell ``"i,0"`` or ``"0,j"`` (the 0
        stands for all singular values that are 0), and ``"zero"``; of ``d_L`` problems
        ``"outlier"`` with cell ``"j"``, ``"bulk"`` with cell ``"0"``, and ``"zero"``; for ``L = 1``
        no ``"outlier"`` and no cell. Of one problem, which takes memory for ``(d_0 d_L)²`` numbers
        or ``p²`` if these are fewer, ``"numeric"`` and ``"zero"``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, a Hessian beyond float64, or a loss
            that is not twice differentiable at an output.

    Source: anon2026data, eq. (5), which assumes nothing; eq. (9) and, for ``L = 2``, (15), (16) of
    pairs, whose indices end at the smallest width in print, which leaves the bulk out. The ``d_L``
    problems on any inputs, and other losses: this project.

    Example:
        >>> s = deep_linear([[[2.0, 0.0]], [[1.0]]], x=[[2.0, 0.0], [0.0, 2.0]], y=[[0.0, 0.0]])
        >>> s.eigenvalues  # X Xᵀ / n = 2 I; 2 (2² + 1²), 2 (0² + 1²)
        tensor([ 0.,  2., 10.], dtype=torch.float64)
        >>> s.labels
        ['zero', 'bulk 0,1', 'outlier 1,1']
        >>> raw = deep_linear([[[2.0, 0.0]], [[1.0]]], x=[[2.0, 0.0], [0.0, 4.0]], y=[[0.0, 0.0]])
        >>> raw.eigenvalues  # X Xᵀ / n = diag(2, 8); 2 (2² + 1²), 8 (0² + 1²)
        tensor([ 0.0000,  8.0000, 10.0000], dtype=torch.float64)
    """
    depth = len(matrices(weights))
    shapes = {"x": ("d_0", "n"), "y": (f"d_{depth}", "n")}
    *layers, x, y = read_layers(weights, shapes, x=x, y=y)
    of_inputs = exponent(x) or 0
    if loss is not None:
        _, curvatures = output_derivatives(loss, (end_to_end(layers) @ x).T, y.T)
        x = times_power_of_two(x, -of_inputs)
        moments = torch.einsum("nkl,an,bn->kalb", curvatures, x, x) / x.shape[1]
        return _of_any_loss(layers, moments.flatten(0, 1).flatten(1), 2 * of_inputs)
    x = times_power_of_two(x, -of_inputs)
    factor = torch.linalg.qr(x.T / x.shape[1] ** 0.5, mode="r").R.T  # (d_0, at most d_0)
    return _spectrum(layers, factor, x @ x.T / x.shape[1], 2 * of_inputs)


def deep_linear_from_moments(weights: Layers, second_moment: ArrayLike) -> Spectrum:
    """The spectrum of :func:`deep_linear` from the second moments of the inputs, without samples.

    Args:
        weights: the layers ``W_1, ..., W_L``, each ``(d_l, d_{l-1})``.
        second_moment: ``(d_0, d_0)``, ``X Xᵀ / n``.

    Returns:
        As :func:`deep_linear`.

    Raises:
        ValueError: as :func:`deep_linear`, or second moments that are not symmetric or have a
            negative eigenvalue.

    Source: this project.

    Example:
        >>> deep_linear_from_moments([[[2.0, 0.0]], [[1.0]]], [[2.0, 0.0], [0.0, 8.0]]).eigenvalues
        tensor([ 0.0000,  8.0000, 10.0000], dtype=torch.float64)
    """
    shapes = {"second_moment": ("d_0", "d_0")}
    *layers, moments = read_layers(weights, shapes, second_moment=second_moment)
    power = exponent(moments) or 0
    moments = times_power_of_two(moments, -power)
    return _spectrum(layers, factor_of(moments), moments, power)


def pair_eigenvalues(
    first: ArrayLike,
    last: ArrayLike,
    inputs: int,
    outputs: int,
    *,
    depth: int = 2,
    input_scale: ArrayLike = 1.0,
    index_set: Literal["corrected", "printed"] = "corrected",
) -> Spectrum:
    """The eigenvalues of :func:`deep_linear` that belong to pairs, from singular values alone.

    ``λ_ij = σ_x² Σ_l s_i^{2(l-1)} s_j^{2(L-l)}`` for ``i = 1, ..., d_0`` and ``j = 1, ..., d_L``:
    ``d_0 d_L`` eigenvalues, those of the matrix of eq. (5) on as many samples as inputs. No data
    and no matrix are needed, so that it can be followed through training at any width, also as an
    approximation where the layers are not balanced or the inputs not whitened.

    Args:
        first: ``(k_1,)`` singular values of ``W_1``, descending; ``k_1 <= d_0``.
        last: ``(k_2,)`` singular values of ``W_L``, descending; ``k_2 <= d_L``; the same as
            ``first``, but for zeros, in a balanced network.
        inputs: ``d_0``.
        outputs: ``d_L``.
        depth: ``L``.
        input_scale: ``σ_x``, with ``X Xᵀ / n = σ_x² I``.
        index_set: ``"corrected"`` fills both up with zeros to ``d_0`` and ``d_L``; ``"printed"``
            takes the pairs of the singular values given and no others, as eq. (9) does for the
            ``min(d_0, ..., d_L)`` common ones, and eq. (15) for those of each layer.

    Returns:
        The spectrum, without eigenvectors; kinds and cells as for :func:`deep_linear`.

    Raises:
        ValueError: bad shape or type, empty or not finite input, a negative singular value, values
            that do not descend, more of them than inputs or outputs, or eigenvalues beyond float64.

    Source: anon2026data, eq. (9), and eq. (15) for ``depth = 2``.

    Example:
        >>> pair_eigenvalues([2.0], [1.0], inputs=2, outputs=1).eigenvalues
        tensor([1., 5.], dtype=torch.float64)
        >>> pair_eigenvalues([2.0], [1.0], inputs=2, outputs=1, index_set="printed").eigenvalues
        tensor([5.], dtype=torch.float64)
    """
    shapes = {"first": "k", "last": "q", "input_scale": ""}
    s_1, s_2, sigma = read(shapes, first=first, last=last, input_scale=input_scale)
    if depth < 1:
        raise ValueError(f"depth: expected at least 1 layer, got {depth}")
    require_word("index_set", index_set, ("corrected", "printed"))
    for name, s, size in (("first", s_1, inputs), ("last", s_2, outputs)):
        if bool((s < 0).any()) or bool((s.diff() > 0).any()):
            raise ValueError(f"{name}: expected singular values, descending, got {s.tolist()[:5]}")
        if len(s) > size:
            raise ValueError(f"{name}: expected at most {size} singular values, got {len(s)}")
    if index_set == "printed":
        inputs, outputs = len(s_1), len(s_2)
    return spectrum_of_pairs(
        s_1[: rank_of(s_1, inputs)],
        s_2[: rank_of(s_2, outputs)],
        inputs=inputs,
        outputs=outputs,
        depth=depth,
        second_moment=sigma**2,
        null=0,
        method=f"closed form, anon2026data eq. ({15 if depth == 2 else 9}), {index_set} indices",
    )


@dataclass(frozen=True)
class _Network:
    """A linear network on inputs of which ``F Fᵀ`` are the second moments.

    Args:
        layers: ``W_1, ..., W_L``.
        factor: ``(d_0, r)`` ``F``.
    """

    layers: Sequence[Tensor]
    factor: Float[Tensor, "inputs r"]

    @cached_property
    def products(self) -> list[tuple[Tensor, Tensor]]:
        """``P_l F`` and ``S_l`` of each layer."""
        before, after = prefixes_and_suffixes(self.layers)
        return [(p @ self.factor, s) for p, s in zip(before, after, strict=True)]

    @property
    def parameters(self) -> int:
        """Number of parameters ``p``."""
        return sum(layer.numel() for layer in self.layers)

    @property
    def jacobian(self) -> Tensor:
        """Of the product of all layers times ``F``, ``(d_L r, p)``."""
        return torch.cat([_kron(s, p.T) for p, s in self.products], dim=1)

    @cached_property
    def output_directions(self) -> tuple[Tensor, Tensor] | None:
        """``u_j (d_L, d_L)`` in which all ``S_l S_lᵀ`` are diagonal, and ``‖S_lᵀu_j‖ (d_L, L)``.

        ``None`` where there are none up to rounding. Those of a generic sum are those of all.
        """
        after = [s for _, s in self.products]
        u = torch.eye(len(after[-1]), dtype=after[-1].dtype, device=after[-1].device)
        sizes = [torch.linalg.matrix_norm(s @ s.T).sqrt() for s in after]
        if len(after) > 1:
            # With weights that make sums alike by accident only.
            others = enumerate(zip(after[:-1], sizes[:-1], strict=True), start=1)
            generic = [s / (size or 1.0) / number**0.5 for number, (s, size) in others]
            triangle = torch.linalg.qr(torch.cat(generic, dim=1).T, mode="r").R
            u = torch.linalg.svd(triangle.T).U
        lengths = []
        for s, size in zip(after, sizes, strict=True):
            turned = u.T @ s
            gram = turned @ turned.T
            if torch.linalg.matrix_norm(gram - gram.diagonal().diag()) > ROUNDING * size**2:
                return None
            norms = torch.linalg.vector_norm(turned, dim=1)
            cut = max(s.shape) * torch.finfo(s.dtype).eps * size
            lengths.append(torch.where(norms > cut, norms, 0.0))
        lengths[-1] = torch.ones_like(lengths[-1])  # S_L = I
        return u, torch.stack(lengths, dim=1)

    def stacked(self, lengths: Sequence[float]) -> Tensor:
        """The ``‖S_lᵀu‖ P_l F``, one below the other: squared, the problem of ``u``."""
        return torch.cat([n * p for n, (p, _) in zip(lengths, self.products, strict=True)])


def factor_of(moments: Float[Tensor, "D D"]) -> Float[Tensor, "D r"]:
    """``F`` of full rank with ``F Fᵀ = S``, for second moments of entries of at most 1.

    Raises:
        ValueError: they are not symmetric, or have a negative eigenvalue.
    """
    asymmetry = float((moments - moments.T).abs().max())
    if asymmetry > 1e-8:
        raise ValueError(
            f"second_moment: expected a symmetric matrix, got one that differs by {asymmetry:.3g} "
            "of its size from its transpose"
        )
    values, vectors = torch.linalg.eigh(moments)
    if values[0] < -1e-8:
        raise ValueError(
            "second_moment: expected no negative eigenvalue, got "
            f"{float(values[0]):.3g} of its size"
        )
    rank = rank_of(values.flip(0), len(values))
    return vectors[:, len(values) - rank :] * values[len(values) - rank :].sqrt()


def _scaled(layers: Sequence[Tensor], factor: Tensor, power: int) -> tuple[_Network, int]:
    """The network with layers of entries of at most 1, and the power with what was taken out."""
    scale = exponent(*layers) or 0
    scaled = [times_power_of_two(layer, -scale) for layer in layers]
    return _Network(scaled, factor), power + 2 * scale * (len(layers) - 1)


def _spectrum(layers: Sequence[Tensor], factor: Tensor, moments: Tensor, power: int) -> Spectrum:
    """The spectrum by pairs, by problems of the size of the inputs, or by one of all.

    ``moments`` are ``factor`` times its transpose; eigenvalues are ``2**power`` times theirs.
    """
    network, power = _scaled(layers, factor, power)
    ends = _singular_values(network.layers) if off_identity(moments) <= ROUNDING else None
    if ends is not None:
        return _of_pairs(network, ends, moments.diagonal().mean(), power)
    if network.output_directions is not None:
        return _of_output_directions(network, *network.output_directions, power)
    return _of_all(network, power)


def _singular_values(layers: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
    """The positive singular values of the first and of the last layer, descending.

    ``None`` where they do not suffice, up to rounding: more than two layers, not balanced.
    """
    first, last = (torch.linalg.svd(layers[k], full_matrices=False).S for k in (0, -1))
    first = first[: rank_of(first, max(layers[0].shape))]
    if len(layers) == 2:
        return first, last[: rank_of(last, max(layers[1].shape))]
    narrowest = min(min(layer.shape) for layer in layers)
    return (first, first) if len(first) <= narrowest and unbalance(layers) <= ROUNDING else None


def _of_pairs(
    network: _Network, ends: tuple[Tensor, Tensor], second_moment: Tensor, power: int
) -> Spectrum:
    """White inputs, and two layers or balanced ones."""
    layers = network.layers
    inputs, outputs, depth = layers[0].shape[1], len(layers[-1]), len(layers)
    pairs = spectrum_of_pairs(
        *ends,
        inputs=inputs,
        outputs=outputs,
        depth=depth,
        second_moment=second_moment,
        null=network.parameters - inputs * outputs,
        method=f"closed form, anon2026data eq. ({15 if depth == 2 else 9})",
        power=power,
    )
    return replace(pairs, eigenbasis=partial(_basis_of_pairs, layers, ends, pairs))


def _basis_of_pairs(
    layers: Sequence[Tensor], ends: tuple[Tensor, Tensor], pairs: Spectrum
) -> Tensor:
    """The eigenvectors of the pairs by the theorem, in their order, and the rest of the space."""
    if len(layers) == 1:
        return torch.eye(layers[0].numel(), dtype=layers[0].dtype, device=layers[0].device)
    (first, last), products = map(len, ends), [*zip(*prefixes_and_suffixes(layers), strict=True)]
    u, v = torch.linalg.svd(layers[-1]).U, torch.linalg.svd(layers[0]).Vh.T
    both, of_first = (_columns(products, us, v[:, :first]) for us in (u[:, :last], u[:, last:]))
    of_last = _columns(products, u[:, :last], v[:, first:], "ji")
    return _completed([both, of_first, of_last], pairs)


def _columns(
    products: Sequence[tuple[Tensor, Tensor]], us: Tensor, vs: Tensor, order: str = "ij"
) -> Float[Tensor, "p columns"]:
    """``S_lᵀ u (P_l v)ᵀ`` of all pairs, the vectors that the order names first one by one."""
    parts = [torch.einsum(f"aj,bi->ab{order}", s.T @ us, p @ vs) for p, s in products]
    return torch.cat([part.flatten(0, 1).flatten(1) for part in parts])


def _completed(groups: Sequence[Tensor], spectrum: Spectrum) -> Tensor:
    """Orthonormal ones for the columns of all groups but the last, which has the rest."""
    columns = torch.cat(list(groups), dim=1)
    counts = torch.tensor(spectrum.multiplicities, device=columns.device)
    values = spectrum.values.repeat_interleave(counts)[: columns.shape[1]]
    # The largest first: what is left of the smallest beside them is orthogonal to them.
    order = values.argsort(descending=True, stable=True)
    vectors = torch.linalg.qr(columns[:, order], mode="complete").Q
    places = torch.cat([order, torch.arange(len(order), len(columns), device=columns.device)])
    return vectors[:, places.argsort()]


def _of_output_directions(
    network: _Network, u: Tensor, lengths: Float[Tensor, "outputs L"], power: int
) -> Spectrum:
    """A problem of the size of the inputs for each ``u_j``; directions alike share one."""
    alike: dict[tuple[float, ...], list[int]] = {}
    for direction, row in enumerate(lengths.tolist()):
        alike.setdefault(tuple(row), []).append(direction)
    values, multiplicities, kinds, cells = [], [], [], []
    for row, directions in alike.items():
        roots = torch.linalg.svdvals(stacked := network.stacked(row))
        roots = roots[: rank_of(roots, max(stacked.shape))]
        values.append(roots**2)
        multiplicities += [len(directions)] * len(roots)
        bulk = not any(row[:-1])
        kinds += ["bulk" if bulk else "outlier"] * len(roots)
        cell = "" if len(row) == 1 else "0" if bulk else str(directions[0] + 1)
        cells += [cell] * len(roots)
    spectrum = Spectrum(
        values=finite(times_power_of_two(torch.cat([*values, u.new_zeros(1)]), power)),
        multiplicities=[*multiplicities, network.parameters - sum(multiplicities)],
        kinds=[*kinds, "zero"],
        cells=[*cells, ""],
        method="closed form, anon2026data eq. (5), one problem for each output",
    )

    def eigenbasis() -> Tensor:
        columns = [u.new_zeros(network.parameters, 0)]
        for row, directions in alike.items():
            _, roots, right = torch.linalg.svd(stacked := network.stacked(row), full_matrices=False)
            right = right[: rank_of(roots, max(stacked.shape))].T
            columns.append(_columns(network.products, u[:, directions], right))
        return _completed(columns, spectrum)

    return replace(spectrum, eigenbasis=eigenbasis)


def _of_all(network: _Network, power: int) -> Spectrum:
    """Eq. (5) as it is, or the Gauss-Newton matrix itself where that is smaller."""

    def eigenbasis() -> Tensor:
        right = torch.linalg.svd(network.jacobian).Vh
        return torch.cat([right[:size].flip(0), right[size:]]).T

    (p_1, s_1), *_ = network.products
    size = min(network.parameters, p_1.shape[1] * len(s_1))
    if size < network.parameters:
        matrix = p_1.new_zeros(size, size)
        for p, s in network.products:
            matrix += _kron(s @ s.T, p.T @ p)
    else:
        jacobian = network.jacobian
        matrix = jacobian.T @ jacobian
    # A Gauss-Newton matrix has no negative eigenvalues; those of rounding are zeros.
    values = torch.linalg.eigvalsh(matrix).clamp(min=0)
    return _numeric(values, network.parameters, power, eigenbasis)


def _of_any_loss(layers: Sequence[Tensor], moments: Float[Tensor, "k k"], power: int) -> Spectrum:
    """``Jᵀ M J`` for any symmetric ``M``, the moments, and ``J``, of the product by all layers."""
    inputs = torch.eye(layers[0].shape[1], dtype=moments.dtype, device=moments.device)
    network, power = _scaled(layers, inputs, power)
    jacobian = network.jacobian
    triangle = torch.linalg.qr(jacobian.T, mode="r").R
    values = torch.linalg.eigvalsh(finite(triangle @ moments @ triangle.T))

    def eigenbasis() -> Tensor:
        complete = torch.linalg.qr(jacobian.T, mode="complete")
        rows = complete.R[: len(values)]
        small = torch.linalg.eigh(rows @ moments @ rows.T).eigenvectors
        beside = complete.Q[:, len(values) :]
        return torch.cat([complete.Q[:, : len(values)] @ small, beside], dim=1)

    return _numeric(values, network.parameters, power, eigenbasis)


def _numeric(
    values: Tensor, parameters: int, power: int, eigenbasis: Callable[[], Tensor]
) -> Spectrum:
    """The eigenvalues of one problem, scaled, and zeros for all other parameters."""
    return Spectrum(
        values=finite(times_power_of_two(torch.cat([values, values.new_zeros(1)]), power)),
        multiplicities=[1] * len(values) + [parameters - len(values)],
        kinds=["numeric"] * len(values) + ["zero"],
        cells=[""] * (len(values) + 1),
        method="closed form, anon2026data eq. (5)",
        eigenbasis=eigenbasis,
    )


def _kron(left: Tensor, right: Tensor) -> Tensor:
    """The Kronecker product; torch's own takes no transposed matrices."""
    return torch.einsum("ij,kl->ikjl", left, right).flatten(0, 1).flatten(1)
