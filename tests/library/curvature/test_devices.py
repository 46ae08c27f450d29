"""The same numbers on a GPU, where there is one."""

import pytest
import torch

from hessian_spectra import curvature as cv

from .cases import cases, normal
from .test_eigenpairs import matrix, network

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def moved(problem: cv.Problem) -> cv.Problem:
    data = [tuple(part.cuda() for part in batch) for batch in problem.data]
    return cv.Problem(problem.model.cuda(), problem.loss, data)


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
@pytest.mark.parametrize("name", ["relu, one batch", "convolution", "attention", "layer norm"])
def test_products(name, operator):
    case = cases[name]
    problem = cv.Problem(case.model(), case.loss, case.data)
    vector = normal(problem.size)
    expected = operator(problem) @ vector
    there = operator(moved(problem))
    assert there.device.type == "cuda"
    torch.testing.assert_close((there @ vector.cuda()).cpu(), expected, rtol=1e-8, atol=1e-10)


def test_spectra_and_estimates():
    dense = matrix([5.0, 4.0, 4.0, *(0.1 * normal(297)).tolist()])
    there = dense.cuda()
    for function in (
        lambda at: cv.top_eigenpairs(at, 5, 1e-9).eigenvalues,
        lambda at: cv.top_eigenpairs(at, 50, 1e-9).eigenvalues,
        lambda at: cv.dense_spectrum(at).eigenvalues,
        lambda at: cv.spectral_density(at, probes=2, steps=10).nodes,
        lambda at: torch.tensor(cv.trace(at, probes=20).value),
    ):
        torch.testing.assert_close(function(there).cpu(), function(dense), rtol=1e-7, atol=1e-8)
    found = cv.top_eigenpairs(cv.hessian(moved(network())), 4)
    assert found.eigenvectors().device.type == "cuda"
    assert bool(found.converged.all())
