"""Deep linear networks: anon2026data, eq. (4) to (16) and the recipes of appendix C."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from hessian_papers.data.tools.subsets import class_counts
from hessian_papers.data.tools.whitening import whiten
from hessian_papers.models.balanced import balanced_weights
from hessian_papers.studies.identities.identities.deep import formulas
from hessian_papers.studies.identities.identities.deep.checks import LEAST_SQUARES, ZERO_LOSS
from hessian_papers.studies.identities.identities.deep.formulas import prefixes, suffixes
from hessian_papers.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    orthonormal,
    whitened,
)
from hessian_papers.studies.identities.identities.theorem import Quantities, Setting, Theorem
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import Perceptron
from hessian_spectra.spectrum import Spectrum

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


def draw_any_layers(draw: Draw) -> list[Instance]:
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


def draw_two_layers(draw: Draw) -> list[Instance]:
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


def draw_balanced(draw: Draw) -> list[Instance]:
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


def draw_recipes(draw: Draw) -> list[Instance]:
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


def _model(instance: Instance, letter: str = "W") -> Perceptron:
    weights = layers(instance, letter)
    return Perceptron(weights, [1.0] * len(weights), "linear")


def _input_scale(x: Tensor) -> float:
    """σ_x of whitened inputs."""
    return float(x.square().mean().sqrt())


def _parameters(weights: list[Tensor]) -> int:
    return sum(weight.numel() for weight in weights)


def any_layers(instance: Instance) -> Quantities:
    """Eq. (4) to (7), which ask for no balance."""
    weights, x = layers(instance), instance["x"]
    pairs = list(zip(prefixes(weights), suffixes(weights), strict=True))
    moments, scale = x.mT @ x / len(x), _input_scale(x)
    gap = (moments - scale**2 * torch.eye(len(moments), dtype=x.dtype)).abs().max()
    norms = [p.square().sum() * s.square().sum() for p, s in pairs]
    blocks = [
        torch.kron((s.mT @ s).contiguous(), (p @ moments @ p.mT).contiguous()).flatten()
        for p, s in pairs
    ]
    return {
        "whitened": gap < 1e-12 * scale**2,
        "sizes": torch.tensor([weight.numel() for weight in weights]),
        "jacobian_product": formulas.jacobian_product(weights, x, instance["probe"]),
        "kernel_eigenvalues": formulas.kernel_eigenvalues(
            [(p.mT @ p, s @ s.mT) for p, s in pairs], x, _parameters(weights)
        ),
        "blocks": torch.cat(blocks),
        "bound": cf.deep_linear_bound(weights, scale),
        "trace": cf.deep_linear_trace(weights, moments),
        "whitened_trace": scale**2 * torch.stack(norms).sum(),
        "printed_trace": formulas.printed_trace(weights, x, scale),
    }


def gauss_newton(instance: Instance, of: Setting) -> Quantities:
    """The Gauss-Newton matrix and its eigenvalues; the Hessian beside it has been checked."""
    matrix = cv.dense_matrix(cv.ggn(of.problem(), check=False))
    return {"ggn": matrix, "ggn_eigenvalues": cv.dense_spectrum(matrix).eigenvalues}


def along_the_probe(instance: Instance, of: Setting) -> Quantities:
    """The derivative of all outputs along the probe, beside the Gauss-Newton matrix."""
    names, values = zip(*of.model.named_parameters(), strict=True)
    parts = instance["probe"].split([value.numel() for value in values])
    directions = tuple(part.view_as(value) for part, value in zip(parts, values, strict=True))

    def outputs(*weights: Tensor) -> Tensor:
        named = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(of.model, named, (of.inputs,))

    plain = tuple(value.detach() for value in values)
    derivative = torch.autograd.functional.jvp(outputs, plain, directions)[1]
    return {"jacobian_product": derivative} | gauss_newton(instance, of)


def _of_pairs(spectrum: Spectrum) -> Quantities:
    """The eigenvalues, with a basis, and how many are positive."""
    positive = sum(len(spectrum.select(kind)) for kind in ("outlier", "bulk"))
    return {
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "positive": torch.tensor(positive),
    }


def two_layers(instance: Instance) -> Quantities:
    """Eq. (10), (11), (15) and (16)."""
    weights, x, y = layers(instance), instance["x"], instance["y"]
    first, last = weights
    scale = _input_scale(x)
    ranges = min(first.shape), min(last.shape)
    vectors, values = formulas.pair_vectors(first, last)
    residual = (x @ end_to_end(weights).mT - y).mT @ x / len(x)
    norms = torch.stack([torch.linalg.matrix_norm(weight, ord=2) for weight in weights]) ** 2
    frobenius = len(last) * first.square().sum() + first.shape[1] * last.square().sum()
    return {
        **_of_pairs(cf.deep_linear(weights, x.mT, y.mT)),
        "pair_vectors": vectors,
        "pair_values": scale**2 * values,
        "sharpness": cf.deep_linear_sharpness(weights, scale),
        "upper": scale**2 * norms.sum() + torch.linalg.matrix_norm(residual, ord=2),
        "lower": scale**2 * norms.max(),
        "trace": scale**2 * frobenius,
        "printed_eigenvalues": formulas.printed_pairs(weights, scale, *ranges),
        "printed_positive": torch.tensor(ranges[0] * ranges[1]),
    }


def _by_labels(instance: Instance, depth: int, scale: float) -> Quantities:
    """Eq. (12) to (14), from the targets, and the shares of the classes."""
    x, y, labels = instance["x"], instance["y"], instance["labels"]
    samples, outputs = y.shape
    values = torch.linalg.svdvals(y)
    solution = cf.least_squares_singular_values(x.mT, y.mT)
    shares = torch.bincount(labels, minlength=outputs).double() / samples
    return {
        "solution": y.mT @ x / (samples * scale**2),
        "label_values": values / (samples**0.5 * scale),
        "label_sharpness": cf.sharpness_from_labels(values[0] ** 2 / samples, depth, scale),
        "solution_sharpness": cf.least_squares_sharpness(solution[0], depth, scale),
        "shares": shares.sort(descending=True).values,
    }


def balanced(instance: Instance) -> Quantities:
    """Eq. (8), (9) and, by the targets that the instance has, (12) to (14)."""
    weights, x = layers(instance), instance["x"]
    depth, scale, parameters = len(weights), _input_scale(x), _parameters(weights)
    inputs, outputs = weights[0].shape[1], len(weights[-1])
    smallest = min(min(weight.shape) for weight in weights)
    first, last = weights[0].mT @ weights[0], weights[-1] @ weights[-1].mT
    powers = [
        (torch.linalg.matrix_power(first, k), torch.linalg.matrix_power(last, depth - 1 - k))
        for k in range(depth)
    ]
    of_layers = torch.linalg.svdvals(weights[0])
    common = formulas.with_zeros(of_layers, max(inputs, outputs)).flip(0)
    gaps = (common[:smallest, None] - common[:smallest]).abs() / common[0]
    quotients = formulas.quotients(common[:inputs], common[:outputs], depth)
    return {
        "kind": instance["kind"],
        **_of_pairs(cf.deep_linear(weights, x.mT, instance["y"].mT)),
        "kernel_eigenvalues": formulas.kernel_eigenvalues(powers, x, parameters),
        "quotient_eigenvalues": formulas.with_zeros(scale**2 * quotients, parameters),
        # Singular values so close that the quotient has lost more digits than are asked for.
        "close": ((gaps > 1e-14) & (gaps < 1e-3)).any(),
        "sharpness": cf.deep_linear_sharpness(weights, scale),
        "bound": cf.deep_linear_bound(weights, scale),
        **_by_labels(instance, depth, scale),
        "printed_eigenvalues": formulas.printed_pairs(weights, scale, smallest, smallest),
        "printed_positive": torch.tensor(smallest**2),
    }


def map_and_values(instance: Instance, of: Setting) -> Quantities:
    """The Gauss-Newton matrix, the map from inputs to outputs, and singular values."""
    inputs, outputs = of.inputs.shape[1], of.targets.shape[1]
    with torch.no_grad():
        columns = of.model(torch.eye(inputs, dtype=torch.float64))
    weights = layers(instance)
    powers = torch.linalg.svdvals(weights[0]) ** len(weights)
    one_hot = torch.nn.functional.one_hot(instance["labels"], outputs).double()
    of_labels = torch.linalg.svdvals(one_hot) ** 2 / len(one_hot)
    return gauss_newton(instance, of) | {
        "map": columns.mT,
        "layer_values": formulas.with_zeros(powers, min(len(of.targets), outputs)).flip(0),
        "label_shares": formulas.with_zeros(of_labels, outputs).flip(0),
    }


def _outside(inputs: Tensor, raw: Tensor) -> Tensor:
    """How much of whitened inputs is no linear map of the raw ones, relative."""
    left, values, _ = torch.linalg.svd(raw, full_matrices=False)
    span = left[:, values > 1e-10 * values[0]]
    return (inputs - span @ (span.mT @ inputs)).norm() / inputs.norm()


def recipes(instance: Instance) -> Quantities:
    """What the recipes of appendix C have to make, and what they make."""
    weights, x, values, raw = layers(instance), *(instance[name] for name in ("x", "values", "raw"))
    size, classes, share = int(instance["size"]), int(instance["classes"]), instance["share"].item()
    # Counts are whole numbers: the share may be missed by less than one sample of each other class.
    room = (classes - 1) / size

    def missed(largest: float) -> Tensor:
        return torch.tensor(max(abs(largest - share) - room, 0.0)).double()

    pairs = cf.pair_eigenvalues(
        values,
        values,
        weights[0].shape[1],
        len(weights[-1]),
        depth=len(weights),
        input_scale=_input_scale(x),
    )
    return {
        "eigenvalues": formulas.with_zeros(pairs.eigenvalues, _parameters(weights)),
        "outside": _outside(whiten(raw, 1.0)[0], raw),
        "printed_outside": _outside(whiten(raw, 1.0, "qr")[0], raw),
        "missed": missed(class_counts(size, share, classes)[0] / size),
        "printed_missed": missed(formulas.printed_largest_share(size, share, classes)),
    }


def both_weights(instance: Instance, of: Setting) -> Quantities:
    """The Gauss-Newton matrix, and its eigenvalues for the weights made as printed."""
    of_print = replace(of, model=_model(instance, "V"))
    eigenvalues = gauss_newton(instance, of_print)["ggn_eigenvalues"]
    return gauss_newton(instance, of) | {"printed_ggn_eigenvalues": eigenvalues}


THEOREMS = {
    "any_layers": Theorem(draw_any_layers, any_layers, _model, along_the_probe),
    "two_layers": Theorem(draw_two_layers, two_layers, _model, gauss_newton),
    "balanced": Theorem(draw_balanced, balanced, _model, map_and_values),
    "recipes": Theorem(draw_recipes, recipes, _model, both_weights),
}
