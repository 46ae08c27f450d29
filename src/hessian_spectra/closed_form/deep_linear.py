"""Deep linear networks on whitened inputs: anon2026data, Sections 2 and 3, Appendix B."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import (
    ArrayLike,
    exponent,
    finite,
    is_double,
    read,
    times_power_of_two,
)
from hessian_spectra.closed_form._layers import (
    Layers,
    matrices,
    off_identity,
    prefixes_and_suffixes,
    read_layers,
    unbalance,
    whitened,
)
from hessian_spectra.closed_form._pairs import rank_of, spectrum_of_pairs
from hessian_spectra.closed_form.assumptions import (
    ROUNDING,
    Assumption,
    require,
    tolerance_of,
)
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import require_word


def deep_linear(weights: Layers, x: ArrayLike, y: ArrayLike, *, check: bool = True) -> Spectrum:
    """Gauss-Newton spectrum of ``f(x) = W_L ... W_1 x`` under ``1/(2n) Σ_i ‖f(x_i) - y_i‖²``.

    Where the loss is zero, or merely ``(f(X) - Y) Xᵀ = 0``, it is the spectrum of the Hessian. For
    ``X Xᵀ / n = σ_x² I`` and balanced layers, ``W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}`` (not needed for ``L =
    2``), the pair of the singular values ``s_i`` of ``W_1`` and ``s_j`` of ``W_L`` has the
    eigenvalue

        ``λ_ij = σ_x² Σ_l s_i^{2(l-1)} s_j^{2(L-l)}``,   ``0⁰ = 1``,

    for ``i = 1, ..., d_0`` and ``j = 1, ..., d_L``: singular values beyond the size of a layer
    count as 0. All others of the ``p = Σ d_l d_{l-1}`` eigenvalues are 0. For ``L >= 2``, with
    ``r_1`` and ``r_2`` the ranks of ``W_1`` and ``W_L`` (equal in a balanced network),

    * ``r_1 r_2`` eigenvalues belong to two positive singular values: the outliers;
    * ``s_i^{2(L-1)} σ_x²`` occurs ``d_L - r_2`` times and ``s_j^{2(L-1)} σ_x²`` ``d_0 - r_1``
      times: the bulk;
    * ``d_0 d_L - (d_0 - r_1)(d_L - r_2)`` eigenvalues are positive, all in all.

    For ``L = 1`` every eigenvalue is ``σ_x²``. The eigenvector of a pair has in layer ``l`` the
    matrix ``(W_L ... W_{l+1})ᵀ u_j (W_{l-1} ... W_1 v_i)ᵀ``, with ``v_i`` a right singular vector
    of ``W_1`` and ``u_j`` a left one of ``W_L``.

    Args:
        weights: the layers ``W_1, ..., W_L``, each ``(d_l, d_{l-1})``.
        x: ``(d_0, n)`` inputs, one sample a column.
        y: ``(d_L, n)`` targets. The Gauss-Newton matrix does not depend on them.
        check: whether to refuse inputs that break the assumptions. The eigenvalues are exact
            without them, too: they then come from the matrix of eq. (5), reduced to ``d_0 d_L``
            rows, or from the Gauss-Newton matrix itself where that is smaller, and what they
            belong to is no longer told. That takes memory for ``(d_0 d_L)²`` numbers; for an
            approximation at any size see :func:`pair_eigenvalues`.

    Returns:
        The spectrum in the parameter order ``(W_1, ..., W_L)``, each layer row by row. Kinds
        ``"outlier"`` with cell ``"i,j"``, ``"bulk"`` with cell ``"i,0"`` or ``"0,j"`` (the 0 stands
        for all singular values that are 0), and ``"zero"``; for ``L = 1`` only ``"bulk"``. Where
        the assumptions do not hold up to rounding, ``"numeric"`` and ``"zero"``.

    Raises:
        AssumptionError: an assumption is violated by more than 1e-8 (float32: 1e-4).
        ValueError: bad shape or type, empty or not finite data, or a Hessian beyond float64.

    Source: anon2026data, eq. (8), (9) and, for ``L = 2``, (15), (16). In print the indices end at
    the smallest width, at ``min(d_0, d_1)`` and at ``min(d_1, d_2)``, which leaves the bulk out.

    Example:
        >>> s = deep_linear([[[2.0, 0.0]], [[1.0]]], x=[[2.0, 0.0], [0.0, 2.0]], y=[[0.0, 0.0]])
        >>> s.eigenvalues  # X Xᵀ / n = 2 I; 2 (2² + 1²), 2 (0² + 1²)
        tensor([ 0.,  2., 10.], dtype=torch.float64)
        >>> s.labels
        ['zero', 'bulk 0,1', 'outlier 1,1']
    """
    given = matrices(weights)
    exact = is_double(*given.values(), x, y)
    depth = len(given)
    shapes = {"x": ("d_0", "n"), "y": (f"d_{depth}", "n")}
    *layers, x, _ = read_layers(weights, shapes, x=x, y=y)
    scale, of_inputs = exponent(*layers) or 0, exponent(x) or 0
    layers = [times_power_of_two(layer, -scale) for layer in layers]
    x = times_power_of_two(x, -of_inputs)
    power = 2 * (scale * (depth - 1) + of_inputs)
    moments = x @ x.T / x.shape[1]
    if check:
        equation = 15 if depth == 2 else 9
        source = f"The spectrum of a deep linear network (anon2026data, eq. {equation})"
        require(whitened_and_balanced(layers, moments, tolerance_of(exact)), source)
    samples = torch.linalg.qr(x.T / x.shape[1] ** 0.5, mode="r").R.T  # (d_0, at most d_0)
    before, after = prefixes_and_suffixes(layers)
    factors = [(samples.T @ p.T, s) for p, s in zip(before, after, strict=True)]
    ends = _singular_values(layers) if off_identity(moments) <= ROUNDING else None
    if ends is None:
        return _reduced_spectrum(factors, power)
    outputs, inputs = len(layers[-1]), len(x)
    pairs = spectrum_of_pairs(
        *ends,
        inputs=inputs,
        outputs=outputs,
        depth=depth,
        second_moment=moments.diagonal().mean(),
        null=sum(layer.numel() for layer in layers) - inputs * outputs,
        method=f"closed form, anon2026data eq. ({15 if depth == 2 else 9})",
        power=power,
    )
    return replace(pairs, eigenbasis=partial(_eigenbasis, layers, ends, pairs))


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


def whitened_and_balanced(
    layers: Sequence[Tensor], moments: Tensor, tolerance: float
) -> list[Assumption]:
    """The inputs are whitened, and more than two layers balanced."""
    assumptions = [whitened(moments, tolerance)]
    if len(layers) > 2:
        advice = "start from balanced weights and small steps"
        formula = "W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}"
        assumptions.append(Assumption(formula, unbalance(layers), tolerance, advice))
    return assumptions


def _singular_values(layers: Sequence[Tensor]) -> tuple[Tensor, Tensor] | None:
    """The positive singular values of the first and of the last layer, descending.

    ``None`` where the theorem does not hold up to rounding: more than two layers, not balanced.
    """
    first, last = (torch.linalg.svd(layers[k], full_matrices=False).S for k in (0, -1))
    first = first[: rank_of(first, max(layers[0].shape))]
    if len(layers) == 2:
        return first, last[: rank_of(last, max(layers[1].shape))]
    narrowest = min(min(layer.shape) for layer in layers)
    return (first, first) if len(first) <= narrowest and unbalance(layers) <= ROUNDING else None


def _eigenbasis(layers: Sequence[Tensor], ends: tuple[Tensor, Tensor], pairs: Spectrum) -> Tensor:
    """The eigenvectors of the pairs by the theorem, in their order, and the rest of the space."""
    parameters = sum(layer.numel() for layer in layers)
    if len(layers) == 1:
        return torch.eye(parameters, dtype=layers[0].dtype, device=layers[0].device)
    (first, last), products = map(len, ends), prefixes_and_suffixes(layers)
    u, v = torch.linalg.svd(layers[-1]).U, torch.linalg.svd(layers[0]).Vh.T

    def of(us: Tensor, vs: Tensor, order: str = "ij") -> Tensor:
        """The columns of all pairs of some, the vectors that the order names first one by one."""
        layered = zip(*products, strict=True)
        parts = [torch.einsum(f"aj,bi->ab{order}", s.T @ us, p @ vs) for p, s in layered]
        return torch.cat([part.flatten(0, 1).flatten(1) for part in parts])

    both, of_first = of(u[:, :last], v[:, :first]), of(u[:, last:], v[:, :first])
    columns = torch.cat([both, of_first, of(u[:, :last], v[:, first:], "ji")], dim=1)
    # The largest first: what is left of the smallest beside them is orthogonal to them.
    counts = torch.tensor(pairs.multiplicities, device=u.device)
    values = pairs.values.repeat_interleave(counts)[: columns.shape[1]]
    order = values.argsort(descending=True, stable=True)
    vectors = torch.linalg.qr(columns[:, order], mode="complete").Q
    places = torch.cat([order, torch.arange(len(order), parameters, device=u.device)])
    return vectors[:, places.argsort()]


def _reduced_spectrum(factors: Sequence[tuple[Tensor, Tensor]], power: int) -> Spectrum:
    """Eq. (5), which assumes nothing, on ``d_0`` samples with the second moments of all ``n``."""

    def jacobian() -> Tensor:
        return torch.cat([_kron(s, p) for p, s in factors], dim=1)  # (d_L d_0, p)

    def eigenbasis() -> Tensor:
        right = torch.linalg.svd(jacobian()).Vh
        return torch.cat([right[:size].flip(0), right[size:]]).T

    (p_1, s_1), *_ = factors
    parameters = sum(p.shape[1] * s.shape[1] for p, s in factors)
    size = min(parameters, len(p_1) * len(s_1))
    if size < parameters:
        matrix = p_1.new_zeros(size, size)
        for p, s in factors:
            matrix += _kron(s @ s.T, p @ p.T)
    else:
        matrix = jacobian().T @ jacobian()
    # A Gauss-Newton matrix has no negative eigenvalues; those of rounding are zeros.
    values = torch.linalg.eigvalsh(matrix).clamp(min=0)
    return Spectrum(
        values=finite(times_power_of_two(torch.cat([values, values.new_zeros(1)]), power)),
        multiplicities=[1] * size + [parameters - size],
        kinds=["numeric"] * size + ["zero"],
        cells=[""] * (size + 1),
        method="closed form, anon2026data eq. (5)",
        eigenbasis=eigenbasis,
    )


def _kron(left: Tensor, right: Tensor) -> Tensor:
    """The Kronecker product; torch's own takes no transposed matrices."""
    return torch.kron(left.contiguous(), right.contiguous())
