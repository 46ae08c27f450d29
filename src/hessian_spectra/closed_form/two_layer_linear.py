"""The two-layer linear network with scalar input: singh2026cracking, Theorems 3.1, 3.2 and 3.3."""

from collections.abc import Sequence

from torch import Tensor

from hessian_spectra.closed_form._blocks import Block, pair_from_numbers, spectrum_of_blocks
from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, read
from hessian_spectra.closed_form._losses import Loss, scaled
from hessian_spectra.spectrum import Spectrum


def two_layer_linear(
    w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike, *, loss: Loss | None = None
) -> Spectrum:
    """Hessian spectrum of ``f(x) = ⟨w, v⟩ x`` under the loss ``1/n Σ l(f(x_i), y_i)``.

    With the derivatives of ``l`` by the output, ``σ² = mean(l'' x²)`` and ``δx = mean(l' x)``, the
    ``2m`` eigenvalues are ``+δx`` and ``-δx``, each ``m - 1`` times (the bulk), and two outliers

        ``Λ_{1,2} = T/2 ± √( (δx + σ²⟨w, v⟩)² + σ⁴ ‖w + v‖² ‖w - v‖² / 4 )``

    with ``T = σ²(‖w‖² + ‖v‖²)`` and ``-Λ_1 Λ_2 = δx (δx + 2σ²⟨w, v⟩)``. For the paper's loss, half
    the squared error, these are ``mean(x²)`` and ``mean(x (f(x) - y))``, and the root is that of
    eq. (2), rewritten so that it does not cancel.

    Where ``σ² >= 0``, as for every convex loss, the larger outlier bounds every eigenvalue; the
    smaller lies between ``-|δx|`` and ``|δx|``, within the bulk. Of a loss that is not convex
    ``σ²`` may be negative: then the smaller outlier is the smallest eigenvalue, and the larger one
    lies within the bulk. The eigenvectors follow Theorems 3.2 and 3.3 for any loss, with the sign
    in 3.3 taken as ``λ_bulk / δx``, and hold for ``w = ±v``, ``δx = 0`` and vanishing layers, too.

    Args:
        w: ``(m,)`` second layer.
        v: ``(m,)`` first layer.
        x: ``(n,)`` inputs, in any unit; the eigenvalues come in units of the loss per squared
            weight.
        y: ``(n,)`` targets.
        loss: ``l``, a module of torch, whose ``reduction`` does not matter, or a function of
            outputs and targets with a number for each; ``None`` is half the squared error.

    Returns:
        The spectrum in the parameter order ``(v, w)``; kinds ``"outlier"`` and ``"bulk"``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, a Hessian beyond float64, or a loss
            that couples outputs or is not twice differentiable at each of them.

    Source: singh2026cracking, Theorems 3.1 to 3.3, eq. (1), (2); singh2024closed, Theorems 1 to 3;
    for another loss than the squared error this project.

    Example:
        >>> s = two_layer_linear(w=[1.0, 0.0], v=[1.0, 0.0], x=[1.0], y=[0.0])
        >>> s.eigenvalues
        tensor([-1., -1.,  1.,  3.], dtype=torch.float64)
        >>> s.select("outlier")
        tensor([-1.,  3.], dtype=torch.float64)
        >>> from torch.nn import BCEWithLogitsLoss as Logistic
        >>> s = two_layer_linear([1.0, 0.0], [0.0, 1.0], [2.0], [1.0], loss=Logistic())
        >>> s.eigenvalues  # l' = -1/2 and l'' = 1/4 at an output of 0
        tensor([-1.0000, -0.4142,  1.0000,  2.4142], dtype=torch.float64)
    """
    shapes = {"w": "m", "v": "m", "x": "n", "y": "n"}
    w, v, x, y = read(shapes, w=w, v=v, x=x, y=y)
    m = len(w)
    (w, v), x, first, second, power = scaled(loss, _outputs, [w, v], x, y)
    block = Block(
        w=w,
        v=v,
        second_moment=(second * x * x).mean(),
        residual_covariance=(x * first).mean(),
        rows=slice(0, 2 * m),
    )
    return spectrum_of_blocks([block], power, "closed form, Theorem 3.1")


def _outputs(layers: Sequence[Tensor], x: Tensor) -> Tensor:
    w, v = layers
    return (w @ v) * x


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
        second_moment: ``σ² = mean(x²)``; with a loss ``l`` that is not the squared error ``mean(l''
            x²)``, which may be negative.
        residual_covariance: ``δx = mean(x (f(x) - y))``, or ``mean(l' x)``.

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
    return pair_from_numbers(w2, v2, inner, moment, dx)
