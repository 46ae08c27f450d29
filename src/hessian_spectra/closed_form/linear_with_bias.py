"""The two-layer linear network with bias: singh2026cracking, Theorem B.1, and beyond."""

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, is_double, read
from hessian_spectra.closed_form._losses import Loss, derivatives
from hessian_spectra.closed_form._network import Network
from hessian_spectra.closed_form.assumptions import Assumption, require, tolerance_of
from hessian_spectra.spectrum import Spectrum

_SHAPES = {"w": "m", "v": "m", "b": "m", "x": "n", "y": "n"}
_SOURCE = "Theorem B.1 (singh2026cracking, eq. 77 to 99)"


def linear_with_bias(
    w: ArrayLike,
    v: ArrayLike,
    b: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    output_bias: ArrayLike | None = None,
    loss: Loss | None = None,
    check: bool = True,
) -> Spectrum:
    """Hessian spectrum of ``f(x) = wᵀ(v x + b)`` under the loss ``1/(2n) Σ (f(x_i) - y_i)²``.

    With ``δx = mean(x (f - y))``, ``δ = mean(f - y)`` and ``r = √(δx² + δ²)`` the ``3m``
    eigenvalues are ``+r`` and ``-r``, each ``m - 2`` times (the bulk), 0, ``m - 1`` times, and five
    outliers: the roots of the sextic (89)-(99) without its root 0, found here as the eigenvalues of
    a symmetric ``5 x 5`` matrix. Beyond the printed theorem ``v``, ``b`` and ``y`` are arbitrary,
    once ``mean(x) = 0`` and ``mean(x²) = 1``.

    Where also ``⟨v, b⟩ = 0``, ``‖v‖ = ‖b‖`` and ``(δx, δ)`` is parallel to ``(⟨w, v⟩, ⟨w, b⟩)`` (so
    in the printed case, ``mean(y) = mean(yx) = 0``), the outliers are the theorem's pair and
    triple, and their cells say so; :func:`pair_and_triple` gives these as functions of four
    numbers.

    With an output bias ``c``, ``f(x) = wᵀ(v x + b) + c``, bulk and zeros stay as they are, and the
    outliers are the six eigenvalues of a ``6 x 6`` matrix.

    For another loss ``δx = mean(l' x)``, ``δ = mean(l')``, and the small matrix has ``mean(l'')``,
    ``mean(l'' x)`` and ``mean(l'' x²)`` in the place of 1, ``mean(x)`` and ``mean(x²)``; nothing is
    assumed of the inputs. The sextic is the paper's where these three are those of ``l'' = 1`` but
    for a factor, see :func:`bias_sextic`.

    Args:
        w: ``(m,)`` second layer.
        v: ``(m,)`` first layer.
        b: ``(m,)`` bias of the first layer.
        x: ``(n,)`` inputs with zero mean and unit second moment.
        y: ``(n,)`` targets.
        output_bias: ``c``, a parameter, too; by default there is none.
        loss: any of one output and one target, twice differentiable at the outputs; its mean over
            the samples takes the place of half the squared error, the default.
        check: whether to refuse other inputs under the squared error. The eigenvalues are exact for
            any ``x``: the small matrix then carries its moments, but the sextic is no longer the
            paper's.

    Returns:
        The spectrum in the parameter order ``(w, v, b)``, then ``c``; kinds ``"outlier"`` (cells
        ``"pair"``, ``"triple"`` or ``""``), ``"bulk"`` and ``"zero"``.

    Raises:
        AssumptionError: the inputs are not standardised; tolerance 1e-8 (float32: 1e-4).
        ValueError: bad shape or type, empty or not finite data, a Hessian beyond float64, or a loss
            that is not twice differentiable at an output.

    Source: singh2026cracking, Theorem B.1; singh2024closed, Theorem 6. In the sextic's ``λ⁴`` the
    print has ``(‖b‖ + ‖w‖²)`` for ``(‖b‖² + ‖w‖²)``; (97) has the wrong sign. The output bias and
    other losses are extensions, this project's.

    Example:
        >>> w, v, b = [2.0, 0.0], [1.0, 0.0], [0.0, 1.0]
        >>> s = linear_with_bias(w, v, b, x=[1.0, -1.0], y=[2.0, -2.0])  # a perfect fit
        >>> [round(value, 12) + 0.0 for value in s.eigenvalues.tolist()]
        [0.0, 0.0, 0.0, 0.0, 5.0, 5.0]
    """
    last = {} if output_bias is None else {"output_bias": output_bias}
    exact = is_double(w, v, b, x, y, *last.values())
    shapes = {**_SHAPES, **dict.fromkeys(last, "")}
    w, v, b, x, y, *c = read(shapes, w=w, v=v, b=b, x=x, y=y, **last)
    if check and loss is None:
        require(standardised(x, tolerance_of(exact)), _SOURCE)
    inputs = torch.stack([x, torch.ones_like(x)], dim=1)  # (n, 2)
    bias = c[0] if c else None
    network = Network.of(w, torch.stack([v, b], dim=1), inputs, y, bias, loss)
    return network.spectrum("closed form, Theorem B.1", _second_layer_first)


def bias_sextic(
    w: ArrayLike,
    v: ArrayLike,
    b: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    loss: Loss | None = None,
    check: bool = True,
) -> Tensor:
    """Coefficients of the sextic whose roots are the five outliers of the network with bias, and 0.

    For the eigenvalues themselves use :func:`linear_with_bias`: coefficients of a polynomial lose
    half of the digits where roots meet. For inputs that are not standardised, which ``check=False``
    lets pass, the roots are not the eigenvalues. Under another loss that is ``mean(l'' x) = 0`` and
    ``mean(l'' x²) = mean(l'')``: weights ``√mean(l'')`` times as large then have the same roots
    under the squared error, with the same ``δx`` and ``δ``.

    Args and errors are those of :func:`linear_with_bias`.

    Returns:
        ``(7,)`` coefficients, that of ``λ⁶`` first.

    Source: singh2026cracking, eq. (89) to (99), with ``(‖b‖² + ‖w‖²)`` in (92) and minus in (97).

    Example:
        >>> bias_sextic([2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [2.0, -2.0])
        tensor([  1., -10.,  25.,   0.,   0.,  -0.,   0.], dtype=torch.float64)
    """
    exact = is_double(w, v, b, x, y)
    w, v, b, x, y = read(_SHAPES, w=w, v=v, b=b, x=x, y=y)
    residual, curvature = derivatives(loss, (w @ v) * x + w @ b, y)
    s = curvature.mean()
    if check:
        require(standardised(x, tolerance_of(exact), None if loss is None else curvature), _SOURCE)
    # Weights of √|s| times the size see moments of 1; for s < 0 minus the Hessian is of this form.
    sign = torch.where(s < 0, -1.0, 1.0)
    w, v, b = (part * s.abs().sqrt() for part in (w, v, b))
    dx, d = sign * (x * residual).mean(), sign * residual.mean()
    w2, v2, b2, vb, wv, wb = w @ w, v @ v, b @ b, v @ b, w @ v, w @ b
    r2, parallel, crossed = dx**2 + d**2, dx * wv + d * wb, d * wv + dx * wb
    coefficients = torch.stack(
        [
            torch.ones_like(r2),
            -(v2 + b2 + 2 * w2),
            -2 * r2 - 2 * parallel + (v2 + w2) * (b2 + w2) - vb**2,
            r2 * (v2 + b2 + 3 * w2) + 2 * (d * wb * (v2 + w2) + dx * wv * (b2 + w2) - vb * crossed),
            r2**2
            + 2 * r2 * parallel
            + 4 * dx * d * wv * wb
            - w2 * ((v2 + w2) * dx**2 + (b2 + w2) * d**2 + 2 * vb * d * dx)
            - crossed**2,
            -w2 * (r2**2 + 2 * (dx**3 * wv + d**3 * wb + crossed * d * dx)),
            torch.zeros_like(r2),
        ]
    )
    return coefficients * sign ** torch.arange(7, dtype=sign.dtype, device=sign.device)


def standardised(x: Tensor, tolerance: float, curvatures: Tensor | None = None) -> list[Assumption]:
    """The inputs have zero mean and unit second moment, with the weights of a loss if it has any.

    The weights are ``l''``, and the moments relative to their mean.
    """
    if curvatures is not None:
        size = float(curvatures.abs().mean()) or 1.0
        mean = abs(float((curvatures * x).mean())) / size
        moment = abs(float((curvatures * (x * x - 1)).mean())) / size
        advice = "choose inputs that the loss weights so, or another closed form"
        return [
            Assumption("mean(l'' x) = 0", mean, tolerance, advice),
            Assumption("mean(l'' x²) = mean(l'')", moment, tolerance, advice),
        ]
    mean, moment = float(x.mean()), float((x * x).mean())
    advice = "standardise x (subtract its mean, divide by its root mean square)"
    return [
        Assumption("mean(x) = 0", abs(mean), tolerance, advice),
        Assumption("mean(x²) = 1", abs(moment - 1), tolerance, advice),
    ]


def _second_layer_first(slots: Tensor) -> Tensor:
    """Vectors ``(v, b, w)``, ``(3, m, p)``, in the parameter order ``(w, v, b)``, ``(3m, p)``."""
    return slots[[2, 0, 1]].flatten(0, 1)
