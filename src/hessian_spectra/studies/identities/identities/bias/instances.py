"""Instances of the linear network with bias."""

from dataclasses import replace

import torch
from torch import Tensor

from hessian_spectra.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    orthonormal,
    tensor,
    without,
)


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


def bias(draw: Draw) -> list[Instance]:
    """Networks with bias under all assumptions of Theorem B.1: ``w``, ``v``, ``b`` ``(m,)``.

    The edge cases: zero first layer (also at width 1, which allows no other); w = 0; w parallel to
    v; w orthogonal to v and b; zero targets.
    """
    edges = changed(
        lambda: _assumed(draw),
        lambda i: {"v": 0 * i["v"], "b": 0 * i["b"]},
        lambda i: {"v": tensor(0.0), "b": tensor(0.0), "w": i["w"][:1]},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"w": 1.5 * i["v"]},
        lambda i: {"w": without(i["w"], torch.stack([i["v"], i["b"]], dim=1))},
        lambda i: {"y": 0 * i["y"]},
    )
    return edges + [
        _assumed(draw, draw.integer(2, draw.width), draw.integer(4, draw.size))
        for _ in range(draw.instances)
    ]


def dropped(draw: Draw) -> list[Instance]:
    """Like the random ones of :func:`bias`, but each breaks one assumption of Theorem B.1.

    ``dropped`` says which: v orthogonal to b; equal norms; zero mean; unit second moment; no
    correlation.
    """
    changes = (
        lambda i: {"b": (i["b"] + i["v"]) / 2**0.5},
        lambda i: {"b": 2 * i["b"]},
        lambda i: {"x": (i["x"] + 1) / 2**0.5},
        lambda i: {"x": 1.5 * i["x"]},
        lambda i: {"y": i["y"] + 2 * i["x"]},
    )
    found = []
    for k in range(max(draw.instances, 3 * len(changes))):
        instance = _assumed(draw, draw.integer(2, draw.width), max(4, draw.size))
        which = k % len(changes)
        found.append(instance | changes[which](instance) | {"dropped": torch.tensor(which)})
    return found


def parallel(draw: Draw) -> list[Instance]:
    """Like :func:`bias`, for targets that correlate with x and 1 as the weights have it.

    (mean(y x), mean(y)) is parallel to (⟨w, v⟩, ⟨w, b⟩) in place of zero, and so is then (δx, δ):
    all that the theorem needs. ``rho`` is the residual along that direction.
    """
    found = []
    for instance in bias(replace(draw, theorem="bias")):
        w, v, b, x = (instance[name] for name in "wvbx")
        factor = 2 * draw.normal(1)
        y = instance["y"] + factor * ((w @ v) * x + w @ b)
        rho = (1 - factor) * torch.hypot(w @ v, w @ b)
        found.append(instance | {"y": y, "rho": rho})
    return found


def sextic(draw: Draw) -> list[Instance]:
    """Networks with bias and any weights and targets; every other one has width 2.

    At width 2 the sextic is the whole characteristic polynomial. The edge cases: widths 1 and 2;
    b = 0; v = 0; w = 0; v parallel to b; zero residual.
    """

    def base(width: int = 4, points: int = 7) -> Instance:
        x, y = draw.points(points)
        x = _standardised(x)
        weights = {name: draw.scale() * draw.normal(width) for name in "wvb"}
        return weights | {"x": x, "y": 2 * draw.normal(1) * x + draw.normal(1) + draw.scale() * y}

    edges = [base(width=1), base(width=2)]
    edges += changed(
        base,
        lambda i: {"b": 0 * i["b"]},
        lambda i: {"v": 0 * i["v"]},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"b": 0.7 * i["v"]},
        lambda i: {"y": i["x"] * (i["w"] @ i["v"]) + i["w"] @ i["b"]},
    )
    return edges + [
        base(2 if k % 2 else draw.integer(2, draw.width), draw.integer(2, draw.size))
        for k in range(draw.instances)
    ]
