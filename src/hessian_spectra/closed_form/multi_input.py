"""Several inputs, each with layers of its own: singh2026cracking, Corollary B.1."""

from collections.abc import Sequence

from torch import Tensor

from hessian_spectra.closed_form._blocks import blocks_of_rows, spectrum_of_coupled_blocks
from hessian_spectra.closed_form._inputs import ArrayLike, read
from hessian_spectra.closed_form._losses import Loss, scaled
from hessian_spectra.spectrum import Spectrum


def multi_input(
    w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike, *, loss: Loss | None = None
) -> Spectrum:
    """Hessian spectrum of ``f(x) = Σ_d ⟨w_d, v_d⟩ x_d`` under ``1/(2n) Σ (f(x_i) - y_i)²``.

    With ``Σ = mean(x xᵀ)``, ``α_d = ⟨w_d, v_d⟩`` and ``δx_d = mean(x_d (f(x) - y))`` the bulk is
    ``±δx_d``, each ``m - 1`` times. For decorrelated inputs (``Σ`` diagonal) the Hessian is the
    direct sum over ``d`` of two-layer linear blocks, with the outliers
    ``Λ_{1,2}(‖w_d‖², ‖v_d‖², α_d, Σ_dd, δx_d)``. For correlated inputs the bulk stays as it is, and
    the ``2D`` outliers are the eigenvalues of

        ``diag(δx_d, -δx_d) + [Σ_de u_d u_eᵀ]``,  ``u_d = (‖w_d + v_d‖, ‖w_d - v_d‖)/√2``.

    With ``m = 1`` this is the diagonal linear network, and all eigenvalues are outliers.

    For another loss ``δx_d = mean(l' x_d)`` and ``Σ = mean(l'' x xᵀ)``. The outliers are then
    coupled even where the inputs are independent, since ``l''`` depends on all of them. Heads whose
    outputs are added are the case of equal inputs.

    Args:
        w: ``(D, m)`` second layers, one row for each coordinate of the input.
        v: ``(D, m)`` first layers.
        x: ``(n, D)`` inputs, correlated or not.
        y: ``(n,)`` targets.
        loss: any of one output and one target, twice differentiable at the outputs; its mean over
            the samples takes the place of half the squared error, the default.

    Returns:
        The spectrum in the parameter order ``(v_1, w_1, v_2, w_2, ...)``; kinds ``"outlier"`` and
        ``"bulk"``. The cell is the coordinate ``"0"``, ``"1"``, ...; outliers of correlated inputs
        belong to all coordinates at once, and their cell is ``""``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, a Hessian beyond float64, or a loss
            that is not twice differentiable at an output.

    Source: singh2026cracking, Corollary B.1 (eq. 112, 113); correlated inputs and other losses are
    extensions, this project's.

    Example:
        >>> s = multi_input(w=[[1.0], [1.0]], v=[[1.0], [1.0]], x=[[1.0, 1.0]], y=[2.0])
        >>> [round(value, 12) + 0.0 for value in s.eigenvalues.tolist()]  # perfect fit: rank one
        [0.0, 0.0, 0.0, 4.0]
    """
    w, v, x, y = read({"w": "Dm", "v": "Dm", "x": "nD", "y": "n"}, w=w, v=v, x=x, y=y)
    (w, v), x, slopes, curvatures, power = scaled(loss, _outputs, [w, v], x, y)
    weighted = curvatures[:, None] * x
    moments = x.T @ weighted / len(x)
    blocks = blocks_of_rows(w, v, moments.diagonal(), x.T @ slopes / len(x))
    sizes, method = (weighted * x).abs().mean(0).sqrt(), "closed form, Corollary B.1"
    methods = method, f"{method} with coupled outliers"
    return spectrum_of_coupled_blocks(blocks, moments, sizes, power, methods)


def _outputs(layers: Sequence[Tensor], x: Tensor) -> Tensor:
    return x @ (layers[0] * layers[1]).sum(-1)
