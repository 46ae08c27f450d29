"""The random networks and edge cases on which the study of the identities compares both sides.

One function a theorem. Each returns a list of instances, dictionaries of float64 tensors, the same
ones at every call with the same configuration and data. Edge cases come first and are always there;
``config.instances`` random ones follow.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.results import Arrays
from hessian_spectra.seeding import generator
from hessian_spectra.studies.identities.identities.config import Config

Instance = dict[str, Tensor]


@dataclass(frozen=True)
class Draw:
    """Random weights from the study's own stream, and slices of the data set.

    Args:
        random: the stream of one theorem.
        x: ``(N,)`` inputs of the data set.
        y: ``(N,)`` its targets.
    """

    random: torch.Generator
    x: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, config: Config, data: Arrays, theorem: str) -> "Draw":
        """The stream of one theorem."""
        return cls(generator(config.seed, f"instances {theorem}"), data["x"], data["y"])

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(shape, dtype=torch.float64, generator=self.random)

    def integer(self, low: int, high: int) -> int:
        """An integer between ``low`` and ``high``, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.random))

    def scale(self) -> float:
        """A factor between 0.2 and 5, uniform in its logarithm."""
        return float(5 ** (2 * torch.rand((), dtype=torch.float64, generator=self.random) - 1))

    def points(self, *shape: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the given shape: a slice of the data set at a random place."""
        count = int(np.prod(shape))
        place = np.arange(count) + self.integer(0, len(self.x) - 1)
        x, y = (column.take(place, mode="wrap").reshape(shape) for column in (self.x, self.y))
        return torch.from_numpy(x).double(), torch.from_numpy(y).double()


def orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis of the span of the columns ``(n, k)``, ``k <= n``."""
    return torch.linalg.qr(columns).Q


def without(y: Tensor, columns: Tensor) -> Tensor:
    """``y`` minus its projection on the columns, once more to remove the round-off of the first."""
    basis = orthonormal(columns)
    for _ in range(2):
        y = y - basis @ (basis.mT @ y)
    return y


def _linear_random(draw: Draw, width: int, points: int) -> Instance:
    x, y = draw.points(points)
    # A slope, so that targets and inputs correlate in most instances.
    slope, noise = 2 * draw.normal(1), draw.scale()
    return {
        "w": draw.scale() * draw.normal(width),
        "v": draw.scale() * draw.normal(width),
        "x": draw.scale() * x,
        "y": slope * x + noise * y,
    }


def linear(config: Config, data: Arrays) -> list[Instance]:
    """Two-layer linear networks: ``w``, ``v`` ``(m,)``, ``x``, ``y`` ``(n,)``.

    ``c`` ``(m,)`` is the free vector of Theorem 3.3, ``step`` a learning rate for Corollary 3.1.
    The edge cases: width 1; w = v; w = -v; w = 0; all weights zero; zero residual; a residual
    uncorrelated with the input; equal outliers; one point; negative slope; orthogonal weights;
    large inputs.
    """
    draw = Draw.of(config, data, "linear")

    def base(width: int = 4, points: int = 7) -> Instance:
        return _linear_random(draw, width, points)

    def slope(instance: Instance) -> Tensor:
        return instance["w"] @ instance["v"]

    edges = [
        base(width=1),
        base(width=1) | {"w": torch.ones(1).double(), "v": torch.ones(1).double()},
    ]
    for change in (
        lambda i: {"w": i["v"]},
        lambda i: {"w": -i["v"]},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"w": 0 * i["w"], "v": 0 * i["v"]},
        lambda i: {"y": slope(i) * i["x"]},
        lambda i: {"y": slope(i) * i["x"] + without(i["y"], i["x"][:, None])},
        lambda i: {"w": i["v"], "y": 2 * (i["v"] @ i["v"]) * i["x"]},
        lambda i: {"y": -3 * i["x"]},
        lambda i: {"w": without(i["w"], i["v"][:, None])},
        lambda i: {"x": 1e3 * i["x"]},
    ):
        instance = base()
        edges.append(instance | change(instance))
    edges.append(base(points=1))
    found = edges + [
        base(draw.integer(1, config.width), draw.integer(1, config.points))
        for _ in range(config.instances)
    ]
    for instance in found:
        instance["c"] = draw.normal(len(instance["w"]))
        instance["step"] = 0.2 * draw.normal(1).abs()
    return found


def relu(config: Config, data: Arrays) -> list[Instance]:
    """Two-layer ReLU networks: ``w``, ``v`` ``(m,)``, ``x``, ``y`` ``(n,)``, free vector ``c``.

    The edge cases: width 1; all neurons in one cell; neurons with v_j = 0; inputs of one sign only;
    an input at 0; one neuron in each cell; equal weights in a cell; zero residual.
    """
    draw = Draw.of(config, data, "relu")

    def base(width: int = 5, points: int = 8) -> Instance:
        return _linear_random(draw, width, points)

    def output(instance: Instance) -> Tensor:
        return torch.relu(instance["x"][:, None] * instance["v"]) @ instance["w"]

    edges = [base(width=1)]
    for change in (
        lambda i: {"v": i["v"].abs()},
        lambda i: {"v": -i["v"].abs()},
        lambda i: {"v": torch.cat([i["v"][:3], torch.zeros(2).double()])},
        lambda i: {"v": torch.cat([i["v"][:3].abs(), torch.zeros(2).double()])},
        lambda i: {"v": torch.tensor([1.0, -2.0, 0.0, 0.5, 0.0]).double()},
        lambda i: {"v": torch.tensor([0.0, -2.0, -0.3, 0.5, 1.0]).double()},
        lambda i: {"x": i["x"].abs()},
        lambda i: {"x": -i["x"].abs()},
        lambda i: {"x": torch.cat([i["x"][:-1], torch.zeros(1).double()])},
        lambda i: {"w": i["w"][:2], "v": torch.tensor([1.5, -0.5]).double()},
        lambda i: {"w": torch.where(i["v"] > 0, i["v"], i["w"])},
        lambda i: {"y": output(i)},
    ):
        instance = base()
        edges.append(instance | change(instance))
    found = edges + [
        base(draw.integer(2, config.width), draw.integer(2, config.points))
        for _ in range(config.instances)
    ]
    for instance in found:
        instance["c"] = draw.normal(len(instance["w"]))
    return found


def _standardised(x: Tensor) -> Tensor:
    """``x`` with zero mean and unit second moment."""
    x = x - x.mean()
    return x / x.square().mean().sqrt()


def _assumed(draw: Draw, width: int = 5, points: int = 9) -> Instance:
    """One instance that meets all assumptions of Theorem B.1."""
    x, y = draw.points(points)
    x = _standardised(x)
    first = draw.scale() * orthonormal(draw.normal(width, 2))
    y = draw.scale() * without(y, torch.stack([x, torch.ones_like(x)], dim=1))
    w = draw.scale() * draw.normal(width)
    return {"w": w, "v": first[:, 0], "b": first[:, 1], "x": x, "y": y}


def bias(config: Config, data: Arrays) -> list[Instance]:
    """Networks with bias under all assumptions of Theorem B.1: ``w``, ``v``, ``b`` ``(m,)``.

    The edge cases: zero first layer (also at width 1, which allows no other); w = 0; w parallel to
    v; w orthogonal to v and b; zero targets.
    """
    draw = Draw.of(config, data, "bias")
    edges = []
    for change in (
        lambda i: {"v": 0 * i["v"], "b": 0 * i["b"]},
        lambda i: {"v": torch.zeros(1).double(), "b": torch.zeros(1).double(), "w": i["w"][:1]},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"w": 1.5 * i["v"]},
        lambda i: {"w": without(i["w"], torch.stack([i["v"], i["b"]], dim=1))},
        lambda i: {"y": 0 * i["y"]},
    ):
        instance = _assumed(draw)
        edges.append(instance | change(instance))
    return edges + [
        _assumed(
            draw, draw.integer(2, max(2, config.width)), draw.integer(4, max(4, config.points))
        )
        for _ in range(config.instances)
    ]


# Which assumption of Theorem B.1 an instance of :func:`dropped` breaks, and no other one.
DROPPED = ("v orthogonal to b", "equal norms", "zero mean", "unit second moment", "no correlation")


def dropped(config: Config, data: Arrays) -> list[Instance]:
    """Like the random ones of :func:`bias`, but each breaks one assumption of Theorem B.1.

    ``dropped`` is its place in :data:`DROPPED`.
    """
    draw = Draw.of(config, data, "dropped")
    changes = (
        lambda i: {"b": (i["b"] + i["v"]) / 2**0.5},
        lambda i: {"b": 2 * i["b"]},
        lambda i: {"x": (i["x"] + 1) / 2**0.5},
        lambda i: {"x": 1.5 * i["x"]},
        lambda i: {"y": i["y"] + 2 * i["x"]},
    )
    found = []
    for k in range(max(config.instances, 3 * len(changes))):
        instance = _assumed(draw, draw.integer(2, max(2, config.width)), max(4, config.points))
        which = k % len(changes)
        found.append(instance | changes[which](instance) | {"dropped": torch.tensor(which)})
    return found


def parallel(config: Config, data: Arrays) -> list[Instance]:
    """Like :func:`bias`, for targets that correlate with x and 1 as the weights have it.

    (mean(y x), mean(y)) is parallel to (⟨w, v⟩, ⟨w, b⟩) in place of zero, and so is then (δx, δ):
    all that the theorem needs. ``rho`` is the residual along that direction.
    """
    draw = Draw.of(config, data, "parallel")
    found = []
    for instance in bias(config, data):
        w, v, b, x = (instance[name] for name in "wvbx")
        factor = 2 * draw.normal(1)
        y = instance["y"] + factor * ((w @ v) * x + w @ b)
        rho = (1 - factor) * torch.hypot(w @ v, w @ b)
        found.append(instance | {"y": y, "rho": rho})
    return found


def sextic(config: Config, data: Arrays) -> list[Instance]:
    """Networks with bias and any weights and targets; every other one has width 2.

    At width 2 the sextic is the whole characteristic polynomial. The edge cases: widths 1 and 2;
    b = 0; v = 0; w = 0; v parallel to b; zero residual.
    """
    draw = Draw.of(config, data, "sextic")

    def base(width: int = 4, points: int = 7) -> Instance:
        x, y = draw.points(points)
        x = _standardised(x)
        weights = {name: draw.scale() * draw.normal(width) for name in "wvb"}
        return weights | {"x": x, "y": 2 * draw.normal(1) * x + draw.normal(1) + draw.scale() * y}

    edges = [base(width=1), base(width=2)]
    for change in (
        lambda i: {"b": 0 * i["b"]},
        lambda i: {"v": 0 * i["v"]},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"b": 0.7 * i["v"]},
        lambda i: {"y": i["x"] * (i["w"] @ i["v"]) + i["w"] @ i["b"]},
    ):
        instance = base()
        edges.append(instance | change(instance))
    return edges + [
        base(
            2 if k % 2 else draw.integer(2, max(2, config.width)),
            draw.integer(2, max(2, config.points)),
        )
        for k in range(config.instances)
    ]
