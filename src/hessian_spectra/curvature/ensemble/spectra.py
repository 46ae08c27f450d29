"""All Hessian eigenvalues of every network, from matrices as small as the networks allow.

For one output and ``1/(2n) Σ (f(x_i) − y_i)²`` the Hessian of a linear network, or of a ReLU
network with two layers, is zero outside a subspace that can be written down: its eigenvalues are
those of its restriction, and zeros. None is approximated.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.curvature.ensemble.chains import around, effective_weights
from hessian_spectra.curvature.ensemble.dense import dense_hessians
from hessian_spectra.curvature.ensemble.moments import SecondMoments
from hessian_spectra.models.ensemble import Ensemble, require_piecewise_linear

# Above this many parameters the eigenvalues of one dense matrix take more than some seconds.
LARGEST_DENSE = 3000

# The largest arrays of the networks that are treated together stay within this.
_BATCH_BYTES = 2**27


class Spectra(NamedTuple):
    """The Hessian eigenvalues of ``N`` networks of one shape.

    Attributes:
        eigenvalues: ``(N, q)`` float64, in no particular order.
        multiplicities: ``(q,)`` how often each occurs, the same for all networks; they add up to
            the number of parameters. Eigenvalues may be equal all the same.
    """

    eigenvalues: Tensor
    multiplicities: Tensor


def exact_spectra(ensemble: Ensemble, x: Tensor, y: Tensor) -> Spectra:
    """All Hessian eigenvalues of networks with one output.

    Args:
        ensemble: ``N`` networks in float64.
        x: ``(n, d_0)`` inputs.
        y: ``(n,)`` targets.

    Raises:
        ValueError: more than one output, data of other shapes, another activation than ``linear``
            and ``relu``, or a ReLU network of more than two layers, which is not reduced, with more
            than 3000 parameters.

    Example:
        >>> weights = torch.ones(1, 2, 1).double(), torch.ones(1, 1, 2).double()
        >>> item = Ensemble(weights=weights, multipliers=(1.0, 1.0), activation="linear")
        >>> x, y = torch.ones(1, 1).double(), torch.zeros(1).double()
        >>> values, multiplicities = exact_spectra(item, x, y)
        >>> values[0].repeat_interleave(multiplicities).sort().values.round().tolist()
        [-2.0, -2.0, 2.0, 6.0]
    """
    require_piecewise_linear(ensemble.activation)
    sizes = ensemble.sizes
    if sizes[-1] != 1 or y.ndim != 1 or len(y) == 0 or x.shape != (len(y), sizes[0]):
        raise ValueError(
            f"expected networks with 1 output, x (n, {sizes[0]}) and y (n,), got {sizes[-1]} "
            f"outputs, x {tuple(x.shape)} and y {tuple(y.shape)}"
        )
    parameters = sum(weight[0].numel() for weight in ensemble.weights)
    restricted = sum(sizes) + sum(sizes[1:-1]) - ensemble.depth
    of_batch: Callable[[Ensemble], Spectra]
    if ensemble.activation == "linear" and restricted <= parameters:
        of_batch = partial(_linear, data=SecondMoments.of(x, y[:, None]))
        numbers = restricted**2
    elif ensemble.depth == 2 and 2 * sizes[1] + len(y) < parameters:
        of_batch = partial(_two_layer_rectified, x=x, y=y)
        numbers = len(y) * parameters
    elif parameters <= LARGEST_DENSE:
        of_batch = partial(_dense, x=x, y=y)
        numbers = max(len(y), parameters) * parameters
    else:
        raise ValueError(
            f"ensemble: expected at most {LARGEST_DENSE} parameters in a ReLU network of more than "
            f"two layers, got {parameters}; take a smaller width"
        )
    batches = torch.arange(ensemble.count).split(max(1, _BATCH_BYTES // (8 * numbers)))
    parts = [of_batch(ensemble.select(batch)) for batch in batches]
    return Spectra(torch.cat([part.eigenvalues for part in parts]), parts[0].multiplicities)


def _dense(ensemble: Ensemble, x: Tensor, y: Tensor) -> Spectra:
    hessians = dense_hessians(ensemble, x, y)
    return _with_zeros(hessians, hessians.shape[1])


def _with_zeros(matrices: Tensor, parameters: int) -> Spectra:
    """The eigenvalues of the restricted Hessians, and as many zeros as parameters are left."""
    inner = torch.linalg.eigvalsh(matrices)
    count, size = inner.shape
    ones = torch.ones(size, dtype=torch.int64)
    return Spectra(
        torch.cat([inner, inner.new_zeros(count, 1)], dim=1),
        torch.cat([ones, torch.tensor([parameters - size])]),
    )


def _linear(ensemble: Ensemble, data: SecondMoments) -> Spectra:
    """Linear networks; those of two layers with their hidden space reduced first.

    Two layers know of the hidden space no more than ``span{W_1, W_2ᵀ}``. In each direction
    orthogonal to it the residual covariance couples ``W_1`` to ``W_2`` with the same strength,
    which gives the bulk.
    """
    parameters = sum(weight[0].numel() for weight in ensemble.weights)
    hidden, spanned = ensemble.sizes[1], ensemble.sizes[0] + 1
    if ensemble.depth != 2 or hidden <= spanned:
        return _with_zeros(_restricted(ensemble, data), parameters)
    first, second = ensemble.weights
    basis = torch.linalg.qr(torch.cat([first, second.mT], dim=2)).Q
    inner = replace(ensemble, weights=(basis.mT @ first, second @ basis))
    rho = ensemble.multipliers[0] * ensemble.multipliers[1] * _residual(ensemble, data).norm(dim=1)
    spectra = _with_zeros(_restricted(inner, data), parameters - 2 * (hidden - spanned))
    return Spectra(
        torch.cat([spectra.eigenvalues, rho[:, None], -rho[:, None]], dim=1),
        torch.cat([spectra.multiplicities, torch.tensor([hidden - spanned] * 2)]),
    )


def _residual(ensemble: Ensemble, data: SecondMoments) -> Float[Tensor, "N d_0"]:
    """``r = mean(x (f(x) − y))``."""
    weights = effective_weights(ensemble)
    function = weights[-1] @ around(weights)[-1][1]
    return (function @ data.sxx - data.syx)[:, 0]


def _restricted(ensemble: Ensemble, data: SecondMoments) -> Float[Tensor, "N r r"]:
    """The Hessian of linear networks on a subspace of dimension ``r = Σ_l (d_l + d_{l−1} − 1)``.

    Let ``a_l = (A_L ⋯ A_{l+1})ᵀ`` and ``b_l = A_{l−1} ⋯ A_1 r``, multipliers included. A change
    ``E_l`` of the layers enters the second derivative through ``U_l = E_lᵀ a_l`` and ``V_l = E_l
    b_l`` alone: that is ``|S^½ Σ_l (A_{l−1} ⋯ A_1)ᵀ U_l|² + 2 Σ_{l<k} U_kᵀ A_{k−1} ⋯ A_{l+1} V_l``.
    So the Hessian is zero outside the changes ``E_l = â_l uᵀ + P_l v b̂_lᵀ``, where hats make unit
    vectors and ``P_l`` is an orthonormal basis of what is orthogonal to ``â_l``; ``(u, v)`` are the
    coordinates.
    """
    weights, count = effective_weights(ensemble), ensemble.count
    residual = _residual(ensemble, data)[..., None]
    gradients, changes, strengths, ends = [], [], [], [0]
    for multiplier, (left, right) in zip(ensemble.multipliers, around(weights), strict=True):
        a, b = left[:, 0].expand(count, -1), (right @ residual)[..., 0]
        frame, (unit, length) = _frame(a), _direction(b)
        strengths.append(multiplier * a.norm(dim=1)[:, None, None])
        gradients.append(strengths[-1] * right.mT)
        # V_l as a function of (u, v): the frame's first column is â_l.
        change = torch.cat([frame[:, :, :1] * unit[:, None], frame[:, :, 1:]], dim=2)
        changes.append(multiplier * length[:, None, None] * change)
        ends.append(ends[-1] + change.shape[2])

    jacobian = residual.new_zeros(count, len(data.sxx), ends[-1])
    matrix = residual.new_zeros(count, ends[-1], ends[-1])
    for k, gradient in enumerate(gradients):
        rows = slice(ends[k], ends[k] + gradient.shape[2])
        jacobian[:, :, rows] = gradient
        transfer = torch.eye(gradient.shape[2], dtype=residual.dtype)
        for low in range(k - 1, -1, -1):
            columns = slice(ends[low], ends[low + 1])
            matrix[:, rows, columns] = strengths[k] * (transfer @ changes[low])
            transfer = transfer @ weights[low]
    return matrix + matrix.mT + jacobian.mT @ data.sxx @ jacobian


def _two_layer_rectified(ensemble: Ensemble, x: Tensor, y: Tensor) -> Spectra:
    """ReLU networks of two layers, on a subspace of dimension ``2m + n``.

    Hidden unit ``j`` is linear on its half-space, where the residual covariance is ``c_j``: the
    residuals couple ``w_j`` to ``v_j`` along ``c_j`` and nothing else. These ``2m`` directions and
    the gradients at the ``n`` inputs span all that the Hessian does not annihilate. What of the
    gradients is orthogonal to the former is written in a basis of its own, by QR.
    """
    first, second = ensemble.weights
    count, hidden, size = first.shape
    multiplier = ensemble.multipliers[0] * ensemble.multipliers[1]
    inner = x @ first.mT
    active = (inner > 0).to(inner)
    residual = multiplier * ((active * inner) @ second.mT)[..., 0] - y
    covariance = multiplier / len(y) * (residual[..., None] * active).mT @ x
    unit, strength = (
        part.unflatten(0, (count, hidden)) for part in _direction(covariance.flatten(0, 1))
    )
    outer = multiplier * active * second
    along = outer * (x @ unit.mT)
    rest = outer[..., None] * x[:, None] - along[..., None] * unit[:, None]
    triangle = torch.linalg.qr(rest.flatten(2).mT, mode="r").R
    jacobian = torch.cat([along, multiplier * active * inner, triangle.mT], dim=2)
    matrix = jacobian.mT @ jacobian / len(y)
    units = torch.arange(hidden)
    matrix[:, units, hidden + units] += strength
    matrix[:, hidden + units, units] += strength
    return _with_zeros(matrix, hidden * (size + 1))


def _direction(vectors: Float[Tensor, "N d"]) -> tuple[Float[Tensor, "N d"], Float[Tensor, " N"]]:
    """Unit vectors and lengths; a zero vector gets any direction."""
    length = vectors.norm(dim=1)
    anywhere = torch.zeros_like(vectors)
    anywhere[:, 0] = 1.0
    zero = (length == 0)[:, None]
    return torch.where(zero, anywhere, vectors / torch.where(zero, 1.0, length[:, None])), length


def _frame(vectors: Float[Tensor, "N d"]) -> Float[Tensor, "N d d"]:
    """Orthonormal columns by a reflection, the first one along each vector."""
    unit, _ = _direction(vectors)
    sign = torch.where(unit[:, :1] < 0, -1.0, 1.0)
    normal = unit.clone()
    normal[:, :1] += sign
    normal, _ = _direction(normal)
    identity = torch.eye(unit.shape[1], dtype=unit.dtype)
    return -sign[..., None] * (identity - 2 * normal[:, :, None] * normal[:, None])
