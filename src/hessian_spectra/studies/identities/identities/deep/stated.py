"""Deep linear networks: anon2026data, eq. (4) to (16) and the recipes of appendix C."""

from dataclasses import replace

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.data.tools.subsets import class_counts
from hessian_spectra.data.tools.whitening import whiten
from hessian_spectra.models.ensemble import Perceptron
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.studies.identities.identities.deep import formulas, instances
from hessian_spectra.studies.identities.identities.deep.formulas import prefixes, suffixes
from hessian_spectra.studies.identities.identities.deep.instances import end_to_end, layers
from hessian_spectra.studies.identities.identities.instances import Instance
from hessian_spectra.studies.identities.identities.theorem import Quantities, Setting, Theorem


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
    "any_layers": Theorem(instances.any_layers, any_layers, _model, along_the_probe),
    "two_layers": Theorem(instances.two_layers, two_layers, _model, gauss_newton),
    "balanced": Theorem(instances.balanced, balanced, _model, map_and_values),
    "recipes": Theorem(instances.recipes, recipes, _model, both_weights),
}
