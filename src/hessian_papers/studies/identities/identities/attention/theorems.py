"""Self-attention: Theorem 3.5, Remarks B.2 to B.4 and 3.1, and activations other than softmax."""

import torch
from torch import Tensor

from hessian_papers.studies.identities.identities.attention import formulas
from hessian_papers.studies.identities.identities.instances import Draw, Instance, changed, tensor
from hessian_papers.studies.identities.identities.theorem import Quantities, Theorem
from hessian_spectra import closed_form as cf
from hessian_spectra.models import SelfAttention

Row = tuple[float, float]


def draw_attention(draw: Draw) -> list[Instance]:
    """Self-attention: ``w_value``, ``w_query``, ``w_key`` ``(d_K,)``, ``x``, ``y (batch, length)``.

    In every third instance d_K = 1, where all eigenvalues are outliers. The edge cases: three
    counterexamples to what is printed; w_V = 0 and zero residual, where γ = 0; w_Q = ± w_K;
    w_Q = 0; a constant sequence.
    """
    edges = _counterexamples() + changed(
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


def draw_rowwise(draw: Draw) -> list[Instance]:
    """Half as many instances as :func:`draw_attention`, for another activation than softmax."""
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


def _given(value: float, query: Row, key: Row, x: Row, y: Row) -> Instance:
    """One sequence and weights whose numbers are written down."""
    names = ("w_query", "w_key", "x", "y")
    rows = dict(zip(names, (tensor(*row) for row in (query, key, x, y)), strict=True))
    return rows | {"w_value": tensor(value)[0], "x": rows["x"][None], "y": rows["y"][None]}


def _counterexamples() -> list[Instance]:
    """To what is printed of Remarks B.4 and 3.1."""
    key = (-0.7223121, 1.0726882)
    return [
        # With ζ < 0: the largest eigenvalue is the bulk's, beyond the bound of Remark B.4.
        _given(28.6158759, key, key, (-1.5552182, 0.4074608), (9.4896302, -91.6437074)),
        # Weights below 1: norms exceed their squares, so that the printed ξ is too large. The
        # printed bound on the condition number is then above the condition number.
        _given(0.76, (-0.17, 0.006), (0.15, -0.023), (4.5, -1.8), (-0.18, -0.17)),
        # With ζ < 0: the bound on the condition number falls as the norms of w_Q and w_K grow.
        _given(-2.4, (-1.2, 0.6), (-0.7, -0.6), (-2.6, 0.6), (3.7, -5.1)),
    ]


def _weights(instance: Instance) -> tuple[Tensor, Tensor, Tensor]:
    return instance["w_value"], instance["w_query"], instance["w_key"]


def _with_bulk(outliers: Tensor, gamma: Tensor, d: int) -> Tensor:
    """All eigenvalues ``(1 + 2 d_K,)`` from the three outliers and ±γ."""
    bulk = gamma.expand(d - 1)
    return torch.cat([outliers, bulk, -bulk]).sort().values


def attention(instance: Instance) -> Quantities:
    """What the theorem and its remarks say about one instance."""
    arguments = *_weights(instance), instance["x"], instance["y"]
    spectrum = cf.self_attention(*arguments)
    of, (_, query, key) = cf.attention_coefficients(*arguments), _weights(instance)
    d, zero = len(key), torch.zeros(1, dtype=torch.float64)
    cubic = cf.attention_cubic(of, query, key)
    without_bulk = torch.cat([cf.attention_outliers_without_bulk(of, query, key), zero])
    return {
        "width": torch.tensor(d),
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "is_outlier": torch.tensor([label.startswith("outlier") for label in spectrum.labels]),
        "hessian": formulas.displayed_hessian(of, query, key),
        "printed_hessian": formulas.printed_hessian(of, query, key),
        "gamma": of.gamma,
        "zeta": of.zeta,
        "trace": of.alpha + of.zeta * (key @ key + query @ query),
        "viete_spectrum": _with_bulk(cubic.roots(), of.gamma, d),
        "spectrum_without_gamma": _with_bulk(without_bulk, torch.zeros_like(of.gamma), d),
        "query_key_quadratic": formulas.query_key_quadratic(of, query, key),
        "cubic": formulas.cubic(of, query, key),
        "depressed_cubic": formulas.in_eigenvalue(cubic, cubic.q),
        "printed_depressed_cubic": formulas.in_eigenvalue(
            cubic, formulas.printed_q(of, query, key)
        ),
        "outlier_bounds": torch.stack(cf.attention_outlier_bounds(of, query, key)),
        "largest_bounds": torch.stack(cf.attention_largest_eigenvalue_bounds(of, query, key)),
        "printed_half_width": formulas.printed_half_width(of, query, key),
        "condition_bounds": formulas.condition_bounds(of, query, key),
        "growing_bound": formulas.growing_bound(of, query, key),
    }


class RowwiseAttention(SelfAttention):
    """Self-attention with tanh of each score in the place of softmax."""

    def attention(self, x: Tensor) -> Tensor:
        """The attention weights ``(batch, length, length)``; their rows sum to anything."""
        alignment = self.w_query @ self.w_key / len(self.w_key) ** 0.5
        return torch.tanh(x[:, :, None] * x[:, None, :] * alignment)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(batch, length)``: sums of tokens, as the weights do not make means of them."""
        return self.w_value * (self.attention(x) @ x[..., None])[..., 0]


def rowwise(instance: Instance) -> Quantities:
    """Theorem 3.5 with tanh of each score."""
    arguments = *_weights(instance), instance["x"], instance["y"]
    return {"eigenvalues": cf.self_attention(*arguments, activation=torch.tanh).eigenvalues}


THEOREMS = {
    "attention": Theorem(
        draw_attention, attention, lambda i: SelfAttention(*_weights(i)), per="element"
    ),
    "rowwise": Theorem(
        draw_rowwise, rowwise, lambda i: RowwiseAttention(*_weights(i)), per="element"
    ),
}
