"""The second derivative by all layers' outputs, and what it makes of the Hessian."""

from typing import Any

import torch
from torch import Tensor

from hessian_spectra import curvature as cv

from .layer_networks import NETWORKS, close, problem_of


def test_it_is_that_of_dense_jacobians():
    network = NETWORKS["linear"]
    model = network.model()
    x = network.data()[0]
    shifts = [torch.zeros(len(x), m, dtype=torch.float64) for m in (5, 4, 3)]

    def outputs(*added: Tensor) -> Tensor:
        actual = x
        for place, layer in enumerate(model[::2]):
            actual = layer(torch.relu(actual) if place else actual) + added[place]
        return actual

    jacobians = torch.autograd.functional.jacobian(outputs, tuple(shifts))
    p = torch.softmax(model(x), dim=1).detach()
    expected: Any = 0.0
    for n in range(len(x)):
        G = torch.cat([jacobian[n, :, n] for jacobian in jacobians], dim=1)
        expected = expected + G.T @ (torch.diag(p[n]) - torch.outer(p[n], p[n])) @ G / len(x)
    actual = cv.full_output_hessian(problem_of(network, model))
    close(actual.matrix, expected)
    assert [len(mean) for mean in actual.means] == [5, 5, 5]  # the second has no bias
    close(actual.means[0], torch.cat([x.mean(dim=0), torch.ones(1, dtype=torch.float64)]))


def test_the_corrected_form_is_exact_for_constant_inputs():
    """With one sample; the printed form is not, as the lengths of the inputs differ."""
    network = NETWORKS["linear"]
    x, y = network.data()
    problem = cv.Problem(network.model(), network.loss, [(3 * x[:1], y[:1])])
    exact = cv.dense_spectrum(cv.ggn(problem))
    actual = cv.full_output_hessian(problem)
    corrected, printed = (actual.approximation(2, form) for form in ("corrected", "printed"))
    close(corrected.eigenvalues, exact.eigenvalues[-2:])
    vectors = corrected.eigenvectors()
    matrix = cv.dense_matrix(cv.ggn(problem))
    close(matrix @ vectors, vectors * corrected.eigenvalues)
    # (260) to (263), as they stand.
    off = (printed.eigenvalues[-1] / exact.eigenvalues[-1] - 1).abs()
    assert off > 1e-3
    basis = printed.eigenvectors()
    close(basis.T @ basis, torch.eye(2, dtype=torch.float64))
