"""Instances of the self-attention layer."""

from torch import Tensor

from hessian_spectra.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    tensor,
)


def attention(draw: Draw) -> list[Instance]:
    """Self-attention: ``w_value``, ``w_query``, ``w_key`` ``(d_K,)``, ``x``, ``y (batch, length)``.

    In every third instance d_K = 1, where all eigenvalues are outliers. The edge cases: three
    counterexamples to what is printed; w_V = 0 and zero residual, where γ = 0; w_Q = ± w_K;
    w_Q = 0; a constant sequence.
    """
    edges = [_negative_zeta(), _small_weights(), _falling_bound()]
    edges += changed(
        lambda: _random(draw, batch=1, length=3, width=3),
        lambda i: {"w_value": 0 * i["w_value"]},
        lambda i: {"y": _output(i)},
        lambda i: {"w_key": i["w_query"]},
        lambda i: {"w_key": -i["w_query"]},
        lambda i: {"w_query": 0 * i["w_query"]},
        lambda i: {"x": 0 * i["x"] + 1},
    )
    return edges + [
        _random(
            draw,
            draw.integer(1, 4),
            draw.integer(2, 5),
            1 if k % 3 == 0 else draw.integer(2, draw.width - 2),
        )
        for k in range(draw.instances)
    ]


def rowwise(draw: Draw) -> list[Instance]:
    """Half as many instances as :func:`attention`, for another activation than softmax."""
    return [
        _random(draw, draw.integer(1, 4), draw.integer(2, 5), draw.integer(1, draw.width - 2))
        for _ in range(max(1, draw.instances // 2))
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


def _output(instance: Instance) -> Tensor:
    """What the layer computes: w_V softmax(x_i x_j ⟨w_Q, w_K⟩ / √d_K) x."""
    x, scale = instance["x"], len(instance["w_key"]) ** -0.5
    scores = x[:, :, None] * x[:, None, :] * (instance["w_query"] @ instance["w_key"]) * scale
    return instance["w_value"] * (scores.softmax(dim=2) @ x[:, :, None]).squeeze(2)


def _small_weights() -> Instance:
    """Weights below 1: norms exceed their squares, so that the printed ξ is too large.

    The printed bound on the condition number is then above the condition number.
    """
    return {
        "w_value": tensor(0.76)[0],
        "w_query": tensor(-0.17, 0.006),
        "w_key": tensor(0.15, -0.023),
        "x": tensor(4.5, -1.8)[None],
        "y": tensor(-0.18, -0.17)[None],
    }


def _falling_bound() -> Instance:
    """With ζ < 0: the bound on the condition number falls as the norms of w_Q and w_K grow."""
    return {
        "w_value": tensor(-2.4)[0],
        "w_query": tensor(-1.2, 0.6),
        "w_key": tensor(-0.7, -0.6),
        "x": tensor(-2.6, 0.6)[None],
        "y": tensor(3.7, -5.1)[None],
    }


def _negative_zeta() -> Instance:
    """With ζ < 0: the largest eigenvalue is the bulk's, beyond the bound that Remark B.4 prints."""
    key = tensor(-0.7223121, 1.0726882)
    return {
        "w_value": tensor(28.6158759)[0],
        "w_query": key,
        "w_key": key,
        "x": tensor(-1.5552182, 0.4074608)[None],
        "y": tensor(9.4896302, -91.6437074)[None],
    }
