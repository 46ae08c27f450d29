"""The way to curvlinops and back: its operators over a problem, ours in its functions."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.curvlinops_operators import without_deprecations

from .cases import LABELS, SOLVERS, X, Y, built, cut, mlp, normal

with without_deprecations():
    import curvlinops

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")


def problem(model, loss, data, parameters=None) -> cv.Problem:
    return cv.Problem(built(model), loss, data, parameters)


def test_operators_of_a_problem_are_those_of_the_moment_and_leave_the_model_alone():
    at = problem(mlp, nn.MSELoss(), cut(X, Y, 2, 5))
    parameters = [*at.model.parameters()]
    operator = cv.as_operator(curvlinops.GGNLinearOperator(*cv.curvlinops_arguments(at)))
    before = operator @ normal(31)
    assert [id(item) for item in at.model.parameters()] == [id(item) for item in parameters]
    assert all(item.grad is None for item in parameters)
    with torch.no_grad():
        for parameter in parameters:
            parameter.mul_(2)
    assert torch.equal(operator @ normal(31), before)


def test_their_operators_of_a_problem_and_ours_are_one_algebra():
    at = problem(mlp, nn.CrossEntropyLoss(), cut(X, LABELS, 3, 4))
    peer = cv.as_operator(curvlinops.GGNLinearOperator(*cv.curvlinops_arguments(at)))
    vector = normal(at.size)
    assert_close(peer @ vector, cv.ggn(at) @ vector)
    functional = cv.hessian(at) - peer
    expected = cv.hessian(at) @ vector - cv.ggn(at) @ vector
    assert_close(functional @ vector, expected)


FOREIGN = ("GGN", "Fisher", "EKFAC", "inverse of KFAC", "sum")


def foreign() -> dict[str, cv.SymmetricOperator]:
    """Operators of curvlinops itself over one network."""
    model = built(lambda: nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 3)))
    arguments = (model, nn.CrossEntropyLoss(), list(model.parameters()), cut(X, LABELS, 3, 4))
    factors = {"fisher_type": "type-2"}
    kfac = curvlinops.KFACLinearOperator(*arguments, **factors)
    ggn = curvlinops.GGNLinearOperator(*arguments)
    return {
        "GGN": ggn,
        "Fisher": curvlinops.FisherMCLinearOperator(*arguments),
        "KFAC": kfac,
        "EKFAC": curvlinops.EKFACLinearOperator(*arguments, **factors),
        "inverse of KFAC": curvlinops.KFACInverseLinearOperator(
            kfac, damping=1e-1, use_exact_damping=True
        ),
        "sum": ggn + 0.5 * kfac,
    }


@pytest.mark.parametrize("name", FOREIGN)
def test_solvers_take_operators_of_curvlinops(name):
    operator = foreign()[name]
    dense = cv.dense_matrix(operator)
    for solver, solve in SOLVERS.items():
        actual = solve(operator)
        assert not actual.requires_grad
        # The nodes of a matrix of low rank are of rounding, from where its Krylov space ends.
        if solver != "density":
            assert_close(actual, solve(dense), rtol=1e-6, atol=1e-8)
    assert not cv.top_eigenpairs(operator, k=3).eigenvectors().requires_grad
    assert cv.as_operator(operator).shape == operator.shape


def test_their_operators_add_to_ours():
    peer = foreign()
    ggn, kfac = peer["GGN"], peer["KFAC"]
    ours = cv.as_operator(torch.eye(ggn.shape[0], dtype=torch.float64))
    vector = normal(ggn.shape[0])
    assert_close((ours + ggn) @ vector, vector + ggn @ vector)
    assert_close((ours - kfac) @ vector, vector - kfac @ vector)
    # On their left, ours takes their form, with the shapes of the parameters.
    shapes = [(24, 3), (24,), (3, 24), (3,)]
    assert_close((ggn + ours.to_curvlinops(shapes)) @ vector, vector + ggn @ vector)


def test_ours_go_into_functions_of_curvlinops():
    half = normal(40, 40)
    matrix = half @ half.T / 40
    ours = cv.as_operator(matrix).to_curvlinops()
    identity = torch.eye(40, dtype=torch.float64)
    assert_close(ours @ identity, matrix)
    assert_close(ours.adjoint() @ identity, matrix)
    assert_close(ours @ [identity[0]], [matrix[0]])
    assert_close(ours.to_scipy() @ identity.numpy(), matrix.numpy())
    largest = float(torch.linalg.eigvalsh(matrix + identity)[-1])
    shifted = cv.as_operator(matrix).shift(1).to_curvlinops()
    series = curvlinops.NeumannInverseLinearOperator(shifted, num_terms=300, scale=1 / largest)
    assert_close(series @ identity, torch.linalg.inv(matrix + identity), rtol=1e-6, atol=1e-8)
    submatrix = curvlinops.SubmatrixLinearOperator(ours, [3, 1], [3, 1])
    assert_close(submatrix @ torch.eye(2).double(), matrix[[3, 1]][:, [3, 1]])


def test_the_hessian_of_a_loss_of_model_and_batch_is_for_curvlinops():
    def errors(model, batch):
        return (model(batch["x"]) - batch["y"]).square().mean()

    whole = cv.Problem(built(mlp), nn.MSELoss(), cut(X, Y, 2, 5))
    batches = [{"x": x, "y": y} for x, y in cut(X, Y, 2, 5)]
    at = cv.Problem(built(mlp), loss_fn=errors, data=batches, weights=lambda batch: len(batch["x"]))
    vectors = normal(31, 2)
    expected = cv.hessian(whole) @ vectors
    assert_close(cv.hessian(at, backend="curvlinops") @ vectors, expected)
