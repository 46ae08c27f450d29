"""The numerical curvature of networks trained on images, one epoch of one network at a time.

Hessians are multiplied by curvlinops. The Gauss-Newton matrix beside them, by our own products,
tells whether a difference from a formula is that of the formula or that of the residual.
"""

import numpy as np
import torch
from torch import Tensor, nn

from hessian_papers.data.tools.reduction import ReducedRegression
from hessian_spectra import curvature as cv
from hessian_spectra.files import Arrays
from hessian_spectra.models import Activation, HalfSquaredError, Perceptron

# What the loss of a trained network depends on beside its weights.
DATA = ("root", "target", "floor", "inputs", "targets")
# Residual of the sharpness, relative; its own error is about the square of it.
TOLERANCE = 1e-5


def weights_at(network: Arrays, index: int) -> list[Tensor]:
    """W_1, ..., W_L of a trained network at one of its recorded epochs."""
    depth = sum(name.startswith("weights ") for name in network)
    return [torch.from_numpy(network[f"weights {layer}"][index]) for layer in range(1, depth + 1)]


def at_epoch(network: Arrays, index: int) -> Arrays:
    """What the loss at one of the recorded epochs depends on."""
    kept = {name: network[name] for name in DATA if name in network}
    weights = {name: array for name, array in network.items() if name.startswith("weights ")}
    return kept | {name: array[index][None] for name, array in weights.items()}


def problem(network: Arrays, activation: Activation) -> cv.Problem:
    """The loss at one epoch, of what :func:`at_epoch` gives.

    For a linear network on its reduced samples, where all derivatives are those on its own.
    """
    weights = weights_at(network, 0)
    model: nn.Module = Perceptron(weights, [1.0] * len(weights), activation)
    if activation == "linear":
        reduced = ReducedRegression(
            torch.from_numpy(network["root"]),
            torch.from_numpy(network["target"]),
            float(network["floor"]),
        )
        batch = reduced.samples()
    else:
        batch = torch.from_numpy(network["inputs"]), torch.from_numpy(network["targets"])
    return cv.Problem(model, HalfSquaredError("sample"), [batch])


def measure_sharpness(network: Arrays, activation: Activation, diverged: bool) -> Arrays:
    """The largest eigenvalue of the Hessian and of its Gauss-Newton part, NaN if it diverged.

    Returns:
        ``sharpness``, ``residual``, ``ggn`` and ``ggn_residual``.
    """
    if diverged:
        return {name: np.array(np.nan) for name in ("sharpness", "residual", "ggn", "ggn_residual")}
    values, residuals = _top(network, activation, 1, TOLERANCE)
    return {
        "sharpness": np.array(values["hessian"][0]),
        "residual": np.array(residuals["hessian"][0]),
        "ggn": np.array(values["ggn"][0]),
        "ggn_residual": np.array(residuals["ggn"][0]),
    }


def measure_top(network: Arrays, epoch: int, top: int, tolerance: float) -> Arrays:
    """The top eigenvalues of the Hessian and of its Gauss-Newton part, of a linear network.

    Returns:
        ``epoch``, ``hessian`` and ``ggn`` (k,), ascending, and the residuals of each.
    """
    parameters = sum(array[0].size for n, array in network.items() if n.startswith("weights "))
    values, residuals = _top(network, "linear", min(top, parameters), tolerance)
    result = {f"{name}_residual": array for name, array in residuals.items()}
    return {"epoch": np.array(epoch)} | values | result


def _top(
    network: Arrays, activation: Activation, count: int, tolerance: float
) -> tuple[Arrays, Arrays]:
    """Top eigenvalues, and their residuals, of the Hessian and the Gauss-Newton matrix."""
    loss = problem(network, activation)
    operators = {"hessian": cv.hessian(loss, backend="curvlinops"), "ggn": cv.ggn(loss)}
    values, residuals = {}, {}
    for name, operator in operators.items():
        pairs = cv.top_eigenpairs(operator, k=count, tol=tolerance)
        assert pairs.residuals is not None
        values[name], residuals[name] = pairs.eigenvalues.numpy(), pairs.residuals.numpy()
    return values, residuals


def measure_trace(network: Arrays, epoch: int, probes: int, seed: int) -> Arrays:
    """Hutchinson's estimate of the trace of a linear network's Hessian.

    Returns:
        ``epoch``, ``trace`` and ``standard_error``.
    """
    operator = cv.hessian(problem(network, "linear"), backend="curvlinops")
    # Other probes at each epoch, so that the errors are independent.
    estimate = cv.trace(operator, "hutchinson", blocks=None, probes=probes, seed=seed + epoch)
    return {
        "epoch": np.array(epoch),
        "trace": np.array(estimate.value),
        "standard_error": np.array(estimate.standard_error),
    }
