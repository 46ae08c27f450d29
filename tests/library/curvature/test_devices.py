"""The same numbers on a GPU, where there is one."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra import pac_bayes

from .cases import built, cases, normal
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
    on_device = operator(moved(problem))
    assert on_device.device.type == "cuda"
    assert_close((on_device @ vector.cuda()).cpu(), expected, rtol=1e-8, atol=1e-10)


def test_spectra_and_estimates():
    dense = matrix([5.0, 4.0, 4.0, *(0.1 * normal(297)).tolist()])
    on_device = dense.cuda()
    for function in (
        lambda at: cv.top_eigenpairs(at, 5, 1e-9).eigenvalues,
        lambda at: cv.top_eigenpairs(at, 50, 1e-9).eigenvalues,
        lambda at: cv.dense_spectrum(at).eigenvalues,
        lambda at: cv.spectral_density(at, probes=2, steps=10).nodes,
        lambda at: torch.tensor(cv.trace(at, probes=20).value),
        lambda at: torch.tensor(cv.trace_of_function(at, torch.cos, probes=2, steps=20).value),
        lambda at: cv.function_product(at, torch.exp, torch.ones_like(at[0])).value,
        lambda at: cv.dense_matrix(cv.preconditioned(at, 1 + at[0].abs())),
    ):
        assert_close(function(on_device).cpu(), function(dense), rtol=1e-7, atol=1e-8)
    actual = cv.top_eigenpairs(cv.hessian(moved(network())), 4)
    assert actual.eigenvectors().device.type == "cuda"
    assert bool(actual.converged.all())


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
def test_top_density_and_trace_of_a_network(operator):
    here, on_device = operator(network()), operator(moved(network()))
    for function in (
        lambda at: cv.top_eigenpairs(at, 4, 1e-9).eigenvalues,
        lambda at: cv.top_eigenpairs(at, 2, 1e-9, "SA").eigenvalues,
        lambda at: cv.spectral_density(at, probes=2, steps=10).nodes,
        lambda at: torch.tensor(cv.trace(at, "hutchinson", probes=10).value),
        lambda at: cv.diagonal(at, "exact").value,
    ):
        assert_close(function(on_device).cpu(), function(here), rtol=1e-7, atol=1e-8)


def test_layers():
    case = cases["convolution"]
    problem = cv.Problem(case.model(), case.loss, case.data)
    here = cv.layerwise(problem)
    on_device = cv.layerwise(moved(problem))
    assert here.keys() == on_device.keys()
    for name, layer in here.items():
        other = on_device[name]
        assert other.output_hessian.device.type == "cuda"
        for function in (
            lambda at: cv.dense_matrix(at.hessian),
            lambda at: at.output_hessian,
            lambda at: at.input_autocorrelation,
            lambda at: at.kronecker(2).eigenvalues,
        ):
            assert_close(function(other).cpu(), function(layer), rtol=1e-8, atol=1e-10)


def test_batches_and_the_noise_of_their_gradients():
    here, on_device = network(), moved(network())
    actual, expected = cv.batch_sharpness(on_device), cv.batch_sharpness(network())
    assert_close(actual.eigenvalues, expected.eigenvalues, rtol=1e-6, atol=1e-8)
    noise = cv.gradient_noise(on_device)
    assert noise.device.type == "cuda"
    assert noise.trace == pytest.approx(cv.gradient_noise(here).trace, rel=1e-8)


def test_a_posterior_and_its_certificate():
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(300, 5, generator=draws)
    y = (x[:, 0] + x[:, 1] > 0).long()
    model = built(lambda: nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))).float()
    quick = {"prior_saw": "nothing", "epochs": 5, "draws": 2000, "largest_variance": 1.0}
    prior = copy.deepcopy(model)
    with torch.no_grad():
        model[2].weight.add_(torch.randn(2, 6, generator=draws))
    here = pac_bayes.bound(model, (x, y), prior=prior, **quick)
    # A device draws noise of its own: what is trained there is another posterior of the same kind.
    samples = x.cuda(), y.cuda()
    first, again = (
        pac_bayes.bound(copy.deepcopy(model).cuda(), samples, prior=prior.cuda(), **quick)
        for _ in range(2)
    )
    assert first.bound == pytest.approx(again.bound, rel=1e-3)
    del quick["epochs"]
    moved = pac_bayes.certify(copy.deepcopy(here.posterior).cuda(), samples, **quick)
    assert moved.moments.squared_distance == pytest.approx(here.moments.squared_distance, rel=1e-5)
    assert moved.moments.variance_sum == pytest.approx(here.moments.variance_sum, rel=1e-5)
    deviation = (here.mean_error * (1 - here.mean_error) / quick["draws"]) ** 0.5
    assert abs(moved.mean_error - here.mean_error) < 5 * 2**0.5 * deviation
