"""The two-layer linear network with scalar input: singh2026cracking, Theorems 3.1, 3.2 and 3.3."""

from torch import Tensor

from hessian_spectra.closed_form._blocks import Block, pair_from_numbers, spectrum_of_blocks
from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, normalise, read, require_all
from hessian_spectra.spectrum import Spectrum


def two_layer_linear(w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike) -> Spectrum:
    """Hessian spectrum of ``f(x) = ⟨w, v⟩ x`` under the loss ``1/(2n) Σ (f(x_i) - y_i)²``.

    With ``σ² = mean(x²)`` and ``δx = mean(x (f(x) - y))`` the ``2m`` eigenvalues are ``+δx`` and
    ``-δx``, each ``m - 1`` times (the bulk), and the two outliers

        ``Λ_{1,2} = T/2 ± √( (δx + σ²⟨w, v⟩)² + σ⁴ ‖w + v‖² ‖w - v‖² / 4 )``

    with ``T = σ²(‖w‖² + ‖v‖²)``, which is eq. (2) of the paper, rewritten so that it does not
    cancel. The larger outlier bounds every eigenvalue; the smaller lies between ``-|δx|`` and
    ``|δx|``, within the bulk. The eigenvectors follow Theorems 3.2 and 3.3, with the sign in 3.3
    taken as ``λ_bulk / δx``, and hold for ``w = ±v``, ``δx = 0`` and vanishing layers as well.

    Args:
        w: ``(m,)`` second layer.
        v: ``(m,)`` first layer.
        x: ``(n,)`` inputs, in any unit; the eigenvalues come in units of the loss per squared
            weight.
        y: ``(n,)`` targets.

    Returns:
        The spectrum in the parameter order ``(v, w)``; kinds ``"outlier"`` and ``"bulk"``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, or a Hessian beyond float64.

    Source: singh2026cracking, Theorems 3.1 to 3.3, eq. (1), (2); singh2024closed, Theorems 1 to 3.

    Example:
        >>> s = two_layer_linear(w=[1.0, 0.0], v=[1.0, 0.0], x=[1.0], y=[0.0])
        >>> s.eigenvalues
        tensor([-1., -1.,  1.,  3.], dtype=torch.float64)
        >>> s.select("outlier")
        tensor([-1.,  3.], dtype=torch.float64)
    """
    shapes = {"w": "m", "v": "m", "x": "n", "y": "n"}
    w, v, x, y = read(shapes, w=w, v=v, x=x, y=y)
    m = len(w)
    (w, v), x, y, power = normalise([w, v], x, y)
    residual = (w @ v) * x - y
    block = Block(
        w=w,
        v=v,
        second_moment=(x * x).mean(),
        residual_covariance=(x * residual).mean(),
        rows=slice(0, 2 * m),
    )
    return spectrum_of_blocks([block], power, "closed form, Theorem 3.1")


def outlier_pair(
    squared_norm_w: ArrayLike,
    squared_norm_v: ArrayLike,
    inner_product: ArrayLike,
    second_moment: ArrayLike,
    residual_covariance: ArrayLike,
) -> Tensor:
    """The outlier pair ``Λ_{1,2}(‖w‖², ‖v‖², ⟨w, v⟩, σ², δx)`` as a function of five numbers.

    Where both outliers coincide (``w = ±v`` and ``δx = -σ²⟨w, v⟩``), rounding errors ``ε`` in the
    five numbers move the pair by ``√ε``; :func:`two_layer_linear` works with the vectors and has no
    such loss.

    Args:
        squared_norm_w: ``‖w‖²``, any shape that broadcasts with the others.
        squared_norm_v: ``‖v‖²``.
        inner_product: ``⟨w, v⟩``.
        second_moment: ``σ² = mean(x²)``.
        residual_covariance: ``δx = mean(x (f(x) - y))``.

    Returns:
        ``(..., 2)``: the larger outlier ``Λ_1``, then the smaller ``Λ_2``.

    Raises:
        ValueError: a negative square, ``|⟨w, v⟩| > ‖w‖‖v‖``, shapes that do not broadcast, or
            numbers that are not finite.

    Source: singh2026cracking, Theorem 3.1, eq. (1), in the form of eq. (2).

    Example:
        >>> outlier_pair(1.0, 1.0, 1.0, 1.0, 1.0)
        tensor([ 3., -1.], dtype=torch.float64)
    """
    w2, v2, inner, moment, dx = broadcast(
        squared_norm_w=squared_norm_w,
        squared_norm_v=squared_norm_v,
        inner_product=inner_product,
        second_moment=second_moment,
        residual_covariance=residual_covariance,
    )
    require_all("second_moment", moment, moment >= 0, "no negative value")
    return pair_from_numbers(w2, v2, inner, moment, dx)
