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


def weights_at(network: Arrays, index: int) -> list[Tensor]:
    """W_1, ..., W_L of a trained network at one of its recorded epochs."""
    depth = sum(name.startswith("weights ") for name in network)
    return [torch.from_numpy(network[f"weights {layer}"][index]) for layer in range(1, depth + 1)]


def at_epoch(network: Arrays, index: int) -> Arrays:
    """The arrays that the loss at one of the recorded epochs depends on."""
    kept = {name: network[name] for name in DATA if name in network}
    weights = {name: array for name, array in network.items() if name.startswith("weights ")}
    return kept | {name: array[index][None] for name, array in weights.items()}


def parameters(network: Arrays) -> int:
    """The number of parameters of a network, of what :func:`at_epoch` gives."""
    return sum(weight.numel() for weight in weights_at(network, 0))


def problem(network: Arrays, activation: Activation) -> cv.Problem:
    """The loss at one epoch, of what :func:`at_epoch` gives.

    For a linear network on its reduced samples, where all derivatives are those on its own.
    """
    weights = weights_at(network, 0)
    model: nn.Module = Perceptron(weights, [1.0] * len(weights), activation)
    if activation == "linear":
        root, target = (torch.from_numpy(network[name]) for name in ("root", "target"))
        batch = ReducedRegression(root, target, float(network["floor"])).samples()
    else:
        batch = torch.from_numpy(network["inputs"]), torch.from_numpy(network["targets"])
    return cv.Problem(model, HalfSquaredError("sample"), [batch])


def top_eigenvalues(
    network: Arrays, activation: Activation, count: int, tolerance: float
) -> np.ndarray:
    """The largest eigenvalues of the Hessian and of its Gauss-Newton part, and their residuals.

    Args:
        network: what :func:`at_epoch` gives.
        activation: of its hidden layers.
        count: how many eigenvalues.
        tolerance: residual, relative to the largest.

    Returns:
        ``(2, 2, count)``: eigenvalues and residuals, of both matrices, ascending.
    """
    loss = problem(network, activation)
    matrices = cv.hessian(loss, backend="curvlinops"), cv.ggn(loss)
    pairs = [cv.top_eigenpairs(matrix, k=count, tol=tolerance) for matrix in matrices]
    return np.array([[pair.eigenvalues for pair in pairs], [pair.residuals for pair in pairs]])
