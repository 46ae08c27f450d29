"""Learning phases and the bound on the smallest eigenvalue of the two-layer linear network."""

from typing import Literal

from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, normalise, read, times_power_of_two

Phase = Literal["early", "late", "divergent"]


def learning_phase(
    inner_product: ArrayLike, second_moment: ArrayLike, target_covariance: ArrayLike
) -> Phase:
    """The phase of learning of ``f(x) = ⟨w, v⟩ x``.

    It follows from ``t = ⟨w, v⟩ / θ*`` with the least-squares solution ``θ* = mean(yx)/mean(x²)``:

    * ``"early"``: ``t < 1/3``. The small outlier is negative, the large one exceeds the trace.
    * ``"late"``: ``1/3 <= t <= 1``. The small outlier is not negative; it is 0 at both ends.
    * ``"divergent"``: ``t > 1``. The signs are those of the early phase.

    The paper compares ``⟨w, v⟩`` with ``θ*/3`` and ``θ*``, which holds for ``θ* > 0`` only; the
    ratio serves both signs. For ``θ* = 0`` there is no early phase: the network is at the solution
    (``"late"``) or beyond it (``"divergent"``).

    Args:
        inner_product: ``⟨w, v⟩``, a number.
        second_moment: ``mean(x²) > 0``.
        target_covariance: ``mean(yx)``.

    Raises:
        ValueError: not finite numbers, or ``second_moment`` not positive.

    Source: singh2026cracking, Appendix C; singh2024closed, Section 1.

    Example:
        >>> [learning_phase(inner, 1.0, 1.0) for inner in (0.1, 0.5, 2.0)]
        ['early', 'late', 'divergent']
        >>> learning_phase(-0.5, 1.0, -1.0)
        'late'
    """
    given = {"inner_product": inner_product, "second_moment": second_moment}
    given["target_covariance"] = target_covariance
    inner, moment, target = map(float, read(dict.fromkeys(given, ""), **given))
    if moment <= 0:
        raise ValueError(f"second_moment: expected a positive number, got {moment}")
    reached = inner * moment
    if target < 0:
        reached, target = -reached, -target
    if target == 0:
        return "late" if reached == 0 else "divergent"
    if 3 * reached < target:
        return "early"
    return "late" if reached <= target else "divergent"


def smallest_eigenvalue_bound(w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike) -> Tensor:
    """``-√(2 loss) σ_x``, below which the two-layer linear network has no Hessian eigenvalue.

    The smallest eigenvalue is ``-|δx|`` for ``m >= 2`` and the small outlier, no smaller than that,
    for ``m = 1``; and ``|δx| <= √(2 loss) σ_x`` by Cauchy and Schwarz. The paper writes ``-δx``.

    Args and errors are those of :func:`two_layer_linear`. The bound is ``()``.

    Source: singh2024closed, eq. (34) and below; singh2026cracking, eq. (34).

    Example:
        >>> smallest_eigenvalue_bound(w=[1.0], v=[1.0], x=[1.0, 1.0], y=[0.0, 2.0])
        tensor(-1., dtype=torch.float64)
    """
    w, v, x, y = read({"w": "m", "v": "m", "x": "n", "y": "n"}, w=w, v=v, x=x, y=y)
    (w, v), x, y, power = normalise([w, v], x, y)
    residual = (w @ v) * x - y
    bound = -residual.square().mean().sqrt() * x.square().mean().sqrt()
    return times_power_of_two(bound, power)
