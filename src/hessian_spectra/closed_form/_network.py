"""The two-layer linear network with scalar output and any number of inputs.

``f(x) = wᵀ V x`` with ``V`` ``(m, D)`` has the Hessian ``C ⊗ I + Σ_de S_de u_d u_eᵀ``: ``C``
couples the columns of ``V`` to ``w`` through the residual covariance ``r = mean(l' x)``, ``S =
mean(l'' x xᵀ)``, and ``u_d`` holds ``w`` in the place of column ``d`` and ``V_d`` in the place of
``w``; for half the squared error ``l' = f - y`` and ``l'' = 1``. Rotating the inputs so that ``r =
ρ e_1`` leaves the sectors ``+ρ``, ``-ρ`` and, ``D - 1`` times, 0. An output bias is one more
direction, on which the residual does not act, with a gradient of 1. All this holds for any weights,
data and loss. Under the assumptions of :mod:`.orthogonal_first_layer` the small matrix falls apart
further.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from hessian_spectra.closed_form._blocks import stable_pair
from hessian_spectra.closed_form._inputs import (
    exponent,
    finite,
    norm,
    times_power_of_two,
)
from hessian_spectra.closed_form._losses import Loss, scaled
from hessian_spectra.closed_form._reduction import Reduction, Sector
from hessian_spectra.closed_form.assumptions import ROUNDING
from hessian_spectra.spectrum import Spectrum


@dataclass(frozen=True)
class Network:
    """A network and the moments of its data, scaled to entries of about 1.

    Args:
        w: ``(m,)`` second layer.
        V: ``(m, D)`` first layer.
        moments: ``(D, D)`` mean of ``l'' x xᵀ``.
        residual_covariance: ``(D,)`` mean of ``l' x``.
        power: the Hessian is ``2**power`` times the scaled one.
        mean: ``(D + 1,)`` means of ``l'' x`` and of ``l''``, for a network with an output bias;
            else ``None``.
    """

    w: Float[Tensor, " m"]
    V: Float[Tensor, "m D"]
    moments: Float[Tensor, "D D"]
    residual_covariance: Float[Tensor, " D"]
    power: int
    mean: Float[Tensor, " d"] | None = None

    @classmethod
    def of(
        cls,
        w: Float[Tensor, " m"],
        V: Float[Tensor, "m D"],
        x: Float[Tensor, "n D"],
        y: Float[Tensor, " n"],
        output_bias: Float[Tensor, ""] | None = None,
        loss: Loss | None = None,
    ) -> "Network":
        """The network on inputs and targets, of which none is scaled yet."""
        parameters, shift = [w, V], torch.zeros_like(w[0])
        if output_bias is not None:
            if loss is None:
                y = y - output_bias
            else:
                shift = output_bias
            # A weight of the size 1/x counts, too: the derivative by the output bias is 1.
            parameters.append(times_power_of_two(torch.ones_like(w[:1]), -(exponent(x) or 0)))

        def outputs(layers: Sequence[Tensor], inputs: Tensor) -> Tensor:
            return inputs @ (layers[1].T @ layers[0]) + shift

        (w, V, *_), x, slopes, curvatures, power = scaled(loss, outputs, parameters, x, y)
        weighted = curvatures[:, None] * x
        mean = None
        if output_bias is not None:
            mean = torch.cat([weighted.mean(0), curvatures.mean()[None]])
        return cls(w, V, x.T @ weighted / len(x), x.T @ slopes / len(x), power, mean)

    @cached_property
    def rotation(self) -> Float[Tensor, "D D"]:
        """Orthonormal columns, the first one along the residual covariance."""
        q, r = torch.linalg.qr(self.residual_covariance[:, None], mode="complete")
        sign = torch.ones(q.shape[1], dtype=q.dtype, device=q.device)
        sign[0] = torch.where(r[0, 0] < 0, -1.0, 1.0)
        return q * sign

    @cached_property
    def rotated(self) -> Float[Tensor, "m D"]:
        """The first layer for the rotated inputs."""
        return self.V @ self.rotation

    @cached_property
    def rotated_moments(self) -> Float[Tensor, "D D"]:
        """The moments of the rotated inputs."""
        return self.rotation.T @ self.moments @ self.rotation

    @cached_property
    def residual(self) -> Tensor:
        """``ρ``, the length of the residual covariance."""
        return norm(self.residual_covariance)

    def reduction(self) -> Reduction:
        """The sectors in the order ``+ρ``, ``-ρ``, 0, ...

        The parameters are the columns of ``V``, rotated, then ``w``, then the output bias.
        """
        (m, inputs), root = self.V.shape, math.sqrt(0.5)
        rotation = self.rotation
        along = torch.zeros_like(self.rotated)
        along[:, 0] = self.w
        last = inputs * m
        every = range(inputs)
        plus, minus = root * (along + self.rotated), root * (along - self.rotated)
        sectors = [
            Sector(self.residual, plus, every, [(0, root), (last, root)]),
            Sector(-self.residual, minus, every, [(0, root), (last, -root)]),
        ]
        zero = torch.zeros_like(self.residual)
        sectors += [Sector(zero, self.w[:, None], [d], [(d * m, 1.0)]) for d in range(1, inputs)]
        coupling = self.rotated_moments
        if self.mean is not None:
            unit = times_power_of_two(torch.ones_like(self.w[:1, None]), -(self.power // 2))
            sectors.append(Sector(zero, unit, [inputs], [(last + m, 1.0)]))
            mean = (rotation.T @ self.mean[:-1])[:, None]
            corner = self.mean[-1:, None]
            coupling = torch.cat([torch.cat([coupling, mean], 1), torch.cat([mean.T, corner], 1)])
        return Reduction(sectors, coupling)

    def is_orthogonal(self) -> bool:
        """Whether ``VᵀV = ν² I`` and ``Vᵀw`` is parallel to ``r``, up to rounding.

        And whether ``S`` is a multiple of the identity but for another entry along ``r``, and there
        is no output bias, which couples with what is left.
        """
        m, inputs = self.V.shape
        gram = self.rotated.T @ self.rotated
        alignment, moments = self.rotated.T @ self.w, self.rotated_moments
        size = gram.diagonal().mean() + self.w @ self.w
        return bool(
            self.mean is None
            and m >= inputs
            and (_off_identity(gram) <= ROUNDING * size).all()
            and (moments[0, 1:].abs() <= ROUNDING * moments.abs().max()).all()
            and (_off_identity(moments[1:, 1:]) <= ROUNDING * moments.abs().max()).all()
            and (alignment[1:].abs() <= ROUNDING * size).all()
        )

    def outliers(self) -> tuple[Tensor, list[int], list[str]]:
        """The outliers, ascending, with multiplicities and cells.

        The cells ``"pair"`` and ``"triple"`` appear where :meth:`is_orthogonal` holds.
        """
        if not self.is_orthogonal():
            values = self.reduction().outlier_values()
            return values, [1] * len(values), [""] * len(values)
        first, inputs = self.rotated[:, 0], self.V.shape[1]
        along, *others = self.rotated_moments.diagonal()
        sums, differences = norm(self.w + first), norm(self.w - first)
        pair = stable_pair(sums, differences, self.w @ first, along, self.residual)
        squared_norm_v = self.V.square().sum() / inputs
        # The mean of the others, and no number where there are none; its sign is the matrix's.
        s = torch.stack(others or [along]).mean()
        triple = triple_matrix(s.abs() * (self.w @ self.w), s.abs() * squared_norm_v, self.residual)
        triples = torch.linalg.eigvalsh(triple) * torch.where(s < 0, -1.0, 1.0)
        values, order = torch.cat([pair, triples]).sort()
        labels = [(1, "pair")] * 2 + [(inputs - 1, "triple")] * 3
        sorted_labels = [labels[i] for i in order.tolist()]
        return values, [count for count, _ in sorted_labels], [cell for _, cell in sorted_labels]

    def spectrum(self, method: str, arrange: Callable[[Tensor], Tensor]) -> Spectrum:
        """All eigenvalues and, on request, eigenvectors.

        Args:
            method: the theorem's name.
            arrange: turns eigenvectors ``(D + 1, m, p)``, first the columns of ``V``, then ``w``,
                into ``(p, p)`` in the order of the parameters, before the output bias.
        """
        values, multiplicities, cells = self.outliers()
        (m, inputs), reduction = self.V.shape, self.reduction()
        bulk = m - min(m, inputs)
        rest = torch.stack([self.residual, -self.residual, torch.zeros_like(self.residual)])

        def eigenbasis() -> Tensor:
            vectors = reduction.eigenbasis()
            slots = vectors[: (inputs + 1) * m].reshape(inputs + 1, m, -1)
            columns = torch.einsum("de,emp->dmp", self.rotation, slots[:inputs])
            arranged = arrange(torch.cat([columns, slots[inputs:]]))
            return torch.cat([arranged, vectors[(inputs + 1) * m :]])

        return Spectrum(
            values=finite(times_power_of_two(torch.cat([values, rest]), self.power)),
            multiplicities=[*multiplicities, bulk, bulk, (inputs - 1) * (m - 1)],
            kinds=["outlier"] * len(values) + ["bulk", "bulk", "zero"],
            cells=[*cells, "", "", ""],
            method=method,
            eigenbasis=eigenbasis,
        )


def triple_matrix(squared_norm_w: Tensor, squared_norm_v: Tensor, residual: Tensor) -> Tensor:
    """``[[‖v‖², ρ, ‖v‖‖w‖], [ρ, 0, 0], [‖v‖‖w‖, 0, ‖w‖²]]``, whose eigenvalues are the triple."""
    product = squared_norm_w.sqrt() * squared_norm_v.sqrt()
    zero = torch.zeros_like(product)
    rows = [
        torch.stack([squared_norm_v, residual, product], dim=-1),
        torch.stack([residual, zero, zero], dim=-1),
        torch.stack([product, zero, squared_norm_w], dim=-1),
    ]
    return torch.stack(rows, dim=-2)


def _off_identity(matrix: Tensor) -> Tensor:
    """Absolute differences from the multiple of the identity with the same trace."""
    identity = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    return (matrix - matrix.diagonal().mean() * identity).abs()
