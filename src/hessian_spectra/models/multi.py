"""Two-layer linear networks with several inputs or several outputs."""

from itertools import chain

import torch
from torch import Tensor, nn

from hessian_spectra.models._parameters import parameter, require_inputs, require_same_shape


class _Rows(nn.Module):
    """The rows of ``v`` and ``w`` as separate parameters v_1, w_1, v_2, w_2, ..."""

    def __init__(self, v: Tensor, w: Tensor) -> None:
        super().__init__()
        require_same_shape(v=v, w=w)
        rows = zip(parameter("v", v, 2), parameter("w", w, 2), strict=True)
        parts = [parameter("row", row, 1) for row in chain.from_iterable(rows)]
        self.rows = nn.ParameterList(parts)

    def _products(self) -> Tensor:
        """``⟨w_d, v_d⟩`` for each row."""
        # One by one: a slice of a ParameterList is a list of new parameters, which would cut the
        # derivatives of a functional call (torch.func) off without a word.
        each = [self.rows[i] for i in range(len(self.rows))]
        v, w = torch.stack(each[0::2]), torch.stack(each[1::2])
        return (v * w).sum(dim=1)


class MultiInputLinear(_Rows):
    """f(x) = Σ_d ⟨w_d, v_d⟩ x_d: one scalar network per input coordinate.

    The parameters come in the order (v_1, w_1, v_2, w_2, ...), each a vector of its own. With
    ``m = 1`` this is the diagonal linear network.

    Args:
        v: ``(D, m)`` first-layer weights, row ``d`` for coordinate ``d``.
        w: ``(D, m)`` second-layer weights, row ``d`` for coordinate ``d``.

    Raises:
        ValueError: the weights are empty, not finite, or of different shapes.

    Source: singh2026cracking, Corollary B.1.

    Example:
        >>> v, w = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0]])
        >>> network = MultiInputLinear(v=v, w=w)
        >>> network(torch.tensor([[1.0, 10.0]], dtype=torch.float64)).tolist()
        [83.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(n,)`` for inputs ``(n, D)``."""
        require_inputs(x, len(self.rows) // 2)
        return x @ self._products()


class MultiOutputLinear(_Rows):
    """f_k(x) = ⟨w_k, v_k⟩ x: one scalar network per output.

    The parameters come in the order (v_1, w_1, v_2, w_2, ...), each a vector of its own.

    Args:
        v: ``(K, m)`` first-layer weights, row ``k`` for output ``k``.
        w: ``(K, m)`` second-layer weights, with the errors of :class:`MultiInputLinear`.

    Source: singh2026cracking, Corollary B.2.

    Example:
        >>> v, w = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0]])
        >>> network = MultiOutputLinear(v=v, w=w)
        >>> network(torch.tensor([10.0], dtype=torch.float64)).tolist()
        [[30.0, 80.0]]
    """

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(n, K)`` for inputs ``(n,)``."""
        require_inputs(x)
        return x[:, None] * self._products()


class LinearNetwork(nn.Module):
    """f(x) = wᵀ V x, a fully connected two-layer linear network with the parameters (V, w).

    V is flattened row by row, as PyTorch stores it.

    Args:
        V: ``(m, D)`` weights of the first layer.
        w: ``(m,)`` weights of the second layer.

    Raises:
        ValueError: the weights are empty or not finite, or their widths ``m`` differ.

    Source: singh2026cracking, section 4.1 (singh2024closed, section 3).

    Example:
        >>> network = LinearNetwork(V=torch.tensor([[1.0, 0.0], [0.0, 2.0]]), w=torch.ones(2))
        >>> network(torch.tensor([[1.0, 10.0]], dtype=torch.float64)).tolist()
        [21.0]
    """

    def __init__(self, V: Tensor, w: Tensor) -> None:
        super().__init__()
        self.V = parameter("V", V, 2)
        self.w = parameter("w", w, 1)
        if len(V) != len(w):
            raise ValueError(f"expected V (m, D) and w (m,) of one m, got {len(V)} and {len(w)}")

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(n,)`` for inputs ``(n, D)``."""
        require_inputs(x, self.V.shape[1])
        return x @ (self.w @ self.V)
