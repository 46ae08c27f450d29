"""Instances of the self-attention layer."""

import torch

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.config import Config
from hessian_spectra.studies.identities.identities.instances import Draw, Instance


def _tensor(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def attention(config: Config, data: Arrays) -> list[Instance]:
    """Self-attention: ``w_value``, ``w_query``, ``w_key`` ``(d_K,)``, ``x``, ``y (batch, length)``.

    In every third instance d_K = 1, where all eigenvalues are outliers. The edge cases: three
    counterexamples to what is printed; w_V = 0 and zero residual, where γ = 0; w_Q = ± w_K;
    w_Q = 0; a constant sequence.
    """
    draw = Draw.of(config, data, "attention")

    edges = [_negative_zeta(), _small_weights(), _falling_bound()]
    for change in (
        lambda i: {"w_value": 0 * i["w_value"]},
        lambda i: {"y": _output(i)},
        lambda i: {"w_key": i["w_query"]},
        lambda i: {"w_key": -i["w_query"]},
        lambda i: {"w_query": 0 * i["w_query"]},
        lambda i: {"x": 0 * i["x"] + 1},
    ):
        instance = _random(draw, batch=1, length=3, width=3)
        edges.append(instance | change(instance))
    return edges + [
        _random(
            draw,
            draw.integer(1, 4),
            draw.integer(2, 5),
            1 if k % 3 == 0 else draw.integer(2, max(2, config.width - 2)),
        )
        for k in range(config.instances)
    ]


def rowwise(config: Config, data: Arrays) -> list[Instance]:
    """Half as many instances as :func:`attention`, for another activation than softmax."""
    draw = Draw.of(config, data, "rowwise")
    return [
        _random(
            draw, draw.integer(1, 4), draw.integer(2, 5), draw.integer(1, max(1, config.width - 2))
        )
        for _ in range(max(1, config.instances // 2))
    ]


def _random(draw: Draw, batch: int, length: int, width: int) -> Instance:
    x, y = draw.points(batch, length)
    return {
        "w_value": draw.scale() * draw.normal(),
        "w_query": draw.scale() * draw.normal(width),
        "w_key": draw.scale() * draw.normal(width),
        "x": x,
        "y": draw.scale() * y,
    }


def _output(instance: Instance) -> torch.Tensor:
    """What the layer computes: w_V softmax(x_i x_j ⟨w_Q, w_K⟩ / √d_K) x."""
    x, scale = instance["x"], len(instance["w_key"]) ** -0.5
    scores = x[:, :, None] * x[:, None, :] * (instance["w_query"] @ instance["w_key"]) * scale
    return instance["w_value"] * (scores.softmax(dim=2) @ x[:, :, None]).squeeze(2)


def _small_weights() -> Instance:
    """Weights below 1: norms exceed their squares, so that the printed ξ is too large.

    The printed bound on the condition number is then above the condition number.
    """
    return {
        "w_value": torch.tensor(0.76, dtype=torch.float64),
        "w_query": _tensor(-0.17, 0.006),
        "w_key": _tensor(0.15, -0.023),
        "x": _tensor(4.5, -1.8)[None],
        "y": _tensor(-0.18, -0.17)[None],
    }


def _falling_bound() -> Instance:
    """With ζ < 0: the bound on the condition number falls as the norms of w_Q and w_K grow."""
    return {
        "w_value": torch.tensor(-2.4, dtype=torch.float64),
        "w_query": _tensor(-1.2, 0.6),
        "w_key": _tensor(-0.7, -0.6),
        "x": _tensor(-2.6, 0.6)[None],
        "y": _tensor(3.7, -5.1)[None],
    }


def _negative_zeta() -> Instance:
    """With ζ < 0: the largest eigenvalue is the bulk's, beyond the bound that Remark B.4 prints."""
    key = _tensor(-0.7223121, 1.0726882)
    return {
        "w_value": torch.tensor(28.6158759, dtype=torch.float64),
        "w_query": key,
        "w_key": key,
        "x": _tensor(-1.5552182, 0.4074608)[None],
        "y": _tensor(9.4896302, -91.6437074)[None],
    }
