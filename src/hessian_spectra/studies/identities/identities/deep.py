"""Deep linear networks: anon2026data, eq. (4) to (16) and the recipes of appendix C."""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.data.tools.subsets import class_counts
from hessian_spectra.data.tools.whitening import whiten
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.models.ensemble import Perceptron
from hessian_spectra.studies.identities.identities import deep_formulas as formulas
from hessian_spectra.studies.identities.identities import deep_instances as draws
from hessian_spectra.studies.identities.identities import errata_data as printed
from hessian_spectra.studies.identities.identities.deep_formulas import prefixes, suffixes
from hessian_spectra.studies.identities.identities.deep_instances import end_to_end, layers
from hessian_spectra.studies.identities.identities.family import Family, Quantities, Setting
from hessian_spectra.studies.identities.identities.instances import Instance


def _model(weights: list[Tensor]) -> Perceptron:
    return Perceptron(weights, [1.0] * len(weights), "linear")


def setting(instance: Instance) -> Setting:
    """The instance for brute force."""
    loss = HalfSquaredError("sample")
    return Setting(_model(layers(instance)), loss, instance["x"], instance["y"])


def _gauss_newton(of: Setting) -> Quantities:
    """The Gauss-Newton matrix and its eigenvalues; the Hessian beside it has been checked."""
    matrix = cv.dense_matrix(cv.ggn(of.problem(), check=False))
    return {"ggn": matrix, "ggn_eigenvalues": cv.dense_spectrum(matrix).eigenvalues}


def _input_scale(x: Tensor) -> float:
    """σ_x of whitened inputs."""
    return float(x.square().mean().sqrt())


def exact_any_layers(instance: Instance) -> Quantities:
    """Eq. (4) to (7), which ask for no balance."""
    weights, x = layers(instance), instance["x"]
    before, after = prefixes(weights), suffixes(weights)
    pairs = list(zip(before, after, strict=True))
    moments, scale = x.mT @ x / len(x), _input_scale(x)
    gap = (moments - scale**2 * torch.eye(len(moments), dtype=x.dtype)).abs().max()
    norms = [p.square().sum() * s.square().sum() for p, s in pairs]
    return {
        "whitened": gap < 1e-12 * scale**2,
        "sizes": torch.tensor([weight.numel() for weight in weights]),
        "jacobian_product": formulas.jacobian_product(weights, x, instance["probe"]),
        "kernel_eigenvalues": formulas.kernel_eigenvalues(
            [(p.mT @ p, s @ s.mT) for p, s in pairs], x, sum(w.numel() for w in weights)
        ),
        "blocks": torch.cat(
            [
                torch.kron((s.mT @ s).contiguous(), (p @ moments @ p.mT).contiguous()).flatten()
                for p, s in pairs
            ]
        ),
        "bound": cf.deep_linear_bound(weights, scale),
        "trace": cf.deep_linear_trace(weights, moments),
        "whitened_trace": scale**2 * torch.stack(norms).sum(),
        "printed_trace": printed.printed_trace(weights, x, scale),
    }


def measured_any_layers(instance: Instance) -> Quantities:
    """The derivative of all outputs along the probe, beside the Gauss-Newton matrix."""
    of = setting(instance)
    names, values = zip(*of.model.named_parameters(), strict=True)
    parts = instance["probe"].split([value.numel() for value in values])
    directions = tuple(part.view_as(value) for part, value in zip(parts, values, strict=True))

    def outputs(*weights: Tensor) -> Tensor:
        named = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(of.model, named, (of.inputs,))

    plain = tuple(value.detach() for value in values)
    derivative = torch.autograd.functional.jvp(outputs, plain, directions)[1]
    return {"jacobian_product": derivative} | _gauss_newton(of)


def exact_two_layers(instance: Instance) -> Quantities:
    """Eq. (10), (11), (15) and (16)."""
    weights, x, y = layers(instance), instance["x"], instance["y"]
    first, last = weights
    scale = _input_scale(x)
    spectrum = cf.deep_linear(weights, x.mT, y.mT)
    ranges = min(first.shape), min(last.shape)
    vectors, values = formulas.pair_vectors(first, last)
    residual = (x @ end_to_end(weights).mT - y).mT @ x / len(x)
    norms = torch.stack([torch.linalg.matrix_norm(weight, ord=2) for weight in weights]) ** 2
    return {
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "pair_vectors": vectors,
        "pair_values": scale**2 * values,
        "positive": torch.tensor(len(spectrum.select("outlier")) + len(spectrum.select("bulk"))),
        "sharpness": cf.deep_linear_sharpness(weights, scale),
        "upper": scale**2 * norms.sum() + torch.linalg.matrix_norm(residual, ord=2),
        "lower": scale**2 * norms.max(),
        "trace": scale**2
        * (len(last) * first.square().sum() + first.shape[1] * last.square().sum()),
        "printed_eigenvalues": printed.printed_pairs(weights, scale, *ranges),
        "printed_positive": torch.tensor(ranges[0] * ranges[1]),
    }


def measured_two_layers(instance: Instance) -> Quantities:
    """The Gauss-Newton matrix."""
    return _gauss_newton(setting(instance))


def exact_balanced(instance: Instance) -> Quantities:
    """Eq. (8), (9) and, by the targets that the instance has, (12) to (14)."""
    weights, x, y = layers(instance), instance["x"], instance["y"]
    depth, scale, samples = len(weights), _input_scale(x), len(x)
    inputs, outputs = weights[0].shape[1], len(weights[-1])
    parameters = sum(weight.numel() for weight in weights)
    spectrum = cf.deep_linear(weights, x.mT, y.mT)
    smallest = min(min(weight.shape) for weight in weights)
    first, last = weights[0].mT @ weights[0], weights[-1] @ weights[-1].mT
    powers = [
        (torch.linalg.matrix_power(first, k), torch.linalg.matrix_power(last, depth - 1 - k))
        for k in range(depth)
    ]
    of_layers = torch.linalg.svdvals(weights[0])
    common = formulas.with_zeros(of_layers, max(inputs, outputs)).flip(0)
    gaps = (common[:smallest, None] - common[:smallest]).abs() / common[0]
    of_labels = torch.linalg.svdvals(y)
    solution = cf.least_squares_singular_values(x.mT, y.mT)
    shares = torch.bincount(instance["labels"], minlength=outputs).double() / samples
    return {
        "kind": instance["kind"],
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "kernel_eigenvalues": formulas.kernel_eigenvalues(powers, x, parameters),
        "quotient_eigenvalues": formulas.with_zeros(
            scale**2 * formulas.quotients(common[:inputs], common[:outputs], depth), parameters
        ),
        # Singular values so close that the quotient has lost more digits than are asked for.
        "close": ((gaps > 1e-14) & (gaps < 1e-3)).any(),
        "positive": torch.tensor(len(spectrum.select("outlier")) + len(spectrum.select("bulk"))),
        "sharpness": cf.deep_linear_sharpness(weights, scale),
        "bound": cf.deep_linear_bound(weights, scale),
        "solution": y.mT @ x / (samples * scale**2),
        "label_values": of_labels / (samples**0.5 * scale),
        "label_sharpness": cf.sharpness_from_labels(of_labels[0] ** 2 / samples, depth, scale),
        "solution_sharpness": cf.least_squares_sharpness(solution[0], depth, scale),
        "shares": shares.sort(descending=True).values,
        "printed_eigenvalues": printed.printed_pairs(weights, scale, smallest, smallest),
        "printed_positive": torch.tensor(smallest**2),
    }


def measured_balanced(instance: Instance) -> Quantities:
    """The Gauss-Newton matrix, the map from inputs to outputs, and singular values."""
    of = setting(instance)
    inputs, outputs = of.inputs.shape[1], of.targets.shape[1]
    with torch.no_grad():
        columns = of.model(torch.eye(inputs, dtype=torch.float64))
    weights = layers(instance)
    powers = torch.linalg.svdvals(weights[0]) ** len(weights)
    one_hot = torch.nn.functional.one_hot(instance["labels"], outputs).double()
    of_labels = torch.linalg.svdvals(one_hot) ** 2 / len(one_hot)
    return _gauss_newton(of) | {
        "map": columns.mT,
        "layer_values": formulas.with_zeros(powers, min(len(of.targets), outputs)).flip(0),
        "label_shares": formulas.with_zeros(of_labels, outputs).flip(0),
    }


def _outside(inputs: Tensor, raw: Tensor) -> Tensor:
    """How much of whitened inputs is no linear map of the raw ones, relative."""
    left, values, _ = torch.linalg.svd(raw, full_matrices=False)
    span = left[:, values > 1e-10 * values[0]]
    return (inputs - span @ (span.mT @ inputs)).norm() / inputs.norm()


def exact_recipes(instance: Instance) -> Quantities:
    """What the recipes of appendix C have to make, and what they make."""
    weights, x, values = layers(instance), instance["x"], instance["values"]
    size, classes, share = int(instance["size"]), int(instance["classes"]), instance["share"].item()
    largest = class_counts(size, share, classes)[0] / size
    in_print = printed.printed_largest_share(size, share, classes)
    pairs = cf.pair_eigenvalues(
        values,
        values,
        weights[0].shape[1],
        len(weights[-1]),
        depth=len(weights),
        input_scale=_input_scale(x),
    )
    # Counts are whole numbers: the share may be missed by less than one sample of each other class.
    room = (classes - 1) / size
    return {
        "eigenvalues": formulas.with_zeros(pairs.eigenvalues, sum(w.numel() for w in weights)),
        "outside": _outside(whiten(instance["raw"], 1.0)[0], instance["raw"]),
        "printed_outside": _outside(whiten(instance["raw"], 1.0, "qr")[0], instance["raw"]),
        "missed": torch.tensor(max(abs(largest - share) - room, 0.0)).double(),
        "printed_missed": torch.tensor(max(abs(in_print - share) - room, 0.0)).double(),
    }


def measured_recipes(instance: Instance) -> Quantities:
    """The Gauss-Newton eigenvalues of both sets of weights."""
    weights = [instance[f"V{layer}"] for layer in range(1, len(layers(instance)) + 1)]
    of_print = Setting(_model(weights), HalfSquaredError("sample"), instance["x"], instance["y"])
    return _gauss_newton(setting(instance)) | {
        "printed_ggn_eigenvalues": _gauss_newton(of_print)["ggn_eigenvalues"]
    }


ANY_LAYERS = Family(draws.any_layers, exact_any_layers, setting, measured_any_layers)
TWO_LAYERS = Family(draws.two_layers, exact_two_layers, setting, measured_two_layers)
BALANCED = Family(draws.balanced, exact_balanced, setting, measured_balanced)
RECIPES = Family(draws.recipes, exact_recipes, setting, measured_recipes)
