"""A problem accepts data of many forms, weighs batches, and says what it does not accept."""

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError

from .cases import CASES, normal

X, Y, MEAN = normal(5, 3), normal(5, 2), nn.MSELoss()


def linear() -> nn.Module:
    return nn.Linear(3, 2).double()


def problem(model=None, loss=MEAN, data=((X, Y),), parameters=None, **others) -> cv.Problem:
    return cv.Problem(linear() if model is None else model, loss, data, parameters, **others)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_batches_add_up_to_the_loss_over_all_data(case):
    at = cv.Problem(case.model(), case.loss, case.data)
    assert at.value() == pytest.approx(case.value(case.model()).item(), rel=1e-13, abs=1e-15)


def test_weights_follow_what_the_loss_divides_by():
    def weights(loss, *targets):
        width = targets[0].shape[-1] if targets[0].is_floating_point() else 3
        shapes = [y.shape if y.is_floating_point() else (len(y), width) for y in targets]
        batches = [(normal(*shape), y) for shape, y in zip(shapes, targets, strict=True)]
        at = problem(nn.Linear(width, width).double(), loss, batches)
        return [weight for _, weight in at.batches()]

    assert weights(nn.MSELoss(), normal(1, 3), normal(3, 3)) == [0.25, 0.75]
    assert weights(nn.MSELoss(reduction="sum"), normal(1, 3), normal(3, 3)) == [1.0, 1.0]
    half, labels = HalfSquaredError, torch.tensor([0, -100, 1])
    assert weights(half("sample"), normal(1, 4, 3), normal(3, 2, 3)) == [0.25, 0.75]
    assert weights(half("element"), normal(1, 4, 3), normal(3, 2, 3)) == [0.4, 0.6]
    assert weights(nn.CrossEntropyLoss(), labels, labels[:1]) == [2 / 3, 1 / 3]
    heavy = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0, 1.0]).double())
    assert weights(heavy, labels, labels[:1]) == [0.8, 0.2]
    probabilities = torch.full((2, 3, 4), 1 / 3).double()
    assert weights(heavy, probabilities, probabilities[:1]) == [2 / 3, 1 / 3]
    # One target of probabilities without batches.
    assert weights(nn.L1Loss(), normal(2, 3), normal(3, 3, seed=1)) == [0.4, 0.6]
    assert weights(nn.L1Loss(reduction="sum"), normal(2, 3), normal(3, 3, seed=1)) == [1.0, 1.0]


def test_the_sizes_and_names_of_the_parameters():
    at = problem()
    assert (at.size, at.names, at.shapes) == (8, ("weight", "bias"), ((2, 3), (2,)))
    assert (at.dtype, at.device) == (torch.float64, torch.device("cpu"))
    pieces = at.split(torch.arange(8.0))
    assert [tuple(piece.shape) for piece in pieces] == [(2, 3), (2,)]
    assert problem(parameters=["bias"]).size == 2


def test_a_problem_says_what_it_is_in_one_line():
    assert repr(problem(linear())) == (
        "Problem(Linear, MSELoss, batches=1, parameters=8, float64, cpu)"
    )
    at = cv.Problem(linear(), loss_fn=lambda model, batch: model(batch).sum(), data=[X])
    assert repr(at).startswith("Problem(Linear, <lambda>, batches=1, ")


def test_frozen_parameters_do_not_count():
    model = linear()
    model.bias.requires_grad_(False)
    assert problem(model).names == ("weight",)
    with pytest.raises(ValueError, match=r"'bias' is frozen"):
        problem(model, parameters=["bias"])


def test_numbers_whose_sum_is_not_finite_may_be():
    model, x = nn.Linear(2, 1), torch.full((2, 2), 3e38)
    assert not x.sum().isfinite()
    assert cv.Problem(model, nn.MSELoss(), [(x, torch.ones(2, 1))]).size == 3
    for item in (torch.tensor([[torch.inf, -torch.inf]]), torch.tensor([[torch.nan, 1.0]])):
        with pytest.raises(ValueError, match="expected finite inputs, got NaN or infinity"):
            cv.Problem(model, nn.MSELoss(), [(item, torch.ones(1, 1))])


def test_sequences_that_come_first_are_joined_along_the_second_axis():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = nn.GRU(3, 2)

        def forward(self, x):
            return self.mix(x)[0]

    x, y = normal(4, 6, 3), normal(4, 6, 2)
    halves = [(x[:, :3], y[:, :3]), (x[:, 3:], y[:, 3:])]
    model = Recurrent().double()
    whole = problem(model, data=[(x, y)])
    assert problem(model, data=halves).value() == pytest.approx(whole.value(), rel=1e-12)


def test_a_layer_that_is_set_to_training_later_is_looked_at_again():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)).double().eval()
    at = problem(model, data=[(X[:2], Y[:2]), (X[2:], Y[2:])])
    cv.hessian(at)
    model[1].train()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"batch norm in training mode \(1\)"):
            cv.hessian(at)
    model[1].eval()
    cv.hessian(at)
    drop = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2)).double().eval()
    at = problem(drop)
    cv.hessian(at)
    drop[1].train()
    with pytest.raises(cv.OperatorError, match="two passes over the data"):
        cv.hessian(at)
