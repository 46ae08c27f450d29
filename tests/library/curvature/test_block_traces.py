"""Traces block by block: the sum over layers, without the noise between them."""

import pytest
import scipy.stats
import torch
from torch import nn

from hessian_spectra import curvature as cv

from .cases import normal
from .test_eigenpairs import matrix
from .test_trace_errors import SPECTRA, fewest, held


@pytest.fixture(scope="module")
def hessian():
    """The Hessian of a trained perceptron, of a problem in two batches."""
    x, y = normal(60, 20), torch.arange(60) % 4
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(20, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh())
        model.extend([nn.Linear(12, 4)]).double()
    descent = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        descent.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        descent.step()
    data = [(x[:40], y[:40]), (x[40:], y[40:])]
    return cv.hessian(cv.Problem(model, nn.CrossEntropyLoss(), data))


class _Stored(cv.Operator):
    """The Hessian's matrix in the place of its products, which take longer."""

    def __init__(self, hessian):
        self._whole, self._parts, start = cv.dense_matrix(hessian), {}, 0
        super().__init__(hessian.shape[0], hessian.dtype, hessian.device)
        for name, block in hessian.blocks().items():
            part = slice(start, start + block.shape[0])
            self._parts[name], start = cv.as_operator(self._whole[part, part]), part.stop

    def blocks(self, by="module"):
        return self._parts

    def _matmat(self, columns):
        return self._whole @ columns


@pytest.fixture(scope="module")
def stored(hessian):
    return _Stored(hessian)


@pytest.mark.parametrize("method", ["adaptive", "hutchinson", "hutch++", "xtrace"])
def test_the_trace_is_the_sum_of_the_blocks_estimates(hessian, stored, method):
    actual = cv.trace(hessian, method, probes=24)
    assert list(actual.blocks) == ["0", "2", "4"]
    parts = actual.blocks.values()
    assert actual.value == pytest.approx(sum(part.value for part in parts), rel=1e-12)
    squares = sum(part.standard_error**2 for part in parts)
    assert actual.standard_error == pytest.approx(squares**0.5, rel=1e-12)
    assert actual.products == 24
    for name, block in stored.blocks().items():
        part, exact = actual.blocks[name], float(cv.dense_matrix(block).trace())
        assert abs(part.value - exact) <= 6 * part.standard_error + 1e-12


def test_blocks_are_independent_of_each_other(hessian):
    """Equal probes would correlate the errors, and the sum's would not be known."""
    blocks = list(cv.trace(hessian, "hutchinson", probes=4).blocks.values())
    first = cv.trace(hessian.blocks()["0"], "hutchinson", probes=4)
    second = cv.trace(hessian.blocks()["2"], "hutchinson", probes=4)
    assert blocks[0] == first
    assert blocks[1] != second


def errors(hessian, exact, **options):
    actual = [cv.trace(hessian, seed=seed, **options).value for seed in range(12)]
    return float((torch.tensor(actual, dtype=torch.float64) - exact).square().mean().sqrt())


def test_a_block_and_a_block_diagonal_matrix_have_the_same_parts(hessian):
    together = cv.trace(hessian.block_diagonal(), probes=20)
    apart = cv.trace(hessian, probes=20)
    assert together.value == apart.value
    names = ["0.weight, 0.bias", "2.weight, 2.bias", "4.weight, 4.bias"]
    assert list(together.blocks) == names
    parameters = cv.trace(hessian, probes=20, blocks="parameter").blocks
    assert list(parameters) == list(hessian.problem.names)
    assert parameters["0.bias"].method == "exact"


def test_intervals_of_the_sum_hold_the_trace_as_often_as_they_say(stored):
    exact = float(cv.dense_matrix(stored).trace())
    assert held(stored, exact, 100, probes=24) >= fewest(100)


@pytest.mark.parametrize("shape", SPECTRA)
def test_the_chosen_method_is_about_as_good_as_the_better_one(shape):
    values = SPECTRA[shape]
    dense, exact = matrix(values), float(values.sum())
    chosen, *others = (
        errors(dense, exact, method=method, probes=40)
        for method in ("adaptive", "hutchinson", "xtrace")
    )
    # A ratio of two errors from twelve draws each, by the F distribution.
    assert chosen < min(others) * scipy.stats.f.ppf(0.999, 12, 12) ** 0.5


def test_the_choice_is_by_the_range_and_unbiased():
    assert cv.trace(matrix(SPECTRA["semicircle"])).method == "hutchinson"
    assert cv.trace(matrix(SPECTRA["spiked"])).method == "xtrace"
    values = SPECTRA["on the edge"]
    dense = matrix(values)
    actual = [cv.trace(dense, probes=40, seed=seed) for seed in range(150)]
    # Both are chosen here.
    assert {item.method for item in actual} == {"hutchinson", "xtrace"}
    errors = torch.tensor([item.value for item in actual]) - float(values.sum())
    assert abs(float(errors.mean())) < 3.5 * float(errors.std()) / 150**0.5
