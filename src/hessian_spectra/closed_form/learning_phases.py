"""Learning phases and the bound on the smallest eigenvalue of the two-layer linear network."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, read, times_power_of_two
from hessian_spectra.closed_form._losses import Loss, derivatives, scaled

Phase = Literal["early", "late", "divergent"]


def learning_phase(
    inner_product: ArrayLike,
    second_moment: ArrayLike | None = None,
    target_covariance: ArrayLike | None = None,
    *,
    residual_covariance: ArrayLike | None = None,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    loss: Loss | None = None,
) -> Phase:
    """The phase of learning of ``f(x) = ⟨w, v⟩ x`` under a convex loss.

    With ``c = ⟨w, v⟩`` and ``g(c) = mean(l'(c x) x)``, which increases with ``c``, the product of
    both outliers is ``-g (g + 2 c g')``: minus the derivative of ``c g²``. Say that ``g(0) < 0``,
    so that the solution ``c*``, where ``g`` vanishes, is positive or, if there is none, infinite;
    else turn the signs of the inputs and of ``c``. Then the phase is

    * ``"early"``: ``c g²`` increases before the solution, as for every ``c <= 0``. The small
      outlier is negative, the large one exceeds the trace.
    * ``"late"``: it decreases there, or is at its top. The small outlier is not negative.
    * ``"divergent"``: beyond the solution. The signs are those of the early phase.

    For half the squared error ``c* = θ* = mean(yx)/mean(x²)``, and the phases end at ``θ*/3`` and
    at ``θ*``; for one sample and the error's ``p``-th power at ``θ*/(2p - 1)`` and ``θ*``. The
    paper compares ``⟨w, v⟩`` with ``θ*/3`` and ``θ*`` themselves, which holds for ``θ* > 0`` only.
    Other convex losses may alternate between early and late any number of times. The logistic loss
    does not where the sizes of the inputs differ by a factor below 7.07; separable data has no
    divergent phase under it. For ``g(0) = 0``
    there is no early phase: the network is at the solution (``"late"``) or beyond it.

    A cell of a ReLU network has the phases of the samples that it sees, and a head those of its own
    output.

    Args:
        inner_product: ``⟨w, v⟩``, a number.
        second_moment: ``mean(x²) > 0``; for another loss ``g'(c) = mean(l''(c x) x²) >= 0``.
        target_covariance: ``mean(yx)``; for another loss ``-g(0) = -mean(l'(0) x)``.
        residual_covariance: ``g(c)``, needed for another loss only.
        x: ``(n,)`` inputs, with targets in the place of these three numbers.
        y: ``(n,)`` targets.
        loss: of one output and one target; half the squared error by default.

    Raises:
        ValueError: not finite numbers, or ``second_moment`` not positive (for another loss, whose
            first derivative may be constant, negative); neither numbers nor data, or a loss that is
            not twice differentiable at 0 or at an output.

    Source: singh2026cracking, Appendix C; singh2024closed, Section 1. Other losses are this
    project's.

    Example:
        >>> [learning_phase(inner, 1.0, 1.0) for inner in (0.1, 0.5, 2.0)]
        ['early', 'late', 'divergent']
        >>> learning_phase(-0.5, 1.0, -1.0)
        'late'
        >>> from torch.nn import BCEWithLogitsLoss
        >>> margins = {"x": [1.0], "y": [1.0], "loss": BCEWithLogitsLoss()}
        >>> [learning_phase(inner, **margins) for inner in (0.7, 0.8, 1e2)]  # from .7388 on
        ['early', 'late', 'late']
    """
    given = {
        "second_moment": second_moment,
        "target_covariance": target_covariance,
        "residual_covariance": residual_covariance,
    }
    if x is not None and y is not None:
        given |= _moments(inner_product, x, y, loss)
    numbers = {name: number for name, number in given.items() if number is not None}
    if not {"second_moment", "target_covariance"} <= numbers.keys():
        raise ValueError(
            f"expected second_moment and target_covariance, or x and y, got {[*numbers] or 'none'}"
        )
    numbers["inner_product"] = inner_product
    named = dict(zip(numbers, map(float, read(dict.fromkeys(numbers, ""), **numbers)), strict=True))
    moment, target = named["second_moment"], named["target_covariance"]
    residual = named.get("residual_covariance")
    if moment < 0 or (moment == 0 and residual is None):
        raise ValueError(f"second_moment: expected a positive number, got {moment}")
    reached = named["inner_product"] * moment
    # g + 2 c g', which decides the sign; of the squared error without a difference on the way.
    slope = 3 * reached - target if residual is None else residual + 2 * reached
    residual = reached - target if residual is None else residual
    if target < 0:
        target, residual, slope = -target, -residual, -slope
    if residual == 0:
        return "late"
    if target == 0 or residual > 0:
        return "divergent"
    return "early" if slope < 0 else "late"


def _moments(
    inner_product: ArrayLike, x: ArrayLike, y: ArrayLike, loss: Loss | None
) -> dict[str, ArrayLike | None]:
    """``g'``, ``-g(0)`` and, for another loss than the squared error, ``g`` of data."""
    c, x, y = read({"inner_product": "", "x": "n", "y": "n"}, inner_product=inner_product, x=x, y=y)
    first, second = derivatives(loss, c * x, y)
    start, _ = derivatives(loss, 0 * x, y)
    return {
        "second_moment": (second * x * x).mean(),
        "target_covariance": -(start * x).mean(),
        "residual_covariance": None if loss is None else (first * x).mean(),
    }


def smallest_eigenvalue_bound(
    w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike, *, loss: Loss | None = None
) -> Tensor:
    """``-√(2 loss) σ_x``, below which the two-layer linear network has no Hessian eigenvalue.

    The smallest eigenvalue is ``-|δx|`` for ``m >= 2`` and the small outlier, no smaller than that,
    for ``m = 1``; and ``|δx| <= √(2 loss) σ_x`` by Cauchy and Schwarz. The paper writes ``-δx``.

    For another convex loss ``-√mean(l'²) σ_x`` is this bound. Of a loss that is not negative, with
    ``l'' <= L`` everywhere, it is no lower than ``-√(2 L loss) σ_x``: with ``L = 1/4`` of the
    logistic one, ``-√(loss/2) σ_x``. The exponential and the Poisson loss have no ``L``.

    Args and errors are those of :func:`two_layer_linear`; a loss that is not convex at an output is
    an error, too. The bound is ``()``.

    Source: singh2024closed, eq. (34) and below; singh2026cracking, eq. (34). Other losses are this
    project's.

    Example:
        >>> smallest_eigenvalue_bound(w=[1.0], v=[1.0], x=[1.0, 1.0], y=[0.0, 2.0])
        tensor(-1., dtype=torch.float64)
    """
    w, v, x, y = read({"w": "m", "v": "m", "x": "n", "y": "n"}, w=w, v=v, x=x, y=y)
    _, x, slopes, curvatures, power = scaled(loss, _outputs, [w, v], x, y)
    lowest = float(curvatures.min())
    if lowest < 0:
        raise ValueError(f"loss: expected a convex one, got a second derivative of {lowest}")
    bound = -slopes.square().mean().sqrt() * x.square().mean().sqrt()
    return times_power_of_two(bound, power)


def _outputs(layers: Sequence[Tensor], x: Tensor) -> Tensor:
    return (layers[0] @ layers[1]) * x
