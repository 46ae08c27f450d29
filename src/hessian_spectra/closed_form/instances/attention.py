"""Self-attention with scalar tokens, with the softmax and with another activation."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import torch
from torch import Tensor

from hessian_spectra.closed_form.instances.drawing import Draw, numbers
from hessian_spectra.closed_form.instances.instance import Instance
from hessian_spectra.closed_form.self_attention import self_attention
from hessian_spectra.models import SelfAttention


@dataclass(eq=False, kw_only=True)
class AnyAttention(Instance):
    """Self-attention: ``w_query``, ``w_key`` ``(d_K,)``, ``x``, ``y`` ``(batch, length)``."""

    per: ClassVar[str] = "element"
    closed_form = staticmethod(self_attention)
    network = SelfAttention
    layers = ("w_value", "w_query", "w_key")

    w_value: Tensor
    w_query: Tensor
    w_key: Tensor

    @classmethod
    def of_size(cls, draw: Draw, batch: int, length: int, width: int) -> Self:
        """One layer."""
        x, y = draw.points(batch, length)
        value, query, key = draw.scaled(), draw.scaled(width), draw.scaled(width)
        return cls(w_value=value, w_query=query, w_key=key, x=x, y=draw.scale() * y)


@dataclass(eq=False, kw_only=True)
class Attention(AnyAttention):
    """Self-attention with softmax (singh2026cracking, Theorem 3.5).

    In every third instance d_K = 1, where all eigenvalues are outliers.
    """

    stream = "attention"

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Counterexamples to what is printed; γ = 0; special queries and keys."""
        base = partial(cls.of_size, draw, batch=1, length=3, width=3)
        return cls.counterexamples() | {
            "w_V = 0": replace(i := base(), w_value=0 * i.w_value),
            "zero residual": replace(i := base(), y=i.model()(i.x).detach()),
            "w_Q = w_K": replace(i := base(), w_key=i.w_query),
            "w_Q = -w_K": replace(i := base(), w_key=-i.w_query),
            "w_Q = 0": replace(i := base(), w_query=0 * i.w_query),
            "constant sequence": replace(i := base(), x=0 * i.x + 1),
        }

    @classmethod
    def counterexamples(cls) -> dict[str, Self]:
        """Counterexamples to what is printed of Remarks B.4 and 3.1."""
        key = (-0.7223121, 1.0726882)
        return {
            # With ζ < 0: the largest eigenvalue is the bulk's, beyond the bound of Remark B.4.
            "bulk above": cls.of(
                28.6158759, key, key, (-1.5552182, 0.4074608), (9.4896302, -91.6437074)
            ),
            # Weights below 1: norms exceed their squares, so that the printed ξ is too large. The
            # printed bound on the condition number is then above the condition number.
            "weights below 1": cls.of(
                0.76, (-0.17, 0.006), (0.15, -0.023), (4.5, -1.8), (-0.18, -0.17)
            ),
            # With ζ < 0: the bound on the condition number falls as the norms of w_Q and w_K grow.
            "falling bound": cls.of(-2.4, (-1.2, 0.6), (-0.7, -0.6), (-2.6, 0.6), (3.7, -5.1)),
        }

    @classmethod
    def of(cls, value: float, *vectors: tuple[float, ...]) -> Self:
        """A layer on one sequence, from ``w_V`` and ``w_Q``, ``w_K``, ``x`` and ``y``."""
        query, key, x, y = (numbers(*vector) for vector in vectors)
        return cls(w_value=numbers(value)[0], w_query=query, w_key=key, x=x[None], y=y[None])

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to four sequences of up to five tokens."""
        batch, length = draw.integer(1, 4), draw.integer(2, 5)
        width = 1 if number % 3 == 0 else draw.integer(2, draw.width - 2)
        return cls.of_size(draw, batch, length, width)


class RowwiseAttention(SelfAttention):
    """Self-attention with tanh of each score in the place of softmax."""

    def attention(self, x: Tensor) -> Tensor:
        """The attention weights ``(batch, length, length)``; their rows sum to anything."""
        alignment = self.w_query @ self.w_key / len(self.w_key) ** 0.5
        return torch.tanh(x[:, :, None] * x[:, None, :] * alignment)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(batch, length)``: sums of tokens, as the weights do not make means of them."""
        return self.w_value * (self.attention(x) @ x[..., None])[..., 0]


@dataclass(eq=False, kw_only=True)
class Rowwise(AnyAttention):
    """Half as many instances, for another activation than softmax."""

    stream = "rowwise"

    closed_form = staticmethod(partial(self_attention, activation=torch.tanh))
    network = RowwiseAttention

    @classmethod
    def count(cls, draw: Draw) -> int:
        """Half as many."""
        return max(1, draw.instances // 2)

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to four sequences of up to five tokens."""
        return cls.of_size(
            draw, *(draw.integer(*ends) for ends in ((1, 4), (2, 5), (1, draw.width - 2)))
        )
