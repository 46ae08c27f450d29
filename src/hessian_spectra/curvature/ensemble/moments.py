"""The data that an ensemble's Hessians need: second moments, or the samples themselves."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hessian_spectra.models.ensemble import Ensemble, require_piecewise_linear


@dataclass(frozen=True)
class SecondMoments:
    """All that a linear network's mean squared error depends on, whatever the number of samples.

    With them ``1/(2n) Σ_i ‖A x_i − y_i‖² = (tr(A S_xx Aᵀ) − 2 tr(A S_yxᵀ) + S_yy) / 2``.

    Args:
        sxx: ``(D, D)``, ``(1/n) Σ_i x_i x_iᵀ``.
        syx: ``(K, D)``, ``(1/n) Σ_i y_i x_iᵀ``.
        syy: ``()``, ``(1/n) Σ_i ‖y_i‖²``.
        count: the number of samples n.

    Raises:
        ValueError: shapes that do not fit together.

    Example:
        >>> x, y = torch.tensor([[1.0], [3.0]]), torch.tensor([[2.0], [0.0]])
        >>> moments = SecondMoments.of(x, y)
        >>> moments.sxx.tolist(), moments.syx.tolist(), moments.syy.item(), moments.count
        ([[5.0]], [[1.0]], 2.0, 2)
    """

    sxx: Tensor
    syx: Tensor
    syy: Tensor
    count: int

    def __post_init__(self) -> None:
        shapes = (tuple(self.sxx.shape), tuple(self.syx.shape), tuple(self.syy.shape))
        inputs = self.sxx.shape[-1] if self.sxx.ndim else 0
        fits = self.syx.ndim == 2 and shapes == (
            (inputs, inputs),
            (self.syx.shape[0], inputs),
            (),
        )
        if not fits or self.count < 1:
            raise ValueError(
                "moments: expected sxx (D, D), syx (K, D), syy () and a count of at least 1, "
                f"got {', '.join(map(str, shapes))} and {self.count}"
            )

    @classmethod
    def of(cls, x: Tensor, y: Tensor) -> "SecondMoments":
        """The moments of inputs ``(n, D)`` and targets ``(n, K)``.

        Raises:
            ValueError: no sample, or shapes that do not fit together.
        """
        _require_samples(x, y)
        count = len(x)
        return cls(x.mT @ x / count, y.mT @ x / count, y.square().sum() / count, count)


Data = SecondMoments | tuple[Tensor, Tensor]


def in_float64(data: Data) -> Data:
    """The same data in float64."""
    if isinstance(data, SecondMoments):
        return replace(data, sxx=data.sxx.double(), syx=data.syx.double(), syy=data.syy.double())
    return data[0].double(), data[1].double()


def fitted(ensemble: Ensemble, data: Data) -> Data:
    """The data in the smallest form that gives this ensemble's Hessians exactly.

    A linear network needs the second moments alone. A ReLU network of one input is linear on
    either side of zero, so that one sample a side stands for all.

    Raises:
        ValueError: another activation than ``linear`` and ``relu``, moments alone for a ReLU
            network, no samples, or sizes, types or devices that differ from the ensemble's.
    """
    require_piecewise_linear(ensemble.activation)
    if isinstance(data, SecondMoments):
        if ensemble.activation != "linear":
            raise ValueError(
                "data: second moments describe linear networks only; give (x, y) for a ReLU network"
            )
        _require_fit(ensemble, data.sxx, data.syx.mT)
        return data
    x, y = data
    _require_samples(x, y)
    _require_fit(ensemble, x, y)
    if ensemble.activation == "linear":
        return SecondMoments.of(x, y)
    return _one_a_side(x, y) if x.shape[1] == 1 else (x, y)


def _one_a_side(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Two samples, of positive and of negative input, with the loss of all up to a constant.

    On a side f = c x, and Σ (c x_i − y_i)² is, up to a constant, (c z − u)² with z² = Σ x_i² and
    z u = Σ x_i y_i. Their mean is over two samples instead of n.
    """
    inputs, targets = [], []
    for sign in (1.0, -1.0):
        part = torch.where(sign * x > 0, x, 0)
        length = (2 * part.square().sum() / len(x)).sqrt()
        inputs.append(sign * length)
        # Without a sample on this side the input is zero, and the target does not matter.
        targets.append(2 * (part * y).sum(dim=0) / (len(x) * sign * length.where(length > 0, 1.0)))
    return torch.stack(inputs)[:, None], torch.stack(targets)


def _require_samples(x: Tensor, y: Tensor) -> None:
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or len(x) == 0:
        raise ValueError(
            "data: expected x (n, D) and y (n, K) with at least one sample, "
            f"got {tuple(x.shape)} and {tuple(y.shape)}"
        )


def _require_fit(ensemble: Ensemble, x: Tensor, y: Tensor) -> None:
    sizes = ensemble.sizes
    if (x.shape[1], y.shape[1]) != (sizes[0], sizes[-1]):
        raise ValueError(
            f"data: expected {sizes[0]} inputs and {sizes[-1]} outputs as the networks have, "
            f"got {x.shape[1]} and {y.shape[1]}"
        )
    first = ensemble.weights[0]
    if {x.dtype, y.dtype} != {first.dtype} or {x.device, y.device} != {first.device}:
        raise ValueError(
            f"data: expected the networks' {first.dtype} on {first.device}, got {x.dtype} and "
            f"{y.dtype} on {x.device} and {y.device}"
        )
