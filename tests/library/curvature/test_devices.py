"""The same numbers on a GPU, where there is one."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra import pac_bayes
from hessian_spectra.curvature.ensemble import hessians

from .cases import SOLVERS, built, cases, normal
from .ensembles import ACTIVATIONS, data, ensemble
from .test_eigenpairs import matrix, network

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def moved(problem: cv.Problem) -> cv.Problem:
    data = [tuple(part.cuda() for part in batch) for batch in problem.data]
    return cv.Problem(problem.model.cuda(), problem.loss, data)


def problem_of(name: str) -> cv.Problem:
    case = cases[name]
    return cv.Problem(case.model(), case.loss, case.data)


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
@pytest.mark.parametrize("name", ["relu, one batch", "convolution", "attention", "layer norm"])
def test_products(name, operator):
    problem = problem_of(name)
    vector = normal(problem.size)
    expected = operator(problem) @ vector
    on_device = operator(moved(problem))
    assert on_device.device.type == "cuda"
    assert_close((on_device @ vector.cuda()).cpu(), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_solvers_of_a_matrix_and_of_a_network(solve):
    dense = matrix([5.0, 4.0, 4.0, *(0.1 * normal(297)).tolist()])
    pairs = (dense, dense.cuda()), (cv.hessian(network()), cv.hessian(moved(network())))
    for here, on_device in pairs:
        assert_close(solve(on_device).cpu(), solve(here), rtol=1e-7, atol=1e-8)
    actual = cv.top_eigenpairs(pairs[1][1], 4)
    assert actual.eigenvectors().device.type == "cuda"


def test_layers_and_the_noise_of_batches():
    problem = problem_of("convolution")
    here = cv.layerwise(problem)
    on_device = cv.layerwise(moved(problem))
    assert here.keys() == on_device.keys()
    for name, layer in here.items():
        assert on_device[name].output_hessian.device.type == "cuda"
        for function in (
            lambda at: cv.dense_matrix(at.hessian),
            lambda at: at.output_hessian,
            lambda at: at.input_autocorrelation,
            lambda at: at.kronecker(2).eigenvalues,
        ):
            assert_close(function(on_device[name]).cpu(), function(layer), rtol=1e-8, atol=1e-10)
    actual, expected = cv.batch_sharpness(moved(network())), cv.batch_sharpness(network())
    assert_close(actual.eigenvalues, expected.eigenvalues, rtol=1e-6, atol=1e-8)
    noise = cv.gradient_noise(moved(network()))
    assert noise.trace == pytest.approx(cv.gradient_noise(network()).trace, rel=1e-8)


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


MEASURES = {
    "products": lambda at, samples: (
        hessians(at, samples)
        @ normal(5, sum(weight[0].numel() for weight in at.weights)).to(at.weights[0].device)
    ),
    "trace": cv.ensemble_trace,
    "sharpness": lambda at, samples: cv.ensemble_sharpness(at, samples).values,
    "norms": lambda at, _: cv.ensemble_weight_statistics(at).norms,
    "bounds": lambda at, _: cv.ensemble_block_bounds(at).blocks,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(1, 6, 1), (3, 8, 5, 3), (8, 40, 8)], ids=str)
@pytest.mark.parametrize("name", MEASURES)
def test_ensembles(name, sizes, activation):
    networks, samples = ensemble(sizes, activation, count=5), data(sizes, count=50)
    networks.weights[0][2] = torch.nan
    here = MEASURES[name](networks, samples)
    on_device = MEASURES[name](
        networks.to(torch.device("cuda")), tuple(part.cuda() for part in samples)
    )
    scale = float(here.nan_to_num().abs().max())
    assert on_device.device.type == "cuda"
    assert_close(on_device.cpu(), here, rtol=1e-8, atol=1e-10 * scale, equal_nan=True)
