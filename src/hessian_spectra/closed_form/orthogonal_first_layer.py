"""A first layer with orthogonal columns, any number of inputs: the general form of Theorem B.1."""

from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._blocks import pair_from_numbers
from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, is_double, read
from hessian_spectra.closed_form._layers import off_identity
from hessian_spectra.closed_form._losses import Loss
from hessian_spectra.closed_form._network import Network, triple_matrix
from hessian_spectra.closed_form.assumptions import Assumption, require, tolerance_of
from hessian_spectra.spectrum import Spectrum

_SOURCE = "The orthogonal first layer (conjectured in singh2026cracking, Section 4.1)"


def orthogonal_first_layer(
    w: ArrayLike,
    V: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    loss: Loss | None = None,
    check: bool = True,
) -> Spectrum:
    """Hessian spectrum of ``f(x) = wᵀ V x`` under the loss ``1/(2n) Σ (f(x_i) - y_i)²``.

    For ``VᵀV = ν² I``, ``mean(x xᵀ) = I`` and ``mean(y x) = 0``, with ``ρ = ‖Vᵀw‖`` and
    ``S = ν² + ‖w‖² = tr(H)/D``, the ``m (D + 1)`` eigenvalues are

    * the pair ``S/2 ± √(S²/4 + 3ρ²)``, whose sum is ``tr(H)/D``;
    * the triple of roots of ``λ³ - S λ² - ρ² λ + ρ² ‖w‖²``, each ``D - 1`` times;
    * the bulk ``±ρ``, each ``m - D`` times;
    * 0, ``(D - 1)(m - 1)`` times.

    ``D = 1`` is Theorem 3.1 and ``D = 2`` Theorem B.1 with the constant as the second input. The
    targets may also be correlated with the inputs along ``mean(x f)``: see :func:`pair_and_triple`.

    For another loss ``r = mean(l' x)`` and ``S = mean(l'' x xᵀ)`` take the places of ``mean(x (f -
    y))`` and ``mean(x xᵀ)``, and nothing is assumed: the outliers are the eigenvalues of the small
    matrix below. Where ``VᵀV = ν² I``, ``Vᵀw`` is parallel to ``r``, ``S r = s_1 r`` and ``S`` is
    ``s`` times the identity beside that, they still are a pair, of ``s_1``, and ``D - 1`` equal
    triples, of ``s``. Whitened inputs do not give that; normal ones of which the targets depend
    through ``f`` alone do.

    Sketch of the proof: turn the inputs so that the residual covariance points along the first one.
    Then ``w`` is orthogonal to all columns of ``V`` but the first; the first input with ``w`` is a
    two-layer network with scalar input, which gives the pair and one each of ``±ρ``; every other
    input ``d`` couples ``V_d`` in the places of ``w`` and of the first column to ``w`` in the place
    of column ``d``: three dimensions, the triple.

    Args:
        w: ``(m,)`` second layer.
        V: ``(m, D)`` first layer.
        x: ``(n, D)`` whitened inputs.
        y: ``(n,)`` targets.
        loss: any of one output and one target, twice differentiable at the outputs; its mean over
            the samples takes the place of half the squared error, the default.
        check: whether to refuse inputs that break the assumptions under the squared error. The
            eigenvalues are exact without them, too: they then come from a symmetric matrix of size
            ``3D - 1`` at most, and the pair and the triple are no longer told apart.

    Returns:
        The spectrum in the parameter order ``(V, w)``, ``V`` row by row; kinds ``"outlier"`` (cells
        ``"pair"``, ``"triple"`` or ``""``), ``"bulk"`` and ``"zero"``.

    Raises:
        AssumptionError: an assumption is violated by more than 1e-8 (float32: 1e-4).
        ValueError: bad shape or type, empty or not finite data, a Hessian beyond float64, or a loss
            that is not twice differentiable at an output.

    Source: settles the conjectures of singh2024closed, Section 3, and singh2026cracking, Section
    4.1. Other losses are this project's.

    Example:
        >>> V, x = [[1.0], [0.0]], [[1.0], [-1.0]]
        >>> s = orthogonal_first_layer(w=[1.0, 1.0], V=V, x=x, y=[0.0, 0.0])
        >>> round(float(s.select("outlier", "pair").sum()), 12)  # tr(H)/D with D = 1
        3.0
        >>> s.select("bulk")
        tensor([-1.,  1.], dtype=torch.float64)
    """
    exact = is_double(w, V, x, y)
    w, V, x, y = read({"w": "m", "V": "mD", "x": "nD", "y": "n"}, w=w, V=V, x=x, y=y)
    if check and loss is None:
        require(_assumptions(V, x, y, tolerance_of(exact)), _SOURCE)
    network = Network.of(w, V, x, y, loss=loss)
    return network.spectrum("closed form, orthogonal first layer", _first_layer_by_rows)


class PairAndTriple(NamedTuple):
    """The two sets of outliers of a network with an orthogonal first layer.

    Attributes:
        pair: ``(..., 2)`` descending; each occurs once.
        triple: ``(..., 3)`` descending; each occurs ``D - 1`` times.
    """

    pair: Tensor
    triple: Tensor


def pair_and_triple(
    squared_norm_w: ArrayLike, squared_norm_v: ArrayLike, alignment: ArrayLike, residual: ArrayLike
) -> PairAndTriple:
    """The outliers of a network with an orthogonal first layer, or bias, from four numbers.

    With ``S = ν² + ‖w‖²`` the pair is ``S/2 ± √(S²/4 + ρ² + 2ρC)`` and the triple consists of the
    roots of ``λ³ - S λ² - ρ² λ + ρ² ‖w‖²``. For targets uncorrelated with the inputs ``ρ = C``: the
    pair is then ``S/2 ± √(S²/4 + 3ρ²)``, eq. (68).

    Args:
        squared_norm_w: ``‖w‖²``; any shapes that broadcast together.
        squared_norm_v: ``ν²``, the squared norm of each column of the first layer (``‖v‖² =
            ‖b‖²``).
        alignment: ``C = ‖Vᵀw‖``; with bias, ``√(⟨w, v⟩² + ⟨w, b⟩²)``.
        residual: ``ρ``, the residual covariance along ``Vᵀw/C``, with its sign.

    Returns:
        The pair and the triple.

    Raises:
        ValueError: a negative square, ``|C| > ν‖w‖``, shapes that do not broadcast, or numbers that
            are not finite.

    Source: singh2026cracking, Theorem B.1, eq. (68) and (105) to (110).

    Example:
        >>> pair, triple = pair_and_triple(1.0, 1.0, 1.0, 1.0)
        >>> pair
        tensor([ 3., -1.], dtype=torch.float64)
        >>> round(float(triple.sum()), 12)  # S
        2.0
    """
    w2, v2, c, rho = broadcast(
        squared_norm_w=squared_norm_w,
        squared_norm_v=squared_norm_v,
        alignment=alignment,
        residual=residual,
    )
    pair = pair_from_numbers(w2, v2, c, torch.ones_like(c), rho, inner_name="alignment")
    triple = torch.linalg.eigvalsh(triple_matrix(w2, v2, rho))
    return PairAndTriple(pair, triple.flip(-1))


def _assumptions(V: Tensor, x: Tensor, y: Tensor, tolerance: float) -> list[Assumption]:
    """The first layer has orthogonal columns of one norm, and the data is whitened."""
    identity = torch.eye(V.shape[1], dtype=V.dtype, device=V.device)
    violation = float((x.T @ x / len(x) - identity).abs().max())
    whitened = Assumption("mean(x xᵀ) = I", violation, tolerance, "whiten x (mean(x xᵀ) = I)")
    return [orthogonal_columns(V, tolerance), whitened, uncorrelated(x, y, tolerance)]


def orthogonal_columns(V: Tensor, tolerance: float) -> Assumption:
    """The columns are orthogonal and of one norm."""
    V = V / V.abs().max().clamp(min=torch.finfo(V.dtype).tiny)
    advice = "take V from a QR factorisation"
    return Assumption("VᵀV = c I", off_identity(V.T @ V), tolerance, advice)


def uncorrelated(x: Tensor, y: Tensor, tolerance: float) -> Assumption:
    """The targets are uncorrelated with inputs of unit size."""
    y = y / y.abs().max().clamp(min=torch.finfo(y.dtype).tiny)
    size = y.square().mean().sqrt().clamp(min=torch.finfo(y.dtype).tiny)
    violation = float((x.T @ y / len(y)).abs().max() / size)
    advice = "project the targets off the inputs"
    return Assumption("mean(y x) = 0", violation, tolerance, advice)


def _first_layer_by_rows(slots: Tensor) -> Tensor:
    """Vectors ``(V_1, ..., V_D, w)``, ``(D + 1, m, p)``, with ``V`` row by row, then ``w``."""
    inputs = len(slots) - 1
    return torch.cat([slots[:inputs].transpose(0, 1).flatten(0, 1), slots[inputs]])
