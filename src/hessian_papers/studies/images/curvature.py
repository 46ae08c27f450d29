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
MATRICES = ("hessian", "ggn")
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
        ``sharpness``, ``ggn`` and the residuals of both.
    """
    names = ("sharpness", "ggn", "residual", "ggn_residual")
    values = [np.nan] * 4 if diverged else np.ravel(_top(network, activation, 1, TOLERANCE))
    return {name: np.array(value) for name, value in zip(names, values, strict=True)}


def measure_top(labels: Arrays, network: Arrays, top: int, tolerance: float) -> Arrays:
    """The top eigenvalues of the Hessian and of its Gauss-Newton part, of a linear network.

    Args:
        labels: which network it is, at which epoch; they are returned as well.
        network: what :func:`at_epoch` gives.
        top: how many eigenvalues, all if there are fewer.
        tolerance: residual, relative to the largest.

    Returns:
        The labels; ``numerical`` and ``residual`` (2, k) of each ``matrix``, ascending.
    """
    parameters = sum(array[0].size for n, array in network.items() if n.startswith("weights "))
    values, residuals = _top(network, "linear", min(top, parameters), tolerance)
    return labels | {"matrix": np.array(MATRICES), "numerical": values, "residual": residuals}


def _top(network: Arrays, activation: Activation, count: int, tolerance: float) -> np.ndarray:
    """Top eigenvalues, and their residuals, of both matrices, ``(2, 2, count)``."""
    loss = problem(network, activation)
    matrices = cv.hessian(loss, backend="curvlinops"), cv.ggn(loss)
    pairs = [cv.top_eigenpairs(matrix, k=count, tol=tolerance) for matrix in matrices]
    return np.array([[pair.eigenvalues for pair in pairs], [pair.residuals for pair in pairs]])


def measure_trace(labels: Arrays, network: Arrays, probes: int, seed: int) -> Arrays:
    """Hutchinson's estimate of the trace of a linear network's Hessian.

    Returns:
        The labels, ``estimate`` and ``standard_error``.
    """
    operator = cv.hessian(problem(network, "linear"), backend="curvlinops")
    # Other probes at each epoch, so that the errors are independent.
    own = seed + int(labels["epoch"])
    actual = cv.trace(operator, "hutchinson", blocks=None, probes=probes, seed=own)
    error = np.array(actual.standard_error)
    return labels | {"estimate": np.array(actual.value), "standard_error": error}
