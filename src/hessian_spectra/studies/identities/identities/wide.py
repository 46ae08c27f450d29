"""Several inputs and outputs: Corollaries B.1 to B.3, section 4.1, appendices D.3.3 and D.4."""

import torch
from torch import Tensor, nn

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import (
    HalfSquaredError,
    LinearNetwork,
    MultiInputLinear,
    MultiOutputLinear,
)
from hessian_spectra.studies.identities.identities import errata_wide as printed
from hessian_spectra.studies.identities.identities import formulas
from hessian_spectra.studies.identities.identities import wide_instances as draws
from hessian_spectra.studies.identities.identities.family import Family, Quantities, Setting
from hessian_spectra.studies.identities.identities.formulas import Moments
from hessian_spectra.studies.identities.identities.instances import Instance


def _coordinates(instance: Instance) -> list[Moments]:
    """The moments of each input as if it were the only one."""
    return [
        Moments.of(w, v, x, instance["y"])
        for w, v, x in zip(instance["w"], instance["v"], instance["x"].mT, strict=True)
    ]


def exact_multi_input(instance: Instance) -> Quantities:
    """Corollary B.1: the library's spectrum, and the corollary's own sum over the inputs.

    On correlated inputs the sum over the inputs is what becomes of the corollary without its
    assumption.
    """
    w, v, x, y = (instance[name] for name in "wvxy")
    m, parts = w.shape[1], []
    for of in _coordinates(instance):
        bulk = of.residual_covariance.expand(m - 1)
        parts += [formulas.outliers_by_squares(of), bulk, -bulk]
    # The mixture of m diagonal networks, eq. (114).
    betas = (w * v).mT
    return {
        "inputs": torch.tensor(len(w)),
        "width": torch.tensor(m),
        "eigenvalues": cf.multi_input(w, v, x, y).eigenvalues,
        "decoupled": torch.cat(parts).sort().values,
        "outputs": sum((x @ beta for beta in betas), torch.zeros_like(y)),
    }


def set_multi_input(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = MultiInputLinear(instance["v"], instance["w"])
    return Setting(model, HalfSquaredError("sample"), instance["x"], instance["y"])


def outputs(instance: Instance) -> Quantities:
    """What the network computes."""
    model = MultiInputLinear(instance["v"], instance["w"])
    return {"outputs": model(instance["x"]).detach()}


def exact_multi_output(instance: Instance) -> Quantities:
    """Corollaries B.2 and B.3."""
    w, v, x, y = (instance[name] for name in "wvxy")
    heads, m = w.shape
    spectrum = cf.multi_output(w, v, x, y)
    moments = [Moments.of(w[k], v[k], x, y[:, k]) for k in range(heads)]
    vectors, values = [], []
    for k, of in enumerate(moments):
        for value in formulas.outliers_by_squares(of):
            column = torch.zeros(heads, 2 * m, dtype=torch.float64)
            column[k] = formulas.outlier_vector(w[k], v[k], value, of.residual_covariance)
            vectors.append(column.reshape(-1))
            values.append(value)
    return {
        "eigenvalues": spectrum.eigenvalues,
        "eigenvectors": spectrum.eigenvectors(),
        "outliers": torch.stack(values),
        "outlier_vectors": torch.stack(vectors, dim=1),
        "hessian": torch.block_diag(
            *(formulas.linear_hessian(w[k], v[k], of) for k, of in enumerate(moments))
        ),
        "printed_hessian": torch.block_diag(
            *(printed.printed_head_hessian(w[k], v[k], of) for k, of in enumerate(moments))
        ),
    }


def set_multi_output(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = MultiOutputLinear(instance["v"], instance["w"])
    return Setting(model, HalfSquaredError("sample"), instance["x"], instance["y"])


def exact_orthogonal(instance: Instance) -> Quantities:
    """The theorem for an orthogonal first layer, which settles the conjecture of section 4.1."""
    w, V = instance["w"], instance["V"]
    inputs = V.shape[1]
    return {
        "inputs": torch.tensor(inputs),
        "eigenvalues": cf.orthogonal_first_layer(w, V, instance["x"], instance["y"]).eigenvalues,
        "pair": formulas.bias_pair(w @ w + V.square().sum() / inputs, (V.mT @ w).square().sum()),
        # tr(H)/D = ‖w‖² + ν², with VᵀV = ν² I.
        "trace_share": w @ w + V.square().sum() / inputs,
    }


def set_orthogonal(instance: Instance) -> Setting:
    """The instance for brute force."""
    model = LinearNetwork(instance["V"], instance["w"])
    return Setting(model, HalfSquaredError("sample"), instance["x"], instance["y"])


def _spectral(matrix: Tensor) -> Tensor:
    return torch.linalg.matrix_norm(matrix, ord=2).square()


def exact_matrices(instance: Instance) -> Quantities:
    """Appendices D.3.3 and D.4: the diagonal blocks, the trace, and how λ_max relates to norms.

    For whitened inputs ``sum_of_norms`` is the largest eigenvalue of the GGN, hence the Hessian's
    where the loss vanishes (anon2026data, eq. 10).
    """
    first, second, x = (instance[name] for name in ("W1", "W2", "x"))
    covariance = x.mT @ x / len(x)
    eye = torch.eye(second.shape[0], dtype=torch.float64)
    whitened = torch.allclose(covariance, torch.eye(x.shape[1], dtype=torch.float64), atol=1e-12)
    return {
        "whitened": torch.tensor(whitened),
        "square": torch.tensor(first.shape[1] == second.shape[0]),
        "first_size": torch.tensor(first.numel()),
        "first_block": torch.kron(second.mT @ second, covariance),
        "second_block": torch.kron(eye, first @ covariance @ first.mT),
        "trace": (
            covariance.trace() * second.square().sum()
            + len(second) * (first @ covariance @ first.mT).trace()
        ),
        # D (‖W_1‖_F² + ‖W_2‖_F²), for whitened inputs and as many outputs as inputs.
        "frobenius_trace": first.shape[1] * (first.square().sum() + second.square().sum()),
        "sum_of_norms": _spectral(first) + _spectral(second),
        "largest_norm": torch.stack([_spectral(first), _spectral(second)]).max(),
        "printed_sharpness": printed.printed_sharpness(first, second),
    }


def set_matrices(instance: Instance) -> Setting:
    """The instance for brute force: two bias-free linear layers of PyTorch's own."""
    layers = []
    for name in ("W1", "W2"):
        weight = instance[name]
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
        layer.weight = nn.Parameter(weight.clone())
        layers.append(layer)
    return Setting(nn.Sequential(*layers), HalfSquaredError("sample"), instance["x"], instance["y"])


def gauss_newton(instance: Instance) -> Quantities:
    """The largest eigenvalue of the GGN, by brute force."""
    operator = cv.ggn(set_matrices(instance).problem())
    return {"ggn_sharpness": cv.dense_spectrum(operator).eigenvalues[-1:]}


MULTI_INPUT = Family(draws.multi_input, exact_multi_input, set_multi_input, outputs)
CORRELATED_INPUT = Family(draws.correlated_input, exact_multi_input, set_multi_input)
MULTI_OUTPUT = Family(draws.multi_output, exact_multi_output, set_multi_output)
ORTHOGONAL = Family(draws.orthogonal, exact_orthogonal, set_orthogonal)
MATRICES = Family(draws.matrices, exact_matrices, set_matrices, gauss_newton)
