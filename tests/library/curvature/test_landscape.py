"""The loss along directions and in planes, against networks whose parameters are moved by hand."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import cases, normal

DISTANCES = [-1.5, -0.2, 0.0, 0.3, 2.0]


def problem_of(case):
    model = case.model()
    return model, cv.Problem(model, case.loss, case.data)


def by_hand(case, model, offset):
    """The loss with the parameters moved."""
    moved = copy.deepcopy(model)
    with torch.no_grad():
        start = 0
        for parameter in moved.parameters():
            if parameter.requires_grad:
                piece = offset[start : start + parameter.numel()].view_as(parameter)
                parameter.add_(piece)
                start += parameter.numel()
        return float(case.value(moved))


@pytest.mark.parametrize(
    "name", ["linear regression", "tanh", "relu", "attention", "tied weights", "frozen bias"]
)
def test_losses_are_those_of_the_moved_network(name):
    case = cases[name]
    model, problem = problem_of(case)
    u, v = normal(problem.size), normal(problem.size, seed=9)
    curve = cv.loss_along(problem, u, DISTANCES)
    expected = [by_hand(case, model, s * u / u.norm()) for s in DISTANCES]
    expected = torch.tensor(expected, dtype=torch.float64)
    assert_close(curve.loss, expected, rtol=1e-12, atol=1e-13)
    plane = cv.loss_plane(problem, u, v, [-1.0, 0.5], [0.0, 2.0, 3.0])
    for i, s in enumerate(plane.first):
        for j, t in enumerate(plane.second):
            expected = by_hand(case, model, plane.directions @ torch.stack([s, t]))
            assert float(plane.loss[i, j]) == pytest.approx(expected, rel=1e-12)


def test_slope_and_curvature_are_those_of_the_curve():
    _, problem = problem_of(cases["tanh"])
    step = 1e-4
    actual = cv.loss_along(problem, normal(problem.size), [-step, 0.0, step])
    low, middle, high = actual.loss.tolist()
    assert actual.slope == pytest.approx((high - low) / (2 * step), rel=1e-6)
    assert actual.curvature == pytest.approx((high - 2 * middle + low) / step**2, rel=1e-5)
    assert actual.quadratic.tolist() == pytest.approx([low, middle, high], rel=1e-10)


def test_axes_of_a_plane_are_curves_along_orthonormal_directions():
    _, problem = problem_of(cases["tanh"])
    u, v = normal(problem.size), normal(problem.size, seed=3)
    plane = cv.loss_plane(problem, u, u + v, DISTANCES)
    assert_close(plane.directions.T @ plane.directions, torch.eye(2).double(), rtol=0, atol=1e-14)
    assert float(plane.directions[:, 0] @ u) == pytest.approx(float(u.norm()))
    at = DISTANCES.index(0.0)
    for line, direction in ((plane.loss[:, at], 0), (plane.loss[at], 1)):
        curve = cv.loss_along(problem, plane.directions[:, direction], DISTANCES)
        assert_close(line, curve.loss, rtol=1e-12, atol=0)
    assert_close(plane.second, plane.first)


def test_chance_is_the_same_at_each_point_and_the_users_is_left_alone():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2)).double()
    problem = cv.Problem(model, nn.MSELoss(), [(normal(7, 3), normal(7, 2))])
    u, v = normal(problem.size), normal(problem.size, seed=1)
    state = torch.get_rng_state()
    bits = [parameter.detach().clone() for parameter in model.parameters()]
    actual = cv.loss_plane(problem, u, v, [-1e-9, 0.0, 1e-9])
    assert float(actual.loss.std() / actual.loss.mean()) < 1e-7
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(bits, model.parameters(), strict=True))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_losses_that_are_not_finite_are_given_as_they_are():
    model = nn.Linear(1, 1, bias=False).double()
    problem = cv.Problem(
        model, loss_fn=lambda model, x: model(x).exp().mean(), data=[torch.ones(1, 1).double()]
    )
    actual = cv.loss_along(problem, torch.ones(1), [0.0, 1e4])
    assert actual.loss.isinf().tolist() == [False, True]
