"""Instances of deep linear networks: ``W1``, ``W2``, ..., inputs ``x (n, d_0)``, ``y (n, d_L)``."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from hessian_spectra.models.balanced import balanced_weights
from hessian_spectra.studies.identities.identities.deep.checks import LEAST_SQUARES, ZERO_LOSS
from hessian_spectra.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    orthonormal,
    whitened,
)

ANY_TARGETS = 0


def layers(instance: Instance, letter: str = "W") -> list[Tensor]:
    """The layers of an instance."""
    count = sum(name.startswith(letter) for name in instance)
    return [instance[f"{letter}{number}"] for number in range(1, count + 1)]


def as_instance(weights: Sequence[Tensor], letter: str = "W") -> Instance:
    """Layers by their names."""
    return {f"{letter}{number}": weight for number, weight in enumerate(weights, start=1)}


def end_to_end(weights: Sequence[Tensor]) -> Tensor:
    """``W_L ... W_1``."""
    product = weights[0]
    for weight in weights[1:]:
        product = weight @ product
    return product


def _widest(draw: Draw) -> int:
    return max(2, draw.width * 2 // 3)


def _count(draw: Draw) -> int:
    """Half as many as for the other theorems: brute force takes two matrices for each."""
    return -(-draw.instances // 2)


def _normal_layers(draw: Draw, widths: Sequence[int]) -> list[Tensor]:
    """Independent entries, each layer on a scale of its own."""
    return [draw.scale() * draw.normal(after, before) for before, after in pairwise(widths)]


def _data(draw: Draw, inputs: int, outputs: int, points: int) -> tuple[Tensor, Tensor]:
    x, y = draw.inputs_and_targets(points, inputs, outputs)
    return x, draw.scale() * y


def any_layers(draw: Draw) -> list[Instance]:
    """Any weights, depth 1 to 4, any loss; the inputs are whitened in every other instance.

    ``probe`` is a direction in the space of the parameters. The edge cases: one layer; all sizes 1;
    a layer of 0; fewer points than inputs.
    """

    def base(widths: Sequence[int], white: bool, points: int = 6) -> Instance:
        x, y = _data(draw, widths[0], widths[-1], points)
        scale = draw.scale()
        weights = _normal_layers(draw, widths)
        return as_instance(weights) | {
            "x": whitened(x, scale) if white else scale * x,
            "y": y,
            "probe": draw.normal(sum(weight.numel() for weight in weights)),
        }

    zero = base((3, 2, 2, 3), True)
    edges = [base((3, 2), True), base((1, 1, 1, 1), True), zero | {"W2": 0 * zero["W2"]}]
    edges.append(base((4, 2, 3), False, points=2))
    return edges + [
        base(
            widths := [draw.integer(1, _widest(draw)) for _ in range(draw.integer(2, 5))],
            number % 2 == 0,
            draw.integer(widths[0], draw.size // 2),
        )
        for number in range(_count(draw))
    ]


def two_layers(draw: Draw) -> list[Instance]:
    """Two layers that are not balanced, whitened inputs, any loss.

    The edge cases: one hidden unit; one output; a wide hidden layer; a first layer of rank 1; equal
    singular values; a second layer of 0.
    """

    def base(widths: Sequence[int], points: int = 6) -> Instance:
        x, y = _data(draw, widths[0], widths[-1], points)
        x = whitened(x, draw.scale())
        return as_instance(_normal_layers(draw, widths)) | {"x": x, "y": y}

    edges = [base((3, 1, 4)), base((3, 2, 1)), base((2, 5, 3))]
    edges += changed(
        lambda: base((4, 2, 3)),
        lambda i: {"W1": torch.outer(i["W1"][:, 0], i["W1"][0])},
        lambda i: {"W1": 2 * orthonormal(i["W1"].mT).mT, "W2": 2 * orthonormal(i["W2"])},
        lambda i: {"W2": 0 * i["W2"]},
    )
    return edges + [
        base(
            widths := [draw.integer(1, _widest(draw)) for _ in range(3)],
            draw.integer(widths[0], draw.size // 2),
        )
        for _ in range(_count(draw))
    ]


def _solution(draw: Draw, widths: Sequence[int], x: Tensor, y: Tensor) -> list[Tensor]:
    """Balanced layers that solve least squares; each hidden layer has room for the solution."""
    scale = x.square().mean(0).mean()
    left, values, right = torch.linalg.svd(y.mT @ x / (len(x) * scale), full_matrices=False)
    root = values ** (1 / (len(widths) - 1))
    hidden = [orthonormal(draw.normal(width, len(values))) for width in widths[1:-1]]
    return [after * root @ before.mT for before, after in pairwise([right.mT, *hidden, left])]


def balanced(draw: Draw) -> list[Instance]:
    """Balanced layers, depth 1 to 4, whitened inputs.

    ``kind`` tells whether the targets are any, such that the network solves least squares, or such
    that it fits them; ``labels (n,)`` are classes of as many samples. The edge cases: one layer;
    one hidden unit; repeated singular values; singular values of 0; both; nearly equal ones.
    """

    def base(
        widths: Sequence[int], kind: int, points: int = 8, values: Sequence[float] = ()
    ) -> Instance:
        x, y = _data(draw, widths[0], widths[-1], points)
        x = whitened(x, draw.scale())
        if kind == LEAST_SQUARES:
            weights = _solution(draw, widths, x, y)
        else:
            spread = 0.3 + draw.uniform(min(widths))
            chosen = list(values) or (draw.scale() * spread).tolist()
            weights = list(balanced_weights(widths, chosen, draw.random))
        if kind == ZERO_LOSS:
            y = x @ end_to_end(weights).mT
        labels = torch.tensor([draw.integer(0, widths[-1] - 1) for _ in range(points)])
        more = {"x": x, "y": y, "kind": torch.tensor(kind), "labels": labels}
        return as_instance(weights) | more

    def widths_for(kind: int) -> list[int]:
        widest = _widest(draw)
        inputs, outputs = draw.integer(1, widest), draw.integer(1, widest)
        least = min(inputs, outputs) if kind == LEAST_SQUARES else 1
        hidden = [draw.integer(least, widest) for _ in range(draw.integer(1, 3))]
        return [inputs, *hidden, outputs]

    edges = [
        base((3, 4), ANY_TARGETS),
        base((4, 1, 3, 3), ZERO_LOSS),
        base((3, 3, 4, 3), ZERO_LOSS, values=[1.5, 1.5, 1.5]),
        base((4, 3, 3, 4), ANY_TARGETS, values=[1.5, 0.5, 0.0]),
        base((3, 4, 4, 4), ZERO_LOSS, values=[1.5, 1.5, 0.0]),
        base((3, 3, 3, 3), ANY_TARGETS, values=[1 + 1e-10, 1.0, 1 - 1e-12]),
    ]
    return edges + [
        base(
            widths := widths_for(kind := number % 3),
            kind,
            # More points than inputs, so that targets of any kind are not fitted.
            draw.integer(widths[0] + 2, draw.size),
        )
        for number in range(_count(draw))
    ]


def recipes(draw: Draw) -> list[Instance]:
    """Appendix C: what its recipes for weights, inputs and subsets are given.

    ``values`` are the singular values of ``W1``, ``W2``, ..., made by the recipe; ``V1``, ... are
    made by the recipe as printed, from the same numbers but for those that it draws once more.
    ``raw (n, d)`` are inputs of rank below ``d`` in every other instance. ``size``, ``share`` and
    ``classes`` tell which subset is asked for.
    """

    def base(number: int) -> Instance:
        widths = [draw.integer(2, _widest(draw) + 1) for _ in range(draw.integer(3, 5))]
        values = 0.3 + draw.uniform(min(widths))
        left = [orthonormal(draw.normal(width, len(values))) for width in widths]
        right = [orthonormal(draw.normal(width, len(values))) for width in widths[:-1]]
        x, y = _data(draw, widths[0], widths[-1], widths[0] + 3)
        raw, _ = draw.points(widths[0] + 6, widths[0])
        if number % 2 == 0:
            raw[:, draw.integer(0, widths[0] - 1)] = 0
        corrected = [after * values @ before.mT for before, after in pairwise(left)]
        printed = [after * values @ v.mT for v, after in zip(right, left[1:], strict=True)]
        classes = draw.integer(3, 10)
        return (
            as_instance(corrected)
            | as_instance(printed, "V")
            | {
                "values": values.sort(descending=True).values,
                "x": whitened(x, draw.scale()),
                "y": y,
                "raw": raw,
                "size": torch.tensor(draw.integer(100, 5000)),
                "share": torch.tensor(draw.integer(2, 17) / 20).double().clamp(min=1.1 / classes),
                "classes": torch.tensor(classes),
            }
        )

    return [base(number) for number in range(_count(draw))]
