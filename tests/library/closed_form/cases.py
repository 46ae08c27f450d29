"""The closed forms under contract: arguments, loss, edge cases and broken assumptions of each.

A new closed form adds one class and its entry in ``CLOSED_FORMS``.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor

from .attention_cases import SelfAttention
from .contract import Arguments, Case, ClosedForm, Draws, half_mean_square, vector
from .deep_cases import DeepLinear


class TwoLayerLinear(ClosedForm):
    name = "two_layer_linear"
    sizes: ClassVar = {"m": (1, 7), "n": (1, 6)}
    shapes: ClassVar = {
        "w": ("m", "weights"), "v": ("m", "weights"), "x": ("n", "inputs"),
        "y": ("n", "targets"),
    }  # fmt: skip
    scalings: ClassVar = [{"w": 1, "v": 1, "y": 2, "hessian": 2}, {"x": 1, "y": 1, "hessian": 2}]

    def case(self, w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Case:
        m = len(w)

        def loss(theta: Tensor) -> Tensor:
            return half_mean_square((theta[m:] @ theta[:m]) * x - y)

        return Case({"w": w, "v": v, "x": x, "y": y}, torch.cat([v, w]), loss)

    def edges(self) -> dict[str, Case]:
        a = self.example(m=4, n=5).arguments
        w, v, x, y = a["w"], a["v"], a["x"], a["y"]
        zero = torch.zeros(4, dtype=torch.float64)
        fit = (w @ v) * x
        # With w = v and mean(yx) = 2 σ² ⟨w, v⟩ both outliers are σ²‖w‖².
        return {
            "one hidden unit": self.example(m=1, n=3),
            "two hidden units": self.example(m=2, n=3),
            "one sample": self.example(m=3, n=1),
            "equal layers": self.case(w=w, v=w, x=x, y=y),
            "opposite layers": self.case(w=w, v=-w, x=x, y=y),
            "nearly equal layers": self.case(w=w, v=w + 1e-9 * v, x=x, y=y),
            "w = 0": self.case(w=zero, v=v, x=x, y=y),
            "v = 0": self.case(w=w, v=zero, x=x, y=y),
            "both layers 0": self.case(w=zero, v=zero, x=x, y=y),
            "perfect fit": self.case(w=w, v=v, x=x, y=fit),
            "residual orthogonal to x": self.case(
                w=w, v=v, x=vector(1, -1, 2), y=vector(1, -1, 2) * (w @ v) + vector(1, 1, 0)
            ),
            "perfect fit, equal layers": self.case(w=w, v=w, x=x, y=(w @ w) * x),
            "coincident outliers": self.case(w=w, v=w, x=x, y=2 * (w @ w) * x),
            "small outlier 0": self.case(w=w, v=v, x=x, y=3 * fit),
            "x = 0": self.case(w=w, v=v, x=0 * x, y=y),
            "everything 0": self.case(w=zero, v=zero, x=0 * x, y=0 * y),
            "first axis": self.case(w=vector(1, 0, 0), v=vector(-1, 0, 0), x=x, y=y),
        }

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        return {"outlier": 2, "bulk": 2 * len(arguments["w"]) - 2}


class TwoLayerReLU(TwoLayerLinear):
    name = "two_layer_relu"

    def case(self, w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Case:
        m = len(w)

        def loss(theta: Tensor) -> Tensor:
            hidden = torch.relu(theta[:m, None] * x)
            return half_mean_square(theta[m:] @ hidden - y)

        return Case({"w": w, "v": v, "x": x, "y": y}, torch.cat([v, w]), loss)

    def edges(self) -> dict[str, Case]:
        a = self.example(m=6, n=8).arguments
        w, x, y = a["w"], a["x"], a["y"]
        v = vector(0.5, -1, 2, 0.1, -0.3, 0.7)
        both, half = torch.tensor([1.0, 0, -1, 0, 1, 1]).double(), x.abs()
        fit = w @ torch.relu(v[:, None] * x)
        return {
            "one hidden unit": self.example(m=1, n=3),
            "one unit each": self.case(w=w[:2], v=v[:2], x=x, y=y),
            "positive cell only": self.case(w=w, v=v.abs(), x=x, y=y),
            "negative cell only": self.case(w=w, v=-v.abs(), x=x, y=y),
            "no sample in the negative cell": self.case(w=w, v=v, x=half, y=y),
            "no sample in the only cell": self.case(w=w, v=-v.abs(), x=half, y=y),
            "samples at 0": self.case(w=w, v=v, x=x * (x > 0.3), y=y),
            "x = 0": self.case(w=w, v=v, x=0 * x, y=y),
            "units at 0": self.case(w=w, v=v * both, x=x, y=y),
            "all units at 0": self.case(w=w, v=0 * v, x=x, y=y),
            "w = 0": self.case(w=0 * w, v=v, x=x, y=y),
            "w = v": self.case(w=v, v=v, x=x, y=y),
            "perfect fit": self.case(w=w, v=v, x=x, y=fit),
        }

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        v = arguments["v"]
        cells = [int((v > 0).sum()), int((v < 0).sum())]
        occupied = [size for size in cells if size > 0]
        return {
            "outlier": 2 * len(occupied),
            "bulk": sum(2 * size - 2 for size in occupied),
            "zero": 2 * int((v == 0).sum()),
        }


def standardised(x: Tensor) -> Tensor:
    """Zero mean and unit second moment; one sample cannot have both."""
    x = x - x.mean()
    return x / x.square().mean().sqrt()


class LinearWithBias(ClosedForm):
    name = "linear_with_bias"
    sizes: ClassVar = {"m": (1, 6), "n": (2, 7)}
    scalings: ClassVar = [{"w": 1, "v": 1, "b": 1, "y": 2, "hessian": 2}]

    def case(self, w: Tensor, v: Tensor, b: Tensor, x: Tensor, y: Tensor, **keywords: Any) -> Case:
        def loss(theta: Tensor) -> Tensor:
            second, first, bias = theta[: 3 * len(w)].reshape(3, -1)
            outputs = (second @ first) * x + second @ bias + theta[3 * len(w) :].sum()
            return half_mean_square(outputs - y)

        arguments = {"w": w, "v": v, "b": b, "x": x, "y": y}
        last = [keywords["output_bias"][None]] if "output_bias" in keywords else []
        return Case(arguments, torch.cat([w, v, b, *last]), loss, keywords)

    def draw(self, draws: Draws) -> Case:
        w, v, b = (draws.weights * draws.normal("m") for _ in range(3))
        x = standardised(draws.generic("n"))
        return self.case(w=w, v=v, b=b, x=x, y=draws.targets * draws.normal("n"))

    def printed(self) -> Case:
        """All assumptions of the printed theorem."""
        a = self.example(m=5, n=6).arguments
        orthogonal = torch.linalg.qr(torch.stack([a["v"], a["b"]], dim=1)).Q * 1.7
        inputs = torch.stack([a["x"], torch.ones_like(a["x"])], dim=1)
        y = a["y"] - inputs @ (inputs.T @ a["y"]) / len(a["y"])
        return self.case(w=a["w"], v=orthogonal[:, 0], b=orthogonal[:, 1], x=a["x"], y=y)

    def edges(self) -> dict[str, Case]:
        a = self.example(m=4, n=6).arguments
        w, v, b, x, y = (a[name] for name in "wvbxy")
        zero = torch.zeros(4, dtype=torch.float64)
        off = (w @ w) * v - (w @ v) * w
        return {
            "printed theorem": self.printed(),
            "one hidden unit": self.example(m=1, n=3),
            "two hidden units": self.example(m=2, n=3),
            "three hidden units": self.example(m=3, n=3),
            "w = 0": self.case(w=zero, v=v, b=b, x=x, y=y),
            "v = b": self.case(w=w, v=v, b=v, x=x, y=y),
            "v = b = w": self.case(w=w, v=w, b=w, x=x, y=y),
            "v = b = 0": self.case(w=w, v=zero, b=zero, x=x, y=y),
            "b = 0": self.case(w=w, v=v, b=zero, x=x, y=y),
            "all weights 0": self.case(w=zero, v=zero, b=zero, x=x, y=y),
            "perfect fit": self.case(w=w, v=v, b=b, x=x, y=(w @ v) * x + w @ b),
            "w orthogonal to v and b": self.case(w=w, v=off, b=-2 * off, x=x, y=y),
            "any data, unchecked": self.case(w=w, v=v, b=b, x=3 * x + 1, y=y, check=False),
            "x = 0, unchecked": self.case(w=w, v=v, b=b, x=0 * x, y=y, check=False),
        }

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        m = len(arguments["w"])
        return {"outlier": 5 if m > 1 else 3, "bulk": 2 * max(m - 2, 0), "zero": m - 1}

    def violations(self) -> dict[str, Case]:
        a = self.example(m=3, n=5).arguments
        return {
            "mean(x) = 0": self.case(**{**a, "x": a["x"] + 0.25}),
            "mean(x²) = 1": self.case(**{**a, "x": 1.5 * a["x"]}),
        }


class MultiInput(ClosedForm):
    name = "multi_input"
    sizes: ClassVar = {"m": (1, 4), "n": (1, 8), "D": (1, 4)}
    shapes: ClassVar = {
        "w": ("Dm", "weights"), "v": ("Dm", "weights"), "x": ("nD", "inputs"),
        "y": ("n", "targets"),
    }  # fmt: skip
    scalings: ClassVar = [{"w": 1, "v": 1, "y": 2, "hessian": 2}, {"x": 1, "y": 1, "hessian": 2}]

    def case(self, w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Case:
        def loss(theta: Tensor) -> Tensor:
            first, second = theta.reshape(len(w), 2, -1).unbind(1)
            return half_mean_square(x @ (first * second).sum(-1) - y)

        parameters = torch.stack([v, w], dim=1).flatten()
        return Case({"w": w, "v": v, "x": x, "y": y}, parameters, loss)

    def decorrelated(self, correlation: float = 0.0) -> Case:
        a = self.example(m=3, n=8, D=3).arguments
        x = torch.linalg.qr(a["x"]).Q
        x[:, 1] += correlation * x[:, 0]
        return self.case(**{**a, "x": x * vector(1, 3, 0.2)})

    def edges(self) -> dict[str, Case]:
        a = self.example(m=3, n=8, D=3).arguments
        w, v, x, y = a["w"], a["v"], a["x"], a["y"]
        signs = vector(1, -1, 1)[:, None]
        return {
            "decorrelated": self.decorrelated(),
            "slightly correlated": self.decorrelated(1e-6),
            "one input": self.example(m=3, n=5, D=1),
            "diagonal network": self.example(m=1, n=6, D=4),
            "diagonal network, decorrelated": self.case(
                w=w[:, :1], v=v[:, :1], x=torch.linalg.qr(x).Q, y=y
            ),
            "fewer samples than inputs": self.example(m=2, n=2, D=4),
            "equal inputs": self.case(w=w, v=v, x=x[:, :1].expand(-1, 3), y=y),
            "an input of 0": self.case(w=w, v=v, x=x * vector(1, 0, 1), y=y),
            "x = 0": self.case(w=w, v=v, x=0 * x, y=y),
            "equal and opposite layers": self.case(w=w, v=signs * w, x=x, y=y),
            "a coordinate of 0": self.case(
                w=w * vector(0, 1, 1)[:, None], v=v * vector(0, 0, 1)[:, None], x=x, y=y
            ),
            "perfect fit": self.case(w=w, v=v, x=x, y=x @ (w * v).sum(-1)),
        }

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        inputs, m = arguments["w"].shape
        return {"outlier": 2 * inputs, "bulk": 2 * inputs * (m - 1)}


class MultiOutput(ClosedForm):
    name = "multi_output"
    sizes: ClassVar = {"m": (1, 4), "n": (1, 5), "K": (1, 4)}
    shapes: ClassVar = {
        "w": ("Km", "weights"), "v": ("Km", "weights"), "x": ("n", "inputs"),
        "y": ("nK", "targets"),
    }  # fmt: skip
    scalings: ClassVar = [{"w": 1, "v": 1, "y": 2, "hessian": 2}, {"x": 1, "y": 1, "hessian": 2}]

    def case(self, w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Case:
        def loss(theta: Tensor) -> Tensor:
            first, second = theta.reshape(len(w), 2, -1).unbind(1)
            residual = x[:, None] * (first * second).sum(-1) - y
            return (residual**2).sum() / (2 * len(x))

        parameters = torch.stack([v, w], dim=1).flatten()
        return Case({"w": w, "v": v, "x": x, "y": y}, parameters, loss)

    def edges(self) -> dict[str, Case]:
        a = self.example(m=3, n=5, K=3).arguments
        w, v, x, y = a["w"], a["v"], a["x"], a["y"]
        signs, mask = vector(1, -1, 1)[:, None], vector(0, 1, 1)[:, None]
        return {
            "one head": self.example(m=3, n=5, K=1),
            "one hidden unit a head": self.example(m=1, n=5, K=4),
            "a head of 0": self.case(w=mask * w, v=mask * v, x=x, y=y),
            "equal heads": self.case(w=w[:1].expand(3, -1), v=v[:1].expand(3, -1), x=x, y=0 * y),
            "equal and opposite layers": self.case(w=w, v=signs * w, x=x, y=y),
            "perfect fit": self.case(w=w, v=v, x=x, y=x[:, None] * (w * v).sum(-1)),
            "x = 0": self.case(w=w, v=v, x=0 * x, y=y),
        }

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        heads, m = arguments["w"].shape
        return {"outlier": 2 * heads, "bulk": 2 * heads * (m - 1)}


class OrthogonalFirstLayer(ClosedForm):
    name = "orthogonal_first_layer"
    # n - 1 >= D leaves room for targets that are uncorrelated with the inputs.
    sizes: ClassVar = {"m": (4, 7), "n": (5, 8), "D": (1, 4)}
    scalings: ClassVar = [{"w": 1, "V": 1, "y": 2, "hessian": 2}]

    def case(self, w: Tensor, V: Tensor, x: Tensor, y: Tensor, **keywords: Any) -> Case:
        m, inputs = V.shape

        def loss(theta: Tensor) -> Tensor:
            first, second = theta[: m * inputs].reshape(m, inputs), theta[m * inputs :]
            return half_mean_square(x @ first.T @ second - y)

        arguments = {"w": w, "V": V, "x": x, "y": y}
        return Case(arguments, torch.cat([V.flatten(), w]), loss, keywords)

    def draw(self, draws: Draws) -> Case:
        V = draws.weights * torch.linalg.qr(draws.generic("mD")).Q
        x = torch.linalg.qr(draws.generic("nD")).Q * draws.sizes["n"] ** 0.5
        y = draws.generic("n")
        y = y - x @ (x.T @ y) / len(y)
        # Targets of the outputs' size: what is left of mean(yx) by rounding must stay negligible.
        return self.case(w=draws.weights * draws.normal("m"), V=V, x=x, y=draws.weights**2 * y)

    def edges(self) -> dict[str, Case]:
        a = self.example(m=6, n=8, D=3).arguments
        w, V, x, y = a["w"], a["V"], a["x"], a["y"]
        within = V @ vector(1, -2, 0.5)
        free = {name: draws for name, draws in a.items() if name != "y"}
        return {
            "one input": self.example(m=4, n=6, D=1),
            "two inputs": self.example(m=4, n=6, D=2),
            "as many inputs as hidden units": self.example(m=4, n=6, D=4),
            "w = 0": self.case(w=0 * w, V=V, x=x, y=y),
            "V = 0": self.case(w=w, V=0 * V, x=x, y=y),
            "V = 0, more inputs than hidden units": self.case(w=w[:2], V=0 * V[:2], x=x, y=y),
            "all weights and targets 0": self.case(w=0 * w, V=0 * V, x=x, y=0 * y),
            "w orthogonal to V": self.case(w=w - V @ (V.T @ w), V=V, x=x, y=y),
            "w within V": self.case(w=within, V=V, x=x, y=y),
            "w a column of V": self.case(w=V[:, 1], V=3 * V, x=x, y=y),
            "y = 0": self.case(**free, y=0 * y),
            "targets along the output, unchecked": self.case(
                **free, y=y + 3 * (x @ (V.T @ w)), check=False
            ),
            "perfect fit, unchecked": self.case(**free, y=x @ (V.T @ w), check=False),
            "any weights and data, unchecked": self.case(
                w=w, V=V + 0.3 * torch.outer(w, vector(1, 0, -1)), x=x + 1, y=y + 2, check=False
            ),
            "w = 0, any data, unchecked": self.case(w=0 * w, V=V, x=x + 1, y=y + 2, check=False),
            "one hidden unit, unchecked": self.case(w=w[:1], V=V[:1], x=x, y=y, check=False),
        }

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        m, inputs = arguments["V"].shape
        rank = min(m, inputs)
        return {
            "outlier": 2 * rank + inputs - 1,
            "bulk": 2 * (m - rank),
            "zero": (inputs - 1) * (m - 1),
        }

    def violations(self) -> dict[str, Case]:
        a = self.example(m=4, n=6, D=2).arguments
        tilted = a["V"] + 0.1 * a["V"].flip(1)
        return {
            "VᵀV = c I": self.case(**{**a, "V": tilted}),
            "mean(x xᵀ) = I": self.case(**{**a, "x": 1.1 * a["x"]}),
            "mean(y x) = 0": self.case(**{**a, "y": a["y"] + 0.1 * a["x"][:, 0]}),
        }


CLOSED_FORMS: list[ClosedForm] = [
    TwoLayerLinear(),
    TwoLayerReLU(),
    LinearWithBias(),
    MultiInput(),
    MultiOutput(),
    OrthogonalFirstLayer(),
    SelfAttention(),
    DeepLinear(),
]
