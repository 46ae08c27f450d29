"""Instances of the networks with several inputs or outputs."""

import torch

from hessian_spectra.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    orthonormal,
    tensor,
    whitened,
    without,
)


def _weights(draw: Draw, rows: int, width: int) -> Instance:
    return {
        "w": draw.scale() * draw.normal(rows, width),
        "v": draw.scale() * draw.normal(rows, width),
    }


def _several_inputs(draw: Draw, width: int, x: torch.Tensor, y: torch.Tensor) -> Instance:
    """Weights for the given inputs, and targets that correlate with these."""
    inputs = x.shape[1]
    weights = _weights(draw, inputs, width)
    return weights | {"x": x, "y": x @ draw.normal(inputs) + draw.scale() * y}


def _fitted(instance: Instance) -> Instance:
    """Targets without a residual."""
    return {"y": instance["x"] @ (instance["w"] * instance["v"]).sum(dim=1)}


def multi_input(draw: Draw) -> list[Instance]:
    """Several decorrelated inputs: ``w``, ``v`` ``(D, m)``, ``x (n, D)``, ``y (n,)``.

    Every third instance is a diagonal linear network, ``m = 1``. The edge cases: one input; an
    input that is always 0; w = v in one coordinate; zero residual.
    """

    def base(inputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs)
        # Each input keeps a variance of its own: decorrelated, not whitened.
        x = whitened(x) * torch.tensor([draw.scale() for _ in range(inputs)])
        return _several_inputs(draw, width, x, y)

    edges = [base(inputs=1), base(inputs=4, width=1)]
    edges += changed(
        base,
        lambda i: {"x": i["x"] * tensor(1.0, 0.0, 1.0)},
        lambda i: {"w": torch.cat([i["v"][:1], i["w"][1:]])},
        _fitted,
    )
    return edges + [
        base(
            draw.integer(1, 4),
            1 if k % 3 == 0 else draw.integer(2, draw.width // 2),
            draw.integer(4, draw.size),
        )
        for k in range(draw.instances)
    ]


def correlated_input(draw: Draw) -> list[Instance]:
    """Several correlated inputs, like :func:`multi_input` otherwise.

    The edge cases: two equal inputs; fewer points than inputs; m = 1; zero residual.
    """

    def base(inputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs)
        x = x @ (torch.eye(inputs).double() + draw.normal(inputs, inputs))
        return _several_inputs(draw, width, x, y)

    edges = [base(points=2), base(width=1)]
    edges += changed(base, lambda i: {"x": i["x"][:, [0, 0, 2]]}, _fitted)
    return edges + [
        base(draw.integer(2, 4), draw.integer(1, draw.width // 2), draw.integer(2, draw.size))
        for _ in range(draw.instances)
    ]


def multi_output(draw: Draw) -> list[Instance]:
    """Several outputs: ``w``, ``v`` ``(K, m)``, ``x (n,)``, ``y (n, K)``.

    The edge cases: one output; m = 1; one head with w = v; one head without a residual.
    """

    def base(outputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, _ = draw.points(points)
        _, y = draw.points(points, outputs)
        x = draw.scale() * x
        return _weights(draw, outputs, width) | {"x": x, "y": x[:, None] * draw.normal(outputs) + y}

    def first_head_fitted(instance: Instance) -> Instance:
        fitted = instance["x"][:, None] * (instance["w"][0] @ instance["v"][0])
        return {"y": torch.cat([fitted, instance["y"][:, 1:]], dim=1)}

    edges = [base(outputs=1), base(width=1)]
    edges += changed(base, lambda i: {"w": torch.cat([i["v"][:1], i["w"][1:]])}, first_head_fitted)
    return edges + [
        base(draw.integer(1, 4), draw.integer(1, draw.width // 2), draw.integer(1, draw.size))
        for _ in range(draw.instances)
    ]


def orthogonal(draw: Draw) -> list[Instance]:
    """An orthogonal first layer: ``w (m,)``, ``V (m, D)``, whitened ``x (n, D)``, E[yx] = 0.

    The edge cases: m = D; D = 1; w orthogonal to the columns of V; w = 0; V = 0; zero targets.
    """

    def base(inputs: int = 3, width: int = 5, points: int = 9) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs)
        x = whitened(x)
        return {
            "w": draw.scale() * draw.normal(width),
            "V": draw.scale() * orthonormal(draw.normal(width, inputs)),
            "x": x,
            "y": draw.scale() * without(y, x),
        }

    edges = [base(width=3), base(inputs=1)]
    edges += changed(
        base,
        lambda i: {"w": without(i["w"], i["V"])},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"V": 0 * i["V"]},
        lambda i: {"y": 0 * i["y"]},
    )
    return edges + [
        base(
            inputs := draw.integer(1, 4),
            draw.integer(inputs, draw.width),
            draw.integer(inputs + 1, draw.size),
        )
        for _ in range(draw.instances)
    ]


def matrices(draw: Draw) -> list[Instance]:
    """Two weight matrices: ``W1 (m, D)``, ``W2 (K, m)``, ``x (n, D)``, ``y (n, K)``.

    The inputs are whitened but in every fourth instance; every other instance has zero loss; K = D
    (the paper's case) in two of three. The edge cases: all sizes 1; a zero matrix W2.
    """

    def base(
        k: int, inputs: int = 2, outputs: int = 2, width: int = 3, points: int = 6
    ) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs, outputs)
        if k % 4 != 3:
            x = whitened(x)
        first = draw.scale() * draw.normal(width, inputs)
        second = draw.scale() * draw.normal(outputs, width)
        noise = (k % 2) * draw.scale() * y
        return {"W1": first, "W2": second, "x": x, "y": x @ first.mT @ second.mT + noise}

    zero = base(1)
    edges = [base(1, 1, 1, 1), zero | {"W2": 0 * zero["W2"]}]
    return edges + [
        base(
            k,
            inputs := draw.integer(1, 3),
            inputs if k % 3 else draw.integer(1, 3),
            draw.integer(1, draw.width // 2),
            draw.integer(3, draw.size),
        )
        for k in range(draw.instances)
    ]
