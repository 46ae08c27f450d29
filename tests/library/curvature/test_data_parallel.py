"""Two processes with uneven shares multiply as one with all data."""

import multiprocessing

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from . import ranks


@pytest.fixture(scope="module")
def actual(tmp_path_factory):
    """The findings of each of two processes."""
    folder = tmp_path_factory.mktemp("ranks")
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=ranks.work, args=(rank, folder)) for rank in range(ranks.RANKS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
    left = [process for process in processes if process.is_alive()]
    for process in left:
        process.kill()
    assert not left
    assert [process.exitcode for process in processes] == [0] * ranks.RANKS
    return [torch.load(folder / f"{rank}.pt") for rank in range(ranks.RANKS)]


def whole(setting):
    return ranks.problem(setting, (0, 1, 2))


@pytest.mark.parametrize("name", ranks.OPERATORS)
@pytest.mark.parametrize("setting", ranks.SETTINGS)
def test_products_are_those_of_one_process(actual, setting, name):
    operator = ranks.OPERATORS[name](whole(setting))
    expected = operator @ ranks.VECTORS
    for process in actual:
        matrix, vector = process[setting, name]
        assert_close(matrix, expected, rtol=1e-12, atol=1e-13)
        assert_close(vector, expected[:, 0], rtol=1e-12, atol=1e-13)
    # Bit for bit the same in both, so that their solvers take the same way.
    assert torch.equal(actual[0][setting, name][0], actual[1][setting, name][0])


def test_the_mean_over_processes_would_be_wrong():
    means = [cv.hessian(ranks.problem("mean", share)) @ ranks.VECTORS for share in ranks.SHARES]
    expected = cv.hessian(whole("mean")) @ ranks.VECTORS
    assert (sum(means) / 2 - expected).norm() > 0.05 * expected.norm()


def test_solvers_take_it(actual):
    expected = cv.top_eigenpairs(cv.hessian(whole("mean")), k=2).eigenvalues
    for process in actual:
        assert_close(process["top"], expected, rtol=1e-8, atol=0)


MESSAGES = {
    "other parameters": "OperatorError: data_parallel: expected one operator with the same",
    "mean and sum": "got another in process 1 than in process 0; broadcast the parameters",
    "wrapped": "ValueError: model: expected the bare network, got DistributedDataParallel",
    "unknown": "ValueError: data_parallel: what the loss counts is not known; say what the mean",
}


@pytest.mark.parametrize("case", MESSAGES)
def test_what_would_be_wrong_is_refused_in_every_process(actual, case):
    for process in actual:
        assert MESSAGES[case] in process["messages"][case]


def test_without_a_group_it_is_refused():
    operator = cv.hessian(whole("mean"))
    with pytest.raises(ValueError, match="data_parallel: expected a process group, there is none"):
        cv.data_parallel(operator)


def test_a_problem_says_what_it_counts():
    assert whole("mean").total == 8
    assert whole("weights").total == 11
    summed = whole("sum")
    assert summed.summed
    assert summed.total == 1
    own = ranks.network(), None, ranks.batches((0, 1), "weights")
    assert cv.Problem(*own, loss_fn=ranks.mean_of_own_kind, weights=[2, 5]).total == 7
    assert cv.Problem(*own, loss_fn=ranks.mean_of_own_kind).total is None
