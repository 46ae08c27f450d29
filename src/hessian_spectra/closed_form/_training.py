"""The start of a two-layer linear network's training, with its data."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, norm, read
from hessian_spectra.closed_form._losses import Loss, derivatives, elementwise

# Outputs of which second derivatives are taken at a time.
_AT_A_TIME = 1 << 20


class Start(NamedTuple):
    """A network at its start, with its data; ``K`` below is ``()``, or ``(D,)`` of several inputs.

    Attributes:
        p: ``(..., K)`` ``‖w + v‖/√2``.
        q: ``(..., K)`` ``‖w - v‖/√2``.
        inputs: ``(n, D)``, with ``D = 1`` for a single input.
        targets: ``(n,)``.
        gram: ``(D, D)`` ``E[x xᵀ]``.
        second_moment: ``(K)`` its diagonal.
        target_covariance: ``(K)`` ``E[y x]``.
        loss: the user's; none for half the squared error.
        each: the loss of each output.
        several: whether there are several inputs.
    """

    p: Tensor
    q: Tensor
    inputs: Tensor
    targets: Tensor
    gram: Tensor
    second_moment: Tensor
    target_covariance: Tensor
    loss: Loss | None
    each: Callable[[Tensor, Tensor], Tensor]
    several: bool

    @classmethod
    def of(
        cls,
        w: ArrayLike,
        v: ArrayLike,
        x: ArrayLike,
        y: ArrayLike,
        loss: Loss | None = None,
        *,
        single: bool = False,
    ) -> "Start":
        """The start of networks ``(..., m)`` on ``x (n,)`` or, unless ``single``, on ``(n, D)``.

        Raises:
            ValueError: bad shape or type, not finite data.
        """
        w, v, x, y = read({"w": "?", "v": "?", "x": "?", "y": "n"}, w=w, v=v, x=x, y=y)
        several = x.ndim == 2 and not single
        if x.ndim != 1 + several or len(x) != len(y) or x.numel() == 0:
            shapes = f"({len(y)},)" if single else f"({len(y)},) or ({len(y)}, D)"
            raise ValueError(f"x: expected shape {shapes} as y has it, got {tuple(x.shape)}")
        ending = tuple(x.shape[1:])
        if w.shape != v.shape or w.ndim < 1 + several or w.shape[-1 - several : -1] != ending:
            dimensions = ", ".join(["...", *map(str, ending), "m"])
            shapes = f"{tuple(w.shape)} and {tuple(v.shape)}"
            raise ValueError(f"w, v: expected one shape ({dimensions}), got {shapes}")
        inputs = x if several else x[:, None]
        gram, covariance = inputs.T @ inputs / len(y), inputs.T @ y / len(y)
        root = math.sqrt(0.5)
        return cls(
            p=root * norm(w + v),
            q=root * norm(w - v),
            inputs=inputs,
            targets=y,
            gram=gram,
            second_moment=gram.diagonal() if several else gram[0, 0],
            target_covariance=covariance if several else covariance[0],
            loss=loss,
            each=elementwise(loss),
            several=several,
        )

    @property
    def solution(self) -> Tensor:
        """``θ* = E[y x]/E[x²]``, of each input by itself; 0 for one that vanishes."""
        moment = self.second_moment
        return self.target_covariance / torch.where(moment > 0, moment, 1.0)

    @property
    def product(self) -> Tensor:
        """``⟨w, v⟩ = (p² - q²)/2``."""
        return (self.p - self.q) * (self.p + self.q) / 2

    def slope(self, products: Tensor) -> Tensor:
        """``δx = E[l' x]`` of each input at some ``⟨w, v⟩``, of which it is a function."""
        if self.loss is not None:
            return self._with_inputs(self._first(self._outputs(products)))
        if self.several:
            return products @ self.gram - self.target_covariance
        return (products - self.solution) * self.second_moment

    def along(self, factors: Tensor) -> tuple[Tensor, ...]:
        """The parts of a path, in its order, from the factors ``(T, 2, ...)``."""
        plus, minus = factors.unbind(1)
        p, q = plus * self.p, minus * self.q
        products = (p - q) * (p + q) / 2
        if self.loss is None and not self.several:
            slope, excess = self.slope(products), products - self.solution
            least = (self.inputs[:, 0] * self.solution - self.targets).square().mean() / 2
            moments = self.second_moment.expand_as(slope), slope, least + excess * slope / 2
            return (plus, minus, p, q, *moments)
        entries = max(1, products[0].numel()) * len(self.targets)
        parts = products.split(max(1, _AT_A_TIME // entries))
        each = zip(*map(self._moments, parts), strict=True)
        return (plus, minus, p, q, *map(torch.cat, each))

    def _moments(self, products: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``E[l'' x²]``, ``E[l' x]`` and the risk; NaN where the network has diverged."""
        outputs = self._outputs(products)
        targets = self.targets.expand_as(outputs)
        values = self.each(outputs, targets)
        # Their sum has to be a float64, too.
        finite = torch.isfinite(values * values.numel())
        outputs, values = torch.where(finite, outputs, 0.0), torch.where(finite, values, math.nan)
        first, second = (
            torch.where(finite, part, math.nan) for part in derivatives(self.loss, outputs, targets)
        )
        squares = second @ self.inputs.square() / len(self.targets)
        squares = squares if self.several else squares.squeeze(-1)
        return squares, self._with_inputs(first), values.mean(-1)

    def _outputs(self, products: Tensor) -> Tensor:
        """The networks' outputs ``(..., n)``."""
        return (products if self.several else products[..., None]) @ self.inputs.T

    def _with_inputs(self, first: Tensor) -> Tensor:
        """``E[l' x]``."""
        covariance = first @ self.inputs / len(self.targets)
        return covariance if self.several else covariance.squeeze(-1)

    @torch.enable_grad()
    def _first(self, outputs: Tensor) -> Tensor:
        at = outputs.detach().requires_grad_()
        return torch.autograd.grad(self.each(at, self.targets.expand_as(at)).sum(), at)[0]
