"""Instances of the networks with several inputs or outputs."""

import torch
from torch import Tensor

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.config import Config
from hessian_spectra.studies.identities.identities.instances import (
    Draw,
    Instance,
    orthonormal,
    without,
)


def _whitened(x: Tensor) -> Tensor:
    """The columns of ``x (n, D)`` made orthogonal with unit second moment, so that E[xxᵀ] = I."""
    return orthonormal(x) * len(x) ** 0.5


def _weights(draw: Draw, rows: int, width: int) -> Instance:
    return {
        "w": draw.scale() * draw.normal(rows, width),
        "v": draw.scale() * draw.normal(rows, width),
    }


def multi_input(config: Config, data: Arrays) -> list[Instance]:
    """Several decorrelated inputs: ``w``, ``v`` ``(D, m)``, ``x (n, D)``, ``y (n,)``.

    Every third instance is a diagonal linear network, ``m = 1``. The edge cases: one input; an
    input that is always 0; w = v in one coordinate; zero residual.
    """
    draw = Draw.of(config, data, "multi_input")

    def base(inputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, _ = draw.points(points, inputs)
        _, y = draw.points(points)
        # Each input keeps a variance of its own: decorrelated, not whitened.
        x = _whitened(x) * torch.tensor([draw.scale() for _ in range(inputs)])
        return _weights(draw, inputs, width) | {
            "x": x,
            "y": x @ draw.normal(inputs) + draw.scale() * y,
        }

    edges = [base(inputs=1), base(inputs=4, width=1)]
    for change in (
        lambda i: {"x": i["x"] * torch.tensor([1.0, 0.0, 1.0]).double()},
        lambda i: {"w": torch.cat([i["v"][:1], i["w"][1:]])},
        lambda i: {"y": i["x"] @ (i["w"] * i["v"]).sum(dim=1)},
    ):
        instance = base()
        edges.append(instance | change(instance))
    return edges + [
        base(
            draw.integer(1, 4),
            1 if k % 3 == 0 else draw.integer(2, max(2, config.width // 2)),
            draw.integer(4, max(4, config.points)),
        )
        for k in range(config.instances)
    ]


def correlated_input(config: Config, data: Arrays) -> list[Instance]:
    """Several correlated inputs, like :func:`multi_input` otherwise.

    The edge cases: two equal inputs; fewer points than inputs; m = 1; zero residual.
    """
    draw = Draw.of(config, data, "correlated_input")

    def base(inputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, _ = draw.points(points, inputs)
        _, y = draw.points(points)
        x = x @ (torch.eye(inputs).double() + draw.normal(inputs, inputs))
        return _weights(draw, inputs, width) | {
            "x": x,
            "y": x @ draw.normal(inputs) + draw.scale() * y,
        }

    edges = [base(points=2), base(width=1)]
    for change in (
        lambda i: {"x": i["x"][:, [0, 0, 2]]},
        lambda i: {"y": i["x"] @ (i["w"] * i["v"]).sum(dim=1)},
    ):
        instance = base()
        edges.append(instance | change(instance))
    return edges + [
        base(
            draw.integer(2, 4),
            draw.integer(1, max(1, config.width // 2)),
            draw.integer(2, max(2, config.points)),
        )
        for _ in range(config.instances)
    ]


def multi_output(config: Config, data: Arrays) -> list[Instance]:
    """Several outputs: ``w``, ``v`` ``(K, m)``, ``x (n,)``, ``y (n, K)``.

    The edge cases: one output; m = 1; one head with w = v; one head without a residual.
    """
    draw = Draw.of(config, data, "multi_output")

    def base(outputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, _ = draw.points(points)
        _, y = draw.points(points, outputs)
        x = draw.scale() * x
        return _weights(draw, outputs, width) | {"x": x, "y": x[:, None] * draw.normal(outputs) + y}

    edges = [base(outputs=1), base(width=1)]
    for change in (
        lambda i: {"w": torch.cat([i["v"][:1], i["w"][1:]])},
        lambda i: {
            "y": torch.cat([i["x"][:, None] * (i["w"][0] @ i["v"][0]), i["y"][:, 1:]], dim=1),
        },
    ):
        instance = base()
        edges.append(instance | change(instance))
    return edges + [
        base(
            draw.integer(1, 4),
            draw.integer(1, max(1, config.width // 2)),
            draw.integer(1, config.points),
        )
        for _ in range(config.instances)
    ]


def orthogonal(config: Config, data: Arrays) -> list[Instance]:
    """An orthogonal first layer: ``w (m,)``, ``V (m, D)``, whitened ``x (n, D)``, E[yx] = 0.

    The edge cases: m = D; D = 1; w orthogonal to the columns of V; w = 0; V = 0; zero targets.
    """
    draw = Draw.of(config, data, "orthogonal")

    def base(inputs: int = 3, width: int = 5, points: int = 9) -> Instance:
        x, _ = draw.points(points, inputs)
        _, y = draw.points(points)
        x = _whitened(x)
        return {
            "w": draw.scale() * draw.normal(width),
            "V": draw.scale() * orthonormal(draw.normal(width, inputs)),
            "x": x,
            "y": draw.scale() * without(y, x),
        }

    edges = [base(width=3), base(inputs=1)]
    for change in (
        lambda i: {"w": without(i["w"], i["V"])},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"V": 0 * i["V"]},
        lambda i: {"y": 0 * i["y"]},
    ):
        instance = base()
        edges.append(instance | change(instance))
    return edges + [
        base(
            inputs := draw.integer(1, 4),
            draw.integer(inputs, max(inputs, config.width)),
            draw.integer(inputs + 1, max(inputs + 1, config.points)),
        )
        for _ in range(config.instances)
    ]


def matrices(config: Config, data: Arrays) -> list[Instance]:
    """Two weight matrices: ``W1 (m, D)``, ``W2 (K, m)``, ``x (n, D)``, ``y (n, K)``.

    The inputs are whitened but in every fourth instance; every other instance has zero loss; K = D
    (the paper's case) in two of three. The edge cases: all sizes 1; a zero matrix W2.
    """
    draw = Draw.of(config, data, "matrices")

    def base(
        k: int, inputs: int = 2, outputs: int = 2, width: int = 3, points: int = 6
    ) -> Instance:
        x, _ = draw.points(points, inputs)
        _, y = draw.points(points, outputs)
        if k % 4 != 3:
            x = _whitened(x)
        weights = {"W1": draw.scale() * draw.normal(width, inputs)}
        weights["W2"] = draw.scale() * draw.normal(outputs, width)
        return weights | {
            "x": x,
            "y": x @ weights["W1"].mT @ weights["W2"].mT + (k % 2) * draw.scale() * y,
        }

    zero = base(1)
    edges = [base(1, 1, 1, 1), zero | {"W2": 0 * zero["W2"]}]
    return edges + [
        base(
            k,
            inputs := draw.integer(1, 3),
            inputs if k % 3 else draw.integer(1, 3),
            draw.integer(1, max(1, config.width // 2)),
            draw.integer(3, max(3, config.points)),
        )
        for k in range(config.instances)
    ]
