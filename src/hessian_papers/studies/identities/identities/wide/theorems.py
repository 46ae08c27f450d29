"""Several inputs and outputs: Corollaries B.1 to B.3, section 4.1, appendices D.3.3 and D.4."""

import torch
from torch import nn

from hessian_papers.studies.identities.identities.bias.formulas import bias_pair
from hessian_papers.studies.identities.identities.instances import (
    Draw,
    Instance,
    changed,
    orthonormal,
    tensor,
    whitened,
    without,
)
from hessian_papers.studies.identities.identities.linear.formulas import Moments, linear_hessian
from hessian_papers.studies.identities.identities.theorem import (
    Quantities,
    Setting,
    Theorem,
    outputs,
)
from hessian_papers.studies.identities.identities.wide import formulas
from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import LinearNetwork, MultiInputLinear, MultiOutputLinear


def _weights(draw: Draw, rows: int, width: int) -> Instance:
    return {
        "w": draw.scale() * draw.normal(rows, width),
        "v": draw.scale() * draw.normal(rows, width),
    }


def _several_inputs(draw: Draw, width: int, x: torch.Tensor, y: torch.Tensor) -> Instance:
    """Weights for the given inputs, and targets that correlate with these."""
    inputs = x.shape[1]
    weights = _weights(draw, inputs, width)
    return weights | {"x": x, "y": x @ draw.normal(inputs) + draw.scale() * y}


def _fitted(instance: Instance) -> Instance:
    """Targets without a residual."""
    return {"y": instance["x"] @ (instance["w"] * instance["v"]).sum(dim=1)}


def draw_multi_input(draw: Draw) -> list[Instance]:
    """Several decorrelated inputs: ``w``, ``v`` ``(D, m)``, ``x (n, D)``, ``y (n,)``.

    Every third instance is a diagonal linear network, ``m = 1``. The edge cases: one input; an
    input that is always 0; w = v in one coordinate; zero residual.
    """

    def base(inputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs)
        # Each input keeps a variance of its own: decorrelated, not whitened.
        x = whitened(x) * torch.tensor([draw.scale() for _ in range(inputs)])
        return _several_inputs(draw, width, x, y)

    edges = [base(inputs=1), base(inputs=4, width=1)]
    edges += changed(
        base,
        lambda i: {"x": i["x"] * tensor(1.0, 0.0, 1.0)},
        lambda i: {"w": torch.cat([i["v"][:1], i["w"][1:]])},
        _fitted,
    )
    return edges + [
        base(
            draw.integer(1, 4),
            1 if k % 3 == 0 else draw.integer(2, draw.width // 2),
            draw.integer(4, draw.size),
        )
        for k in range(draw.instances)
    ]


def draw_correlated_input(draw: Draw) -> list[Instance]:
    """Several correlated inputs, like :func:`draw_multi_input` otherwise.

    The edge cases: two equal inputs; fewer points than inputs; m = 1; zero residual.
    """

    def base(inputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs)
        x = x @ (torch.eye(inputs).double() + draw.normal(inputs, inputs))
        return _several_inputs(draw, width, x, y)

    edges = [base(points=2), base(width=1)]
    edges += changed(base, lambda i: {"x": i["x"][:, [0, 0, 2]]}, _fitted)
    return edges + [
        base(draw.integer(2, 4), draw.integer(1, draw.width // 2), draw.integer(2, draw.size))
        for _ in range(draw.instances)
    ]


def draw_multi_output(draw: Draw) -> list[Instance]:
    """Several outputs: ``w``, ``v`` ``(K, m)``, ``x (n,)``, ``y (n, K)``.

    The edge cases: one output; m = 1; one head with w = v; one head without a residual.
    """

    def base(outputs: int = 3, width: int = 3, points: int = 8) -> Instance:
        x, _ = draw.points(points)
        _, y = draw.points(points, outputs)
        x = draw.scale() * x
        return _weights(draw, outputs, width) | {"x": x, "y": x[:, None] * draw.normal(outputs) + y}

    def first_head_fitted(instance: Instance) -> Instance:
        fitted = instance["x"][:, None] * (instance["w"][0] @ instance["v"][0])
        return {"y": torch.cat([fitted, instance["y"][:, 1:]], dim=1)}

    edges = [base(outputs=1), base(width=1)]
    edges += changed(base, lambda i: {"w": torch.cat([i["v"][:1], i["w"][1:]])}, first_head_fitted)
    return edges + [
        base(draw.integer(1, 4), draw.integer(1, draw.width // 2), draw.integer(1, draw.size))
        for _ in range(draw.instances)
    ]


def draw_orthogonal(draw: Draw) -> list[Instance]:
    """An orthogonal first layer: ``w (m,)``, ``V (m, D)``, whitened ``x (n, D)``, E[yx] = 0.

    The edge cases: m = D; D = 1; w orthogonal to the columns of V; w = 0; V = 0; zero targets.
    """

    def base(inputs: int = 3, width: int = 5, points: int = 9) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs)
        x = whitened(x)
        return {
            "w": draw.scale() * draw.normal(width),
            "V": draw.scale() * orthonormal(draw.normal(width, inputs)),
            "x": x,
            "y": draw.scale() * without(y, x),
        }

    edges = [base(width=3), base(inputs=1)]
    edges += changed(
        base,
        lambda i: {"w": without(i["w"], i["V"])},
        lambda i: {"w": 0 * i["w"]},
        lambda i: {"V": 0 * i["V"]},
        lambda i: {"y": 0 * i["y"]},
    )
    return edges + [
        base(
            inputs := draw.integer(1, 4),
            draw.integer(inputs, draw.width),
            draw.integer(inputs + 1, draw.size),
        )
        for _ in range(draw.instances)
    ]


def draw_matrices(draw: Draw) -> list[Instance]:
    """Two weight matrices: ``W1 (m, D)``, ``W2 (K, m)``, ``x (n, D)``, ``y (n, K)``.

    The inputs are whitened but in every fourth instance; every other instance has zero loss; K = D
    (the paper's case) in two of three. The edge cases: all sizes 1; a zero matrix W2.
    """

    def base(
        k: int, inputs: int = 2, outputs: int = 2, width: int = 3, points: int = 6
    ) -> Instance:
        x, y = draw.inputs_and_targets(points, inputs, outputs)
        if k % 4 != 3:
            x = whitened(x)
        first = draw.scale() * draw.normal(width, inputs)
        second = draw.scale() * draw.normal(outputs, width)
        noise = (k % 2) * draw.scale() * y
        return {"W1": first, "W2": second, "x": x, "y": x @ first.mT @ second.mT + noise}

    zero = base(1)
    edges = [base(1, 1, 1, 1), zero | {"W2": 0 * zero["W2"]}]
    return edges + [
        base(
            k,
            inputs := draw.integer(1, 3),
            inputs if k % 3 else draw.integer(1, 3),
            draw.integer(1, draw.width // 2),
            draw.integer(3, draw.size),
        )
        for k in range(draw.instances)
    ]


def multi_input(instance: Instance) -> Quantities:
    """Corollary B.1: the library's spectrum, and the corollary's own sum over the inputs.

    On correlated inputs the sum over the inputs is what becomes of the corollary without its
    assumption.
    """
    w, v, x, y = (instance[name] for name in "wvxy")
    m = w.shape[1]
    # Each input as if it were the only one.
    moments = [Moments.of(*of, y) for of in zip(w, v, x.mT, strict=True)]
    # The mixture of m diagonal networks, eq. (114).
    betas = (w * v).mT
    return {
        "inputs": torch.tensor(len(w)),
        "width": torch.tensor(m),
        "eigenvalues": cf.multi_input(w, v, x, y).eigenvalues,
        "decoupled": formulas.decoupled_spectrum(moments, m),
        "outputs": sum((x @ beta for beta in betas), torch.zeros_like(y)),
    }


def multi_output(instance: Instance) -> Quantities:
    """Corollaries B.2 and B.3."""
    w, v, x, y = (instance[name] for name in "wvxy")
    spectrum = cf.multi_output(w, v, x, y)
    moments = [Moments.of(*of[:2], x, of[2]) for of in zip(w, v, y.mT, strict=True)]
    vectors, values = formulas.head_vectors(w, v, moments)
    hessian, in_print = (
        torch.block_diag(*(block(*of) for of in zip(w, v, moments, strict=True)))
        for block in (linear_hessian, formulas.printed_head_hessian)
    )
    return {
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "outliers": values,
        "outlier_vectors": vectors,
        "hessian": hessian,
        "printed_hessian": in_print,
    }


def orthogonal(instance: Instance) -> Quantities:
    """The theorem for an orthogonal first layer, which settles the conjecture of section 4.1."""
    w, V = instance["w"], instance["V"]
    inputs = V.shape[1]
    # tr(H)/D = ‖w‖² + ν², with VᵀV = ν² I.
    share = w @ w + V.square().sum() / inputs
    return {
        "inputs": torch.tensor(inputs),
        "eigenvalues": cf.orthogonal_first_layer(w, V, instance["x"], instance["y"]).eigenvalues,
        "pair": bias_pair(share, (V.mT @ w).square().sum()),
        "trace_share": share,
    }


def matrices(instance: Instance) -> Quantities:
    """Appendices D.3.3 and D.4: the diagonal blocks, the trace, and how λ_max relates to norms.

    For whitened inputs ``sum_of_norms`` is the largest eigenvalue of the GGN, hence the Hessian's
    where the loss vanishes (anon2026data, eq. 10).
    """
    first, second, x = (instance[name] for name in ("W1", "W2", "x"))
    covariance = x.mT @ x / len(x)
    hidden = first @ covariance @ first.mT
    eye = torch.eye(second.shape[0], dtype=torch.float64)
    whitened = torch.allclose(covariance, torch.eye(x.shape[1], dtype=torch.float64), atol=1e-12)
    largest = formulas.largest_squared_norm(first, second)
    norms = [formulas.squared_norm(weights) for weights in (first, second)]
    blocks = torch.linalg.eigvalsh(hidden)[-1], norms[1] * torch.linalg.eigvalsh(covariance)[-1]
    return {
        "whitened": torch.tensor(whitened),
        "square": torch.tensor(first.shape[1] == second.shape[0]),
        "first_size": torch.tensor(first.numel()),
        "first_block": torch.kron(second.mT @ second, covariance),
        "second_block": torch.kron(eye, hidden),
        "trace": covariance.trace() * second.square().sum() + len(second) * hidden.trace(),
        # D (‖W_1‖_F² + ‖W_2‖_F²), for whitened inputs and as many outputs as inputs.
        "frobenius_trace": first.shape[1] * (first.square().sum() + second.square().sum()),
        "sum_of_norms": norms[0] + norms[1],
        "largest_norm": largest,
        # In the last line of the display σ_max²(W_1) is squared once more.
        "printed_largest_norm": torch.maximum(norms[0] ** 2, norms[1]),
        "largest_block": torch.maximum(*blocks),
        "printed_sharpness": largest,
    }


def _two_layers(instance: Instance) -> nn.Module:
    """Two bias-free linear layers of PyTorch's own."""
    layers = []
    for name in ("W1", "W2"):
        weight = instance[name]
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
        layer.weight = nn.Parameter(weight.clone())
        layers.append(layer)
    return nn.Sequential(*layers)


def gauss_newton(instance: Instance, of: Setting) -> Quantities:
    """The largest eigenvalue of the GGN, by brute force."""
    return {"ggn_sharpness": cv.dense_spectrum(cv.ggn(of.problem())).eigenvalues[-1:]}


def _multi_input_model(instance: Instance) -> nn.Module:
    return MultiInputLinear(instance["v"], instance["w"])


THEOREMS = {
    "multi_input": Theorem(draw_multi_input, multi_input, _multi_input_model, outputs),
    "correlated_input": Theorem(draw_correlated_input, multi_input, _multi_input_model),
    "multi_output": Theorem(
        draw_multi_output, multi_output, lambda i: MultiOutputLinear(i["v"], i["w"])
    ),
    "orthogonal": Theorem(draw_orthogonal, orthogonal, lambda i: LinearNetwork(i["V"], i["w"])),
    "matrices": Theorem(draw_matrices, matrices, _two_layers, gauss_newton),
}
