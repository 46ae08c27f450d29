"""Several inputs and outputs: Corollaries B.1 to B.3, section 4.1, appendices D.3.3 and D.4."""

import torch
from torch import nn

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.models import LinearNetwork, MultiInputLinear, MultiOutputLinear
from hessian_spectra.studies.identities.identities.bias.formulas import bias_pair
from hessian_spectra.studies.identities.identities.instances import Instance
from hessian_spectra.studies.identities.identities.linear.formulas import Moments, linear_hessian
from hessian_spectra.studies.identities.identities.theorem import Quantities, Setting, Theorem
from hessian_spectra.studies.identities.identities.wide import formulas, instances


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


def outputs(instance: Instance, of: Setting) -> Quantities:
    """What the network computes."""
    return {"outputs": of.model(of.inputs)}


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
    return {
        "whitened": torch.tensor(whitened),
        "square": torch.tensor(first.shape[1] == second.shape[0]),
        "first_size": torch.tensor(first.numel()),
        "first_block": torch.kron(second.mT @ second, covariance),
        "second_block": torch.kron(eye, hidden),
        "trace": covariance.trace() * second.square().sum() + len(second) * hidden.trace(),
        # D (‖W_1‖_F² + ‖W_2‖_F²), for whitened inputs and as many outputs as inputs.
        "frobenius_trace": first.shape[1] * (first.square().sum() + second.square().sum()),
        "sum_of_norms": formulas.squared_norm(first) + formulas.squared_norm(second),
        "largest_norm": largest,
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


def _several_inputs(instance: Instance) -> nn.Module:
    return MultiInputLinear(instance["v"], instance["w"])


THEOREMS = {
    "multi_input": Theorem(instances.multi_input, multi_input, _several_inputs, outputs),
    "correlated_input": Theorem(instances.correlated_input, multi_input, _several_inputs),
    "multi_output": Theorem(
        instances.multi_output, multi_output, lambda i: MultiOutputLinear(i["v"], i["w"])
    ),
    "orthogonal": Theorem(
        instances.orthogonal, orthogonal, lambda i: LinearNetwork(i["V"], i["w"])
    ),
    "matrices": Theorem(instances.matrices, matrices, _two_layers, gauss_newton),
}
