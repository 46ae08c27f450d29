"""The two-layer linear network and the cells of that with ReLU: what theorems say of their parts.

Equations are those of singh2026cracking where no other paper is named.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from scipy.integrate import solve_ivp
from torch import Tensor, nn

from hessian_papers.theorems.errors import relative
from hessian_papers.theorems.instances import Instance, measured
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import Draw
from hessian_spectra.models import HalfSquaredError

# Steps of a training that is measured, and those after which descent has ended.
DESCENT, LONG_DESCENT = 15, 3000


def pair(total: Tensor, inside: Tensor) -> Tensor:
    """(total ± √inside)/2 ``(2,)``, the larger one first."""
    # Round-off makes a double root's discriminant negative.
    root = inside.clamp_min(0).sqrt()
    return torch.stack([(total + root) / 2, (total - root) / 2])


@dataclass(frozen=True)
class Moments:
    """The moments that the spectrum of f(x) = ⟨w, v⟩ x depends on.

    Args:
        s2: σ_x² = mean(x²), for a ReLU cell the sum over the cell divided by n.
        yx: mean(y x), likewise.
        inner: ⟨w, v⟩.
        w2: ‖w‖².
        v2: ‖v‖².
    """

    s2: Tensor
    yx: Tensor
    inner: Tensor
    w2: Tensor
    v2: Tensor

    @classmethod
    def of(cls, w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> "Moments":
        """The moments of a network ``w``, ``v`` ``(m,)`` on ``x``, ``y`` ``(n,)``."""
        return cls(x.square().mean(), (x * y).mean(), w @ v, w @ w, v @ v)

    @property
    def dx(self) -> Tensor:
        """mean(δ x) = ⟨w, v⟩ σ_x² − mean(y x)."""
        return self.inner * self.s2 - self.yx

    @property
    def trace(self) -> Tensor:
        """The Hessian's trace, σ_x² (‖w‖² + ‖v‖²)."""
        return self.s2 * (self.w2 + self.v2)

    def squares(self, last: Tensor | None = None) -> Tensor:
        """The three squares under the root of eq. (2), ``(3,)``.

        Args:
            last: what the last one is 4 times the square of, if not 2⟨w, v⟩σ² − mean(yx).
        """
        last = 2 * self.inner * self.s2 - self.yx if last is None else last
        imbalance = (self.s2 * self.w2 - self.s2 * self.v2).square()
        apart = 4 * self.s2.square() * (self.w2 * self.v2 - self.inner.square())
        return torch.stack([imbalance, apart, 4 * last.square()])

    @property
    def outliers(self) -> Tensor:
        """Eq. (2): both outliers ``(2,)``, the larger one first."""
        return pair(self.trace, self.squares().sum())

    @property
    def quadratic(self) -> Tensor:
        """Eq. (32): the coefficients ``(3,)`` of λ² − tr λ − (δx² + 2 σ_x² δx ⟨w, v⟩)."""
        constant = -(self.dx.square() + 2 * self.s2 * self.dx * self.inner)
        return torch.stack([torch.ones_like(self.dx), -self.trace, constant])

    @property
    def product(self) -> Tensor:
        """Appendix C: −λ_1 λ_2 = (⟨w, v⟩ σ_x² − mean(yx)) (3 ⟨w, v⟩ σ_x² − mean(yx))."""
        fit = self.inner * self.s2
        return (fit - self.yx) * (3 * fit - self.yx)


@dataclass(frozen=True)
class Cell:
    """One cell of a ReLU network, or all of a linear one.

    Args:
        neurons: ``(m,)`` 1 for those that fire there.
        points: ``(n,)`` 1 for those where they do.
        w: ``(m,)`` the second-layer weights, zero outside the cell.
        v: ``(m,)`` the first-layer weights, zero outside the cell.
        moments: sums over the cell divided by n.
    """

    neurons: Tensor
    points: Tensor
    w: Tensor
    v: Tensor
    moments: Moments

    @property
    def mean_dx(self) -> Tensor:
        """mean(δ x) over the points of the cell, without the factor n_±/n that Theorem 3.4 has."""
        return self.moments.dx / self.points.mean()


@dataclass(eq=False, kw_only=True)
class TwoLayer(Instance, instances.TwoLayer):
    """Two layers ``w``, ``v`` ``(m,)`` on ``x``, ``y`` ``(n,)``; ``c`` is free in Theorem 3.3."""

    c: Tensor = field(default_factory=torch.Tensor)

    def cell(self, neurons: Tensor, points: Tensor) -> Cell:
        """The cell of some neurons and points, masks."""
        neurons, points = neurons.double(), points.double()
        w, v = self.w * neurons, self.v * neurons
        return Cell(neurons, points, w, v, self.moments_of(w, v, points))

    def moments_of(self, w: Tensor, v: Tensor, points: Tensor) -> Moments:
        """The moments of a cell's weights and points."""
        return Moments.of(w, v, self.x * points, self.y * points)

    @cached_property
    def cells(self) -> list[Cell]:
        """The parts of the network that are linear networks of their own."""
        return [self.cell(torch.ones_like(self.w), torch.ones_like(self.x))]

    @property
    def moments(self) -> Moments:
        """The moments of the first cell."""
        return self.cells[0].moments

    @property
    def theta(self) -> Tensor:
        """The parameters ``(2m,)``."""
        return torch.cat([self.v, self.w])

    @property
    def rate(self) -> Tensor:
        """A learning rate at which descent does not diverge."""
        size = self.x.square().mean() * self.theta.square().sum() + (self.x * self.y).abs().mean()
        return 0.5 / torch.where(size > 0, size, 1.0)

    @measured
    def descended(self) -> Tensor:
        """The parameters ``(2m,)`` after ``DESCENT`` steps."""
        return self._descended(HalfSquaredError(self.per), self.y)

    @measured
    def descended_logistic(self) -> Tensor:
        """The parameters ``(2m,)`` after as many steps on the logistic loss of the signs."""
        return self._descended(nn.BCEWithLogitsLoss(), (self.y > 0).double())

    def _descended(self, loss: nn.Module, targets: Tensor) -> Tensor:
        model = self.model()
        optimizer = torch.optim.SGD(model.parameters(), lr=float(self.rate))
        for _ in range(DESCENT):
            optimizer.zero_grad()
            loss(model(self.x), targets).backward()
            optimizer.step()
        return torch.cat([layer.detach() for layer in model.parameters()])

    @property
    def outliers(self) -> Tensor:
        """Both measured outliers of a linear network, the larger one first.

        Between the two bulk eigenvalues, of multiplicity m − 1 each, lies the smaller outlier, and
        above both the larger one, so the places are known.
        """
        return self.eigenvalues[[-1, len(self.w) - 1]]


@dataclass(eq=False, kw_only=True)
class Linear(TwoLayer, instances.Linear):
    """Two-layer linear networks; ``step`` is a learning rate for Corollary 3.1."""

    step: Tensor = field(default_factory=torch.Tensor)

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """The library's networks, each with a free vector and a step."""
        return {
            name: replace(net, c=draw.normal(len(net.w)), step=0.2 * draw.normal(1).abs())
            for name, net in super().taken(draw).items()
        }

    @property
    def stated_outliers(self) -> Tensor:
        """The library's outliers, the larger one first."""
        return self.spectrum.select("outlier").flip(0)

    @cached_property
    def outlier_vectors(self) -> Tensor:
        """Theorem 3.2: the eigenvectors of both outliers ``(2m, 2)``, not normalised."""
        columns = [outlier_vector(self.w, self.v, e, self.moments.dx) for e in self.stated_outliers]
        return torch.stack(columns, dim=1)

    @cached_property
    def smaller_norm(self) -> float:
        """The smaller norm of the two vectors of Theorem 3.2, over the size of a usual one."""
        usual = self.stated_outliers.abs().max() * self.theta.norm()
        return float(self.outlier_vectors.norm(dim=0).min() / (float(usual) or 1.0))

    @property
    def regular(self) -> bool:
        """True where both vectors of Theorem 3.2 are there."""
        return not self.smaller_norm <= 1e-4

    @cached_property
    def probe(self) -> Tensor:
        """A λ well above all eigenvalues."""
        return 1 + 2 * self.moments.trace + 2 * self.moments.dx.abs()

    @property
    def at_probe(self) -> Tensor:
        """|H − λ I| there, from the measured eigenvalues."""
        return (self.eigenvalues - self.probe).prod()

    @measured
    def next_hessian(self) -> Tensor:
        """The Hessian after one step of gradient descent with autograd's gradient."""
        v, w = (self.theta - self.step * self.gradient).split(len(self.w))
        return replace(self, w=w, v=v).hessian

    @cached_property
    def duration(self) -> float:
        """A time after which the flow has ended; infinite for one that never does."""
        sums, differences = (self.w + self.v).norm(), (self.w - self.v).norm()
        slowest = 2 * torch.hypot(self.moments.yx, self.moments.s2 * sums * differences / 2)
        return float(60 / slowest) if slowest > 0 else math.inf

    @measured
    def flowed(self) -> Tensor:
        """The parameters of the flow ``(2, 2m)`` at a sixtieth of its duration, and at its end."""
        of, times = self.moments, np.array([self.duration / 60, self.duration])
        s2, yx = float(of.s2), float(of.yx)

        def field_of(_: float, theta: np.ndarray) -> np.ndarray:
            v, w = np.split(theta, 2)
            return (yx - s2 * (v @ w)) * np.concatenate([w, v])

        # A first step of the integrator's own choice may overflow.
        first = min(1e-2 * float(self.rate), times[0])
        solved = solve_ivp(
            field_of,
            (0, times[-1]),
            self.theta.numpy(),
            method="DOP853",
            t_eval=times,
            first_step=first,
            rtol=1e-13,
            atol=1e-15,
        )
        return torch.from_numpy(solved.y.T.copy())

    @cached_property
    def critical(self) -> float:
        """The learning rate up to which descent converges."""
        return float(cf.learning_rates(self.w, self.v, self.x, self.y).critical)

    @measured
    def ends(self) -> Tensor:
        """The parameters ``(2, 2m)`` after ``LONG_DESCENT`` steps at .7 and 1.4 critical rates."""
        s2, yx, ends = float(self.moments.s2), float(self.moments.yx), []
        for rate in (0.7 * self.critical, 1.4 * self.critical):
            v, w = np.split(self.theta.numpy(), 2)
            for _ in range(LONG_DESCENT):
                step = rate * (s2 * (v @ w) - yx)
                if step == 0 or not abs(step) < 1e6:
                    break
                v, w = v - step * w, w - step * v
            ends.append(np.concatenate([v, w]))
        return torch.from_numpy(np.stack(ends))

    def moments_at(self, theta: Tensor) -> Moments:
        """The moments of other parameters ``(2m,)`` on the same data."""
        v, w = theta.split(len(self.w))
        return Moments.of(w, v, self.x, self.y)

    @cached_property
    def leaves_the_saddle(self) -> bool:
        """Whether training can turn both layers to the solution."""
        away = self.w + self.v if self.moments.yx > 0 else self.w - self.v
        return bool((away != 0).any()) and bool(self.moments.dx.abs() > 1e-4 * self.size)


def outlier_vector(w: Tensor, v: Tensor, eigenvalue: Tensor, dx: Tensor) -> Tensor:
    """Theorem 3.2: (λ w + δx v; δx w + λ v) ``(2m,)``, not normalised."""
    return torch.cat([eigenvalue * w + dx * v, dx * w + eigenvalue * v])


def bulk_vector(w: Tensor, v: Tensor, sign: float, c: Tensor) -> Tensor:
    """Theorem 3.3: (ẑ; s ẑ) with ẑ the part of ``c`` orthogonal to w + s v, for a sign s ``(2m,)``.

    Where w + s v = 0 nothing has to be removed.
    """
    direction = w + sign * v
    squared = direction @ direction
    part = c - direction * (direction @ c) / squared if squared > 0 else c
    return torch.cat([part, sign * part])


def block_hessian(cells: Sequence[Cell], m: int, right: Tensor | None = None) -> Tensor:
    """Eq. (7)-(9), summed over cells: the Hessian ``(2m, 2m)`` in the order (v, w).

    Args:
        cells: each has rows and columns of its own.
        m: the width of the network.
        right: what stands for w vᵀ in the upper right block, for what is in print.
    """
    total = torch.zeros(2 * m, 2 * m, dtype=torch.float64)
    for cell in cells:
        s2, w, v = cell.moments.s2, cell.w, cell.v
        shift = cell.moments.dx * torch.diag(cell.neurons)
        cross = s2 * (torch.outer(w, v) if right is None else right) + shift
        above = torch.cat([s2 * torch.outer(w, w), cross], dim=1)
        below = torch.cat([s2 * torch.outer(v, w) + shift, s2 * torch.outer(v, v)], dim=1)
        total += torch.cat([above, below])
    return total


def gradient_error(net: TwoLayer) -> float:
    """The gradient's error over ‖H‖ ‖θ‖, which stays a scale where the gradient vanishes."""
    parts = [cell.moments.dx * torch.cat([cell.w, cell.v]) for cell in net.cells]
    stated = sum(parts, torch.zeros_like(net.theta))
    return relative(stated, net.gradient, over=net.size * net.theta.abs().max() or 1.0)
