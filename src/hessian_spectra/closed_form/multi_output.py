"""Separate heads for several outputs: singh2026cracking, Corollaries B.2 and B.3."""

from hessian_spectra.closed_form._blocks import blocks_of_rows, spectrum_of_blocks
from hessian_spectra.closed_form._inputs import ArrayLike, normalise, read
from hessian_spectra.spectrum import Spectrum


def multi_output(w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike) -> Spectrum:
    """Hessian spectrum of ``f_k(x) = ⟨w_k, v_k⟩ x`` under ``1/(2n) Σ_i Σ_k (f_k(x_i) - y_ik)²``.

    The Hessian is the direct sum over the heads ``k`` of two-layer linear blocks with the common
    ``σ² = mean(x²)`` and with ``δx_k = mean(x (f_k(x) - y_k))``: the bulk ``±δx_k``, each ``m - 1``
    times, and the outliers ``Λ_{1,2}(‖w_k‖², ‖v_k‖², ⟨w_k, v_k⟩, σ², δx_k)``.

    Args:
        w: ``(K, m)`` second layers, one row for each head.
        v: ``(K, m)`` first layers.
        x: ``(n,)`` inputs.
        y: ``(n, K)`` targets.

    Returns:
        The spectrum in the parameter order ``(v_1, w_1, v_2, w_2, ...)``; kinds ``"outlier"`` and
        ``"bulk"``, the cell is the head's index ``"0"``, ``"1"``, ....

    Raises:
        ValueError: bad shape or type, empty or not finite data, or a Hessian beyond float64.

    Source: singh2026cracking, Corollaries B.2 (eq. 117, 118) and B.3 (eq. 119).

    Example:
        >>> s = multi_output(w=[[1.0], [2.0]], v=[[1.0], [0.0]], x=[1.0], y=[[1.0, 0.0]])
        >>> s.eigenvalues
        tensor([0., 0., 2., 4.], dtype=torch.float64)
        >>> s.select("outlier", cell="1")
        tensor([0., 4.], dtype=torch.float64)
    """
    shapes = {"w": "Km", "v": "Km", "x": "n", "y": "nK"}
    w, v, x, y = read(shapes, w=w, v=v, x=x, y=y)
    (w, v), x, y, power = normalise([w, v], x, y)
    second_moments = (x * x).mean().expand(len(w))
    residual = x[:, None] * (w * v).sum(-1) - y  # (n, K)
    covariance = x @ residual / len(x)
    blocks = blocks_of_rows(w, v, second_moments, covariance)
    return spectrum_of_blocks(blocks, power, "closed form, Corollary B.2")
