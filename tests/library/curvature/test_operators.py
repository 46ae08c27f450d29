"""Hessian and Gauss-Newton operators of small problems against three independent sources."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from . import oracles
from .cases import CASES, CURVED, LABELS, Attention, Case, X, Y, built, cases, cut, mlp, normal

pytestmark = [
    # Torch's forward mode and vmap, which the other sources use.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]


def problem(case: Case) -> cv.Problem:
    return cv.Problem(case.model(), case.loss, case.data)


@pytest.mark.parametrize(
    ("operator", "case"),
    [*((cv.hessian, case) for case in CASES), *((cv.ggn, case) for case in CURVED)],
    ids=lambda part: getattr(part, "name", None),
)
def test_curvlinops_agrees(case, operator):
    ours = operator(problem(case), check=False)
    reference = operator(problem(case), backend="curvlinops", check=False)
    vector = normal(ours.shape[0], seed=9)
    assert_close(ours @ vector, reference @ vector, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
def test_pyhessian_agrees():
    from pyhessian.hessian import hessian
    from pyhessian.utils import hessian_vector_product

    case = cases["relu, one batch"]
    other = hessian(case.model(), case.loss, data=case.data[0], cuda=False)
    operator = cv.hessian(problem(case))
    vector = normal(operator.shape[0])
    product = hessian_vector_product(other.gradsH, other.params, problem(case).split(vector))
    assert_close(operator @ vector, oracles.flat(product), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["relu, one batch", "layer norm", "eager attention"])
def test_hessian_eigenthings_agrees(name):
    from hessian_eigenthings import (
        GGNOperator,
        HessianOperator,
        supervised_forward,
        supervised_loss,
        supervised_loss_of_output,
    )

    case = cases[name]
    vector = normal(problem(case).size)
    other = HessianOperator(case.model(), case.data, supervised_loss(case.loss))
    assert_close(cv.hessian(problem(case)) @ vector, other.matvec(vector))
    other = GGNOperator(
        case.model(),
        case.data,
        supervised_forward,
        supervised_loss_of_output(case.loss),
    )
    assert_close(cv.ggn(problem(case)) @ vector, other.matvec(vector))


def test_least_squares_hessian_is_the_second_moment_of_the_inputs():
    x = normal(9, 4)
    model = nn.Linear(4, 1, bias=False).double()
    loss = nn.MSELoss(reduction="mean")
    for operator in (cv.hessian, cv.ggn):
        dense = cv.dense_matrix(operator(cv.Problem(model, loss, cut(x, normal(9, 1), 4, 5))))
        assert_close(dense, 2 * x.T @ x / 9, rtol=1e-13, atol=1e-14)


def test_logistic_hessian_is_the_weighted_second_moment():
    x, labels = normal(9, 4), torch.arange(9) % 3
    model = nn.Linear(4, 3, bias=False).double()
    p = model(x).softmax(1).detach()
    # ∂²(cross-entropy) = (diag p − p pᵀ) ⊗ x xᵀ, weights flattened class by class.
    fisher = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    expected = torch.einsum("nab,ni,nj->aibj", fisher, x, x).reshape(12, 12) / 9
    dense = cv.dense_matrix(cv.hessian(cv.Problem(model, nn.CrossEntropyLoss(), [(x, labels)])))
    assert_close(dense, expected, rtol=1e-12, atol=1e-14)


def test_float32_agrees_with_float64():
    case = cases["convolution"]
    single = [(x.float(), y) for x, y in case.data]
    for operator in (cv.hessian, cv.ggn):
        exact = operator(problem(case))
        rounded = operator(cv.Problem(case.model().float(), case.loss, single))
        vector = normal(exact.shape[0])
        assert rounded.dtype == torch.float32
        # A few hundred rounded operations of 6e-8 each.
        assert_close((rounded @ vector.float()).double(), exact @ vector, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["tanh", "per sample"])
def test_chosen_parameters_give_a_block(name):
    case = cases[name]
    whole = cv.dense_matrix(cv.hessian(problem(case)))
    block = cv.Problem(case.model(), case.loss, case.data, ["2.bias", "0.weight"])
    # The order is the one asked for: three biases, then the twelve weights of the first layer.
    order = torch.cat([torch.arange(28, 31), torch.arange(12)])
    assert_close(cv.dense_matrix(cv.hessian(block)), whole[order][:, order])


class Mean(nn.Module):
    reduction = "mean"

    def forward(self, outputs, targets):
        return (outputs * targets).mean()


def test_a_loss_that_is_linear_in_the_outputs_has_no_gauss_newton_matrix():
    at = cv.Problem(mlp().double(), Mean(), [(normal(7, 3), normal(7, 3))])
    with pytest.raises(cv.OperatorError, match="loss is linear in the outputs") as caught:
        cv.ggn(at, check=False)
    assert "\n" not in str(caught.value)
    assert (cv.hessian(at) @ normal(at.size)).norm() > 0


@pytest.mark.parametrize(
    ("model", "loss", "data"),
    [
        (mlp().append(nn.LogSoftmax(1)), nn.NLLLoss(), cut(X, LABELS, 3, 4)),
        (mlp(), nn.L1Loss(), cut(X, Y, 3, 4)),
    ],
)
@pytest.mark.parametrize("backend", ["autograd", "curvlinops"])
def test_so_it_is_with_log_probabilities_and_absolute_errors(model, loss, data, backend):
    at = cv.Problem(model.double(), loss, data)
    with pytest.raises(cv.OperatorError, match="leave LogSoftmax out and take CrossEntropyLoss"):
        cv.ggn(at, backend=backend)


def test_a_model_that_is_linear_with_a_linear_loss_has_no_hessian():
    at = cv.Problem(nn.Linear(3, 3).double(), Mean(), [(normal(7, 3), normal(7, 3))])
    assert torch.equal(cv.hessian(at) @ normal(12), torch.zeros(12, dtype=torch.float64))


def test_operations_without_a_second_derivative_are_named():
    class Flash(Attention):
        def forward(self, tokens):
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                return super().forward(tokens)

    case = cases["attention"]
    with pytest.raises(cv.OperatorError, match=r"cannot be differentiated twice.*eager"):
        cv.hessian(cv.Problem(built(Flash), case.loss, case.data))


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
@pytest.mark.parametrize("name", ["tanh", "relu, one batch", "layer norm", "convolution"])
def test_a_graph_that_is_let_go_gives_the_same_products(operator, name):
    at = problem(cases[name])
    kept, free = operator(at), operator(at, keep_graph=False)
    columns = normal(at.size, 3)
    for _ in range(2):
        assert torch.equal(free @ columns, kept @ columns)
        assert torch.equal(free @ columns[:, 0], kept @ columns[:, 0])
    own, other = free.block_diagonal(), kept.block_diagonal()
    assert torch.equal(own @ columns, other @ columns)
