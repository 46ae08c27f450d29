"""Instances of the two-layer linear network."""

import torch

from hessian_spectra.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    tensor,
    without,
)


def network(draw: Draw, width: int, points: int) -> Instance:
    """One random network ``w``, ``v`` ``(m,)`` with data ``x``, ``y`` ``(n,)``."""
    x, y = draw.points(points)
    # A slope, so that targets and inputs correlate in most instances.
    slope, noise = 2 * draw.normal(1), draw.scale()
    return {
        "w": draw.scale() * draw.normal(width),
        "v": draw.scale() * draw.normal(width),
        "x": draw.scale() * x,
        "y": slope * x + noise * y,
    }


def linear(draw: Draw) -> list[Instance]:
    """Two-layer linear networks: ``w``, ``v`` ``(m,)``, ``x``, ``y`` ``(n,)``.

    ``c`` ``(m,)`` is the free vector of Theorem 3.3, ``step`` a learning rate for Corollary 3.1.
    The edge cases: width 1; w = v; w = -v; w = 0; all weights zero; zero residual; a residual
    uncorrelated with the input; equal outliers; one point; negative slope; orthogonal weights;
    large inputs.
    """

    def base(width: int = 4, points: int = 7) -> Instance:
        return network(draw, width, points)

    def slope(instance: Instance) -> torch.Tensor:
        return instance["w"] @ instance["v"]

    found = [
        base(width=1),
        base(width=1) | {"w": tensor(1.0), "v": tensor(1.0)},
        *changed(
            base,
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
        ),
        base(points=1),
        *(
            base(draw.integer(1, draw.width), draw.integer(1, draw.size))
            for _ in range(draw.instances)
        ),
    ]
    for instance in found:
        instance["c"] = draw.normal(len(instance["w"]))
        instance["step"] = 0.2 * draw.normal(1).abs()
    return found
