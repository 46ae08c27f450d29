"""Instances of the two-layer ReLU network."""

import torch

from hessian_spectra.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    tensor,
)
from hessian_spectra.studies.identities.identities.linear.instances import network


def relu(draw: Draw) -> list[Instance]:
    """Two-layer ReLU networks: ``w``, ``v`` ``(m,)``, ``x``, ``y`` ``(n,)``, free vector ``c``.

    The edge cases: width 1; all neurons in one cell; neurons with v_j = 0; inputs of one sign only;
    an input at 0; one neuron in each cell; equal weights in a cell; zero residual.
    """

    def base(width: int = 5, points: int = 8) -> Instance:
        return network(draw, width, points)

    def output(instance: Instance) -> torch.Tensor:
        return torch.relu(instance["x"][:, None] * instance["v"]) @ instance["w"]

    found = [
        base(width=1),
        *changed(
            base,
            lambda i: {"v": i["v"].abs()},
            lambda i: {"v": -i["v"].abs()},
            lambda i: {"v": torch.cat([i["v"][:3], tensor(0.0, 0.0)])},
            lambda i: {"v": torch.cat([i["v"][:3].abs(), tensor(0.0, 0.0)])},
            lambda i: {"v": tensor(1.0, -2.0, 0.0, 0.5, 0.0)},
            lambda i: {"v": torch.tensor([0.0, -2.0, -0.3, 0.5, 1.0]).double()},
            lambda i: {"x": i["x"].abs()},
            lambda i: {"x": -i["x"].abs()},
            lambda i: {"x": torch.cat([i["x"][:-1], tensor(0.0)])},
            lambda i: {"w": i["w"][:2], "v": tensor(1.5, -0.5)},
            lambda i: {"w": torch.where(i["v"] > 0, i["v"], i["w"])},
            lambda i: {"y": output(i)},
        ),
        *(
            base(draw.integer(2, draw.width), draw.integer(2, draw.size))
            for _ in range(draw.instances)
        ),
    ]
    return [instance | {"c": draw.normal(len(instance["w"]))} for instance in found]
