"""Self-attention under contract."""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from .contract import Arguments, Case, ClosedForm, half_mean_square, vector


def softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


class SelfAttention(ClosedForm):
    name = "self_attention"
    sizes: ClassVar = {"d": (1, 5), "b": (1, 3), "l": (1, 4)}
    shapes: ClassVar = {
        "w_value": ("", "weights"), "w_query": ("d", "weights"), "w_key": ("d", "weights"),
        "x": ("bl", "inputs"), "y": ("bl", "targets"),
    }  # fmt: skip
    scalings: ClassVar = [{"x": 1, "w_value": -1, "w_query": -1, "w_key": -1, "hessian": 2}]

    def case(
        self, w_value: Tensor, w_query: Tensor, w_key: Tensor, x: Tensor, y: Tensor, **keywords: Any
    ) -> Case:
        d = len(w_query)
        bias = keywords.get("score_bias", torch.zeros(()).double())
        activation = keywords.get("activation", softmax)

        def loss(theta: Tensor) -> Tensor:
            value, query, key = theta[0], theta[1 : d + 1], theta[d + 1 :]
            queries = x[..., None] * query  # (b, l, d)
            keys = x[..., None] * key
            attention = activation(queries @ keys.transpose(1, 2) / math.sqrt(d) + bias)
            return half_mean_square(value * torch.einsum("bij,bj->bi", attention, x) - y)

        arguments = {"w_value": w_value, "w_query": w_query, "w_key": w_key, "x": x, "y": y}
        return Case(arguments, torch.cat([w_value[None], w_query, w_key]), loss, keywords)

    def edges(self) -> dict[str, Case]:
        a = self.example(d=3, b=2, l=4).arguments
        query, key, x = a["w_query"], a["w_key"], a["x"]
        causal = torch.full((4, 4), -math.inf, dtype=torch.float64).triu(1)

        def with_(**changes: Any) -> Case:
            return self.case(**{**a, **changes})

        output = torch.einsum(
            "bij,bj->bi", softmax(query @ key / math.sqrt(3) * x[:, :, None] * x[:, None]), x
        )
        return {
            "d_K = 1": self.example(d=1, b=2, l=3),
            "d_K = 2": self.example(d=2, b=2, l=3),
            "one sequence": self.example(d=3, b=1, l=4),
            "one token": self.example(d=3, b=3, l=1),
            "one token altogether": self.example(d=2, b=1, l=1),
            "equal query and key": with_(w_key=query),
            "opposite query and key": with_(w_key=-query),
            "w_query = 0": with_(w_query=0 * query),
            "query and key 0": with_(w_query=0 * query, w_key=0 * key),
            "w_value = 0": with_(w_value=torch.tensor(0.0).double()),
            "constant sequences": with_(x=vector(1, -2)[:, None].expand(2, 4)),
            "x = 0": with_(x=0 * x),
            "perfect fit": with_(y=a["w_value"] * output),
            "saturated": with_(w_query=50 * query, w_key=50 * key),
            "sink": with_(score_bias=vector(3, 0, 0, 0)),
            "causal mask": with_(score_bias=causal),
            "sink of one sequence": with_(
                score_bias=torch.arange(32).reshape(2, 4, 4).double() % 3
            ),
            "sigmoid": with_(activation=torch.sigmoid),
            "tanh, biased": with_(activation=torch.tanh, score_bias=vector(1, 0, 0, -1)),
            # The bulk eigenvalue is the largest here, not an outlier.
            "negative zeta": self.case(
                w_value=torch.tensor(28.6158759).double(),
                w_query=vector(-0.7223121, 1.0726882),
                w_key=vector(-0.7223121, 1.0726882),
                x=vector(-1.5552182, 0.4074608)[None],
                y=vector(9.4896302, -91.6437074)[None],
            ),
        }

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        return {"outlier": 3, "bulk": 2 * len(arguments["w_query"]) - 2}
