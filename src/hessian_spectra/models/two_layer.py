"""Two-layer networks from a scalar to a scalar, in the parametrisations of singh2026cracking."""

import torch
from torch import Tensor, nn

from hessian_spectra.models._parameters import parameter, require_inputs, require_same_shape


class _TwoLayer(nn.Module):
    """The parameters of a network without biases, in the order (v, w)."""

    def __init__(self, v: Tensor, w: Tensor) -> None:
        super().__init__()
        require_same_shape(v=v, w=w)
        self.v = parameter("v", v, 1)
        self.w = parameter("w", w, 1)


class TwoLayerLinear(_TwoLayer):
    """f(x) = ⟨w, v⟩ x, with the parameters in the order (v, w).

    Args:
        v: ``(m,)`` weights of the first layer.
        w: ``(m,)`` weights of the second layer.

    Raises:
        ValueError: the weights are empty, not finite, or of different shapes.

    Source: singh2026cracking, section 3.1 (singh2024closed, section 1).

    Example:
        >>> network = TwoLayerLinear(v=torch.tensor([1.0, 2.0]), w=torch.tensor([3.0, 4.0]))
        >>> network(torch.tensor([0.5, 1.0], dtype=torch.float64)).tolist()
        [5.5, 11.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(n,)`` for inputs ``(n,)``."""
        require_inputs(x)
        return (self.w @ self.v) * x


class TwoLayerReLU(_TwoLayer):
    """f(x) = Σ_j w_j max(v_j x, 0), with the parameters in the order (v, w).

    Args and errors are those of :class:`TwoLayerLinear`.

    Source: singh2026cracking, section 3.2 (singh2024closed, section 2).

    Example:
        >>> network = TwoLayerReLU(v=torch.tensor([1.0, -2.0]), w=torch.tensor([3.0, 4.0]))
        >>> network(torch.tensor([0.5, -1.0], dtype=torch.float64)).tolist()
        [1.5, 8.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(n,)`` for inputs ``(n,)``."""
        require_inputs(x)
        return torch.relu(x[:, None] * self.v) @ self.w


class LinearWithBias(nn.Module):
    """f(x) = ⟨w, v x + b⟩, with the parameters in the order (w, v, b).

    Args:
        w: ``(m,)`` weights of the second layer.
        v: ``(m,)`` weights of the first layer.
        b: ``(m,)`` biases of the first layer.

    Raises:
        ValueError: the weights are empty, not finite, or of different shapes.

    Source: singh2026cracking, Theorem B.1 (singh2024closed, Theorem 6).

    Example:
        >>> one = torch.ones(2)
        >>> network = LinearWithBias(w=one, v=one, b=3 * one)
        >>> network(torch.tensor([0.0, 1.0], dtype=torch.float64)).tolist()
        [6.0, 8.0]
    """

    def __init__(self, w: Tensor, v: Tensor, b: Tensor) -> None:
        super().__init__()
        require_same_shape(w=w, v=v, b=b)
        self.w = parameter("w", w, 1)
        self.v = parameter("v", v, 1)
        self.b = parameter("b", b, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(n,)`` for inputs ``(n,)``."""
        require_inputs(x)
        return (self.w @ self.v) * x + self.w @ self.b
