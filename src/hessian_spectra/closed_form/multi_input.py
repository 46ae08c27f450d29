"""Several inputs, each with layers of its own: singh2026cracking, Corollary B.1."""

import torch
from torch import Tensor

from hessian_spectra.closed_form._blocks import Block, blocks_of_rows, spectrum_of_blocks
from hessian_spectra.closed_form._inputs import (
    ArrayLike,
    finite,
    normalise,
    read,
    times_power_of_two,
)
from hessian_spectra.closed_form._reduction import Reduction
from hessian_spectra.closed_form.assumptions import ROUNDING
from hessian_spectra.spectrum import Spectrum


def multi_input(w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike) -> Spectrum:
    """Hessian spectrum of ``f(x) = Σ_d ⟨w_d, v_d⟩ x_d`` under ``1/(2n) Σ (f(x_i) - y_i)²``.

    With ``Σ = mean(x xᵀ)``, ``α_d = ⟨w_d, v_d⟩`` and ``δx_d = mean(x_d (f(x) - y))`` the bulk is
    ``±δx_d``, each ``m - 1`` times. For decorrelated inputs (``Σ`` diagonal) the Hessian is the
    direct sum over ``d`` of two-layer linear blocks, with the outliers
    ``Λ_{1,2}(‖w_d‖², ‖v_d‖², α_d, Σ_dd, δx_d)``. For correlated inputs the bulk stays as it is, and
    the ``2D`` outliers are the eigenvalues of

        ``diag(δx_d, -δx_d) + [Σ_de u_d u_eᵀ]``,  ``u_d = (‖w_d + v_d‖, ‖w_d - v_d‖)/√2``.

    With ``m = 1`` this is the diagonal linear network, and all eigenvalues are outliers.

    Args:
        w: ``(D, m)`` second layers, one row for each coordinate of the input.
        v: ``(D, m)`` first layers.
        x: ``(n, D)`` inputs, correlated or not.
        y: ``(n,)`` targets.

    Returns:
        The spectrum in the parameter order ``(v_1, w_1, v_2, w_2, ...)``; kinds ``"outlier"`` and
        ``"bulk"``. The cell is the coordinate ``"0"``, ``"1"``, ...; outliers of correlated inputs
        belong to all coordinates at once, and their cell is ``""``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, or a Hessian beyond float64.

    Source: singh2026cracking, Corollary B.1 (eq. 112, 113); the correlated case is an extension.

    Example:
        >>> s = multi_input(w=[[1.0], [1.0]], v=[[1.0], [1.0]], x=[[1.0, 1.0]], y=[2.0])
        >>> [round(value, 12) + 0.0 for value in s.eigenvalues.tolist()]  # perfect fit: rank one
        [0.0, 0.0, 0.0, 4.0]
    """
    w, v, x, y = read({"w": "Dm", "v": "Dm", "x": "nD", "y": "n"}, w=w, v=v, x=x, y=y)
    (w, v), x, y, power = normalise([w, v], x, y)
    moments = x.T @ x / len(x)
    covariance = x.T @ (x @ (w * v).sum(-1) - y) / len(x)
    blocks = blocks_of_rows(w, v, moments.diagonal(), covariance)
    if _is_diagonal(moments):
        return spectrum_of_blocks(blocks, power, "closed form, Corollary B.1")
    return _correlated(blocks, moments, power)


def _is_diagonal(moments: Tensor) -> bool:
    scale = moments.diagonal().sqrt()
    correlation = moments - torch.diag(moments.diagonal())
    return bool((correlation.abs() <= ROUNDING * scale[:, None] * scale).all())


def _correlated(blocks: list[Block], moments: Tensor, power: int) -> Spectrum:
    """The spectrum with outliers that are coupled by the second moments of the inputs."""
    m = len(blocks[0].w)
    sectors = [part for d, block in enumerate(blocks) for part in block.sectors(d, 2 * m * d)]
    reduction = Reduction(sectors, moments)
    outliers = reduction.outlier_values()
    bulk = torch.stack([sector.value for sector in sectors])
    return Spectrum(
        values=finite(times_power_of_two(torch.cat([outliers, bulk]), power)),
        multiplicities=[1] * len(outliers) + [m - 1] * len(bulk),
        kinds=["outlier"] * len(outliers) + ["bulk"] * len(bulk),
        cells=[""] * len(outliers) + [b.cell for b in blocks for _ in range(2)],
        method="closed form, Corollary B.1 with correlated inputs",
        eigenbasis=reduction.eigenbasis,
    )
