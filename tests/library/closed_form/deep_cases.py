"""Deep linear networks under contract."""

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.spectrum import Spectrum

from .contract import Arguments, ClosedForm, Draws, LeastSquaresCase, vector
from .deep_networks import balanced, flat, network, normal, unbalanced, whitened


def layers(arguments: Arguments) -> list[Any]:
    """The layers among the arguments."""
    return [value for name, value in arguments.items() if name.startswith("W_")]


class DeepLinear(ClosedForm):
    name = "deep_linear"
    # L layers of width d at most, and e samples more than inputs.
    sizes: ClassVar = {"L": (1, 4), "d": (1, 4), "e": (0, 3)}
    scalings: ClassVar = [
        {"W_1": 1, "W_2": 1, "W_3": 1, "x": -1, "hessian": 2},
        {"x": 1, "y": 1, "hessian": 2},
        {"y": 3, "hessian": 0},
    ]

    def spectrum(self, **arguments: Any) -> Spectrum:
        others = {key: value for key, value in arguments.items() if not key.startswith("W_")}
        return cf.deep_linear(layers(arguments), **others)

    def case(self, x: Tensor, y: Tensor, *, check: bool = True, **weights: Tensor) -> Any:
        function = network(layers(weights), x)
        return LeastSquaresCase(
            arguments={**weights, "x": x, "y": y},
            parameters=flat(layers(weights)),
            loss=lambda theta: (function(theta) - y).square().sum() / (2 * x.shape[1]),
            keywords={} if check else {"check": False},
            outputs=function,
            samples=x.shape[1],
        )

    def of(self, weights: list[Tensor], x: Tensor, **keywords: Any) -> Any:
        """A case of layers and inputs, with zero targets."""
        named = {f"W_{number}": weight for number, weight in enumerate(weights, start=1)}
        return self.case(**named, x=x, y=x.new_zeros(len(weights[-1]), x.shape[1]), **keywords)

    def draw(self, draws: Draws) -> Any:
        random, depth = draws.random, draws.sizes["L"]
        widths = torch.randint(1, draws.sizes["d"] + 1, (depth + 1,), generator=random).tolist()
        if depth == 2:
            weights = unbalanced(random, widths)
            if draws.coarse:
                weights = [weight.round() for weight in weights]
        else:
            values = normal(random, min(widths)).abs()
            weights = balanced(random, widths, values.round() if draws.coarse else values)
        x = whitened(random, widths[0], widths[0] + draws.sizes["e"], draws.inputs)
        case = self.of([draws.weights * weight for weight in weights], x)
        targets = draws.targets * normal(random, *case.arguments["y"].shape)
        return self.case(**{**case.arguments, "y": targets})

    def edges(self) -> dict[str, Any]:
        random = torch.Generator().manual_seed(5)

        def made(widths: list[int], values: list[float], scale: float = 1.0) -> Any:
            x = whitened(random, widths[0], widths[0] + 3, scale)
            return self.of(balanced(random, widths, vector(*values)), x)

        any_three = unbalanced(random, [3, 4, 3, 2])
        two = unbalanced(random, [3, 4, 2])
        x = whitened(random, 3, 6)
        crooked = normal(random, 3, 6)
        nearly = balanced(random, [3, 4, 3, 2], vector(1, 0.5))
        nearly[1] = nearly[1] + 1e-10 * normal(random, 3, 4)
        return {
            "one layer": self.of(unbalanced(random, [3, 2]), x),
            "one layer of zeros": self.of([normal(random, 2, 3) * 0], x),
            "one unit everywhere": made([1, 1, 1, 1], [0.7]),
            "one unit in the middle": made([4, 1, 3], [0.7]),
            "one output": made([4, 3, 3, 1], [0.7]),
            "one input": made([1, 3, 3, 4], [0.7]),
            "as many samples as inputs": self.of(two, whitened(random, 3, 3)),
            "square layers": made([3, 3, 3, 3], [2, 1, 0.5]),
            "wide input and output": made([5, 2, 3, 4], [1, 0.5]),
            "wide in the middle": made([2, 5, 4, 2], [1, 0.5]),
            "repeated singular values": made([4, 3, 4, 3], [1.5, 1.5, 1.5]),
            "some repeated singular values": made([4, 4, 4, 4], [1.5, 1.5, 0.5, 0.5]),
            "rank deficient": made([4, 3, 4, 3], [1.5, 0.3, 0]),
            "rank deficient, repeated": made([4, 3, 4, 3], [1.5, 1.5, 0]),
            "rank one": made([3, 3, 3, 3], [2, 0, 0]),
            "singular values far apart": made([4, 4, 4, 4], [1e3, 1, 1e-4, 1e-9]),
            "singular values close together": made([3, 3, 3, 3], [1 + 1e-9, 1 + 1e-12, 1]),
            "six layers": made([3, 2, 3, 2, 4, 2, 3], [1.2, 0.4]),
            "scaled inputs": made([3, 2, 3, 2], [1.2, 0.4], 3.0),
            "two layers, not balanced": self.of(two, x),
            "two layers, rank deficient": self.of([two[0] * 0 + two[0][:1], two[1]], x),
            "two layers, equal singular values": self.of(
                [torch.eye(4, 3).double(), 2 * torch.eye(2, 4).double()], x
            ),
            "two layers, W_1 = 0": self.of([0 * two[0], two[1]], x),
            "two layers, W_2 = 0": self.of([two[0], 0 * two[1]], x),
            "two layers, one much larger": self.of([1e-6 * two[0], 1e6 * two[1]], x),
            "all layers 0": self.of([0 * layer for layer in any_three], x),
            "x = 0": self.of(any_three, 0 * x, check=False),
            "balanced but for 1e-10": self.of(nearly, x),
            "whitened but for 1e-10": self.of(two, x + 1e-10 * crooked),
            "not whitened, unchecked": self.of(two, crooked, check=False),
            "fewer samples than inputs, unchecked": self.of(two, crooked[:, :2], check=False),
            "one input that is 0, unchecked": self.of(two, crooked * vector(1, 0, 2)[:, None],
                                                      check=False),
            "fewer parameters than pairs, unchecked": self.of(
                unbalanced(random, [3, 1, 4]), crooked, check=False
            ),
            "not balanced, unchecked": self.of(any_three, x, check=False),
            "neither, a layer of 0, unchecked": self.of(
                [any_three[0], 0 * any_three[1], any_three[2]], crooked, check=False
            ),
        }  # fmt: skip

    def kinds(self, arguments: Arguments) -> dict[str, int]:
        weights, x = layers(arguments), arguments["x"]
        parameters = sum(weight.numel() for weight in weights)
        inputs, outputs = weights[0].shape[1], weights[-1].shape[0]
        if not _holds_up_to_rounding(weights, x):
            rows = outputs * min(inputs, x.shape[1])
            pairs = min(parameters, rows)
            return {"numeric": pairs, "zero": parameters - pairs}
        if len(weights) == 1:
            return {"bulk": parameters}
        first = int(torch.linalg.matrix_rank(weights[0]))
        last = int(torch.linalg.matrix_rank(weights[-1]))
        positive = inputs * outputs - (inputs - first) * (outputs - last)
        return {
            "outlier": first * last,
            "bulk": positive - first * last,
            "zero": parameters - positive,
        }

    def violations(self) -> dict[str, Any]:
        random = torch.Generator().manual_seed(6)
        x = whitened(random, 3, 5)
        weights = balanced(random, [3, 2, 3, 2], vector(1, 0.5))
        tilted = [weights[0], weights[1], 1.1 * weights[2]]
        return {
            "x xᵀ / n = σ² I": self.of(weights[:2], x * vector(1, 1, 1.1)[:, None]),
            "W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}": self.of(tilted, x),
        }


def _holds_up_to_rounding(weights: list[Tensor], x: Tensor) -> bool:
    """Whitened inputs, and balanced layers where there are more than two."""
    moments = x @ x.T / x.shape[1]
    size = moments.diagonal().mean()
    identity = torch.eye(len(x), dtype=torch.float64)
    gaps = [(moments - size * identity).abs().max() / size if size > 0 else torch.zeros(())]
    if len(weights) > 2:
        size = max(weight.square().sum() for weight in weights)
        gaps += [
            (item @ item.T - other.T @ other).norm() / size
            for item, other in pairwise(weights)
            if size > 0
        ]
    return max(float(gap) for gap in gaps) < 1e-13
