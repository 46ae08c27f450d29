"""What a problem accepts, how it weighs batches, and what it says otherwise."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError

from .cases import CASES, cases, classes, normal

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
    model.weight.requires_grad_(False)
    with pytest.raises(ValueError, match="expected at least one that requires a gradient"):
        problem(model)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": []}, "expected at least one batch"),
        ({"data": [(X, Y[:4])]}, r"batch 0: expected as many targets as inputs .* \(4, 2\)"),
        ({"data": [(X, Y), (X[:0], Y[:0])]}, r"batch 1: .* at least one"),
        ({"data": [(X, Y, Y)]}, "expected a pair of tensors"),
        ({"data": [(X * torch.nan, Y)]}, "expected finite inputs, got NaN or infinity"),
        ({"data": [(X, Y / 0)]}, "expected finite targets"),
        ({"data": [(X.float(), Y)]}, "expected inputs of the parameters' type torch.float64"),
        ({"data": [(X, Y.float())]}, "expected targets of the parameters' type torch.float64"),
        ({"data": [(X.to("meta"), Y)]}, "expected tensors with values, got one on meta"),
        ({"parameters": ["wieght"]}, r"there is no 'wieght'; available are \['bias', 'weight'\]"),
        ({"parameters": ["bias", "bias"]}, "expected each name once"),
        ({"parameters": []}, "got none"),
        ({"loss": nn.MSELoss(reduction="none")}, "expected reduction 'mean' or 'sum', got 'none'"),
        ({"model": linear().half()}, "expected float32 or float64, got 'weight' of torch.float16"),
        ({"model": linear().bfloat16()}, r"torch.bfloat16; give copy.deepcopy\(model\).float\(\)"),
        (
            {"model": nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2).double())},
            "expected one dtype and device, got torch.float32 on cpu and '1.weight'",
        ),
        ({"loss": None, "loss_fn": None}, "expected one of loss .* got neither"),
        ({"loss_fn": lambda model, batch: 0}, "got both"),
        ({"data": None}, "got NoneType"),
        ({"data": [{"x": X}]}, r"batch 0: expected a pair of tensors .* got dict \(\); .*loss_fn="),
        ({"weights": "mean"}, "weights: expected 'sum', numbers or a function, got 'mean'"),
        ({"weights": [1.0, 2.0]}, "weights: expected one for each of 1 batches, got 2"),
        ({"weights": [-1.0]}, r"expected finite numbers of at least 0, got \[-1.0\]"),
        ({"parameters": "wei*t2"}, "there is no 'wei"),
        ({"parameters": nn.Linear(1, 1)}, "expected a module of the model"),
        ({"parameters": lambda name, parameter: False}, "got none"),
        ({"model": nn.LazyLinear(2)}, "'weight' has no values yet; call the model on a batch"),
        ({"memory": 10}, "memory: expected at least .* which one sample takes, got 10"),
        ({"memory": 10, "weights": [1.0]}, "memory: .*give weights as a function"),
        (
            {"loss": nn.CrossEntropyLoss(), "data": [(X, torch.full((5,), -100))]},
            "the loss counts no target",
        ),
    ],
)
def test_bad_problems_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        problem(**arguments)
    assert "\n" not in str(caught.value)


def test_numbers_whose_sum_is_not_finite_may_be():
    model, x = nn.Linear(2, 1), torch.full((2, 2), 3e38)
    assert not x.sum().isfinite()
    assert cv.Problem(model, nn.MSELoss(), [(x, torch.ones(2, 1))]).size == 3
    for item in (torch.tensor([[torch.inf, -torch.inf]]), torch.tensor([[torch.nan, 1.0]])):
        with pytest.raises(ValueError, match="expected finite inputs, got NaN or infinity"):
            cv.Problem(model, nn.MSELoss(), [(item, torch.ones(1, 1))])


def test_parameters_must_be_finite():
    model = linear()
    with torch.no_grad():
        model.bias.fill_(torch.inf)
    with pytest.raises(ValueError, match="NaN or infinity in 'bias'"):
        problem(model)


def test_data_that_can_be_read_once_is_refused():
    with pytest.raises(ValueError, match=r"iterated again, got generator; use list\(data\)"):
        problem(data=((x, y) for x, y in [(X, Y)]))


def test_a_loader_will_do():
    pairs = torch.utils.data.TensorDataset(X, Y)
    at = problem(data=torch.utils.data.DataLoader(pairs, batch_size=2))
    assert [weight for _, weight in at.batches()] == [0.4, 0.4, 0.2]
    expected = cv.dense_matrix(cv.hessian(problem()))
    assert_close(cv.dense_matrix(cv.hessian(at)), expected)


def test_batch_norm_in_training_mode_needs_one_batch():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)).double()
    halves = [(X[:2], Y[:2]), (X[2:], Y[2:])]
    with pytest.raises(ValueError, match=r"batch norm in training mode \(0\).*call model.eval"):
        problem(model, data=halves)
    assert problem(model).batch_count == 1
    assert problem(model.eval(), data=halves).batch_count == 2


class OwnStatistics(nn.Module):
    """Subtracts the mean of the batch, in no layer that torch has a name for."""

    def forward(self, x):
        return x - x.mean(0)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (
            nn.BatchNorm1d(3, track_running_stats=False),
            r"batch norm without statistics \(0\) .*one b",
        ),
        (OwnStatistics(), r"two batches joined is .*the samples of a batch are mixed.*one batch"),
    ],
)
def test_a_known_loss_is_no_proof_that_batches_add_up(layer, message):
    model = nn.Sequential(layer, nn.Tanh(), nn.Linear(3, 2)).double().eval()
    with pytest.raises(ValueError, match=message) as caught:
        problem(model, data=[(X[:2], Y[:2]), (X[2:], Y[2:])])
    assert "\n" not in str(caught.value)
    assert problem(model).batch_count == 1


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


def test_broadcasting_outputs_against_targets_is_refused():
    model = nn.Linear(3, 1).double()
    with pytest.raises(ValueError, match=r"MSELoss: .*one shape, got \(5, 1\) and \(5,\)"):
        cv.hessian(problem(model, data=[(X, Y[:, 0])]))


def test_class_scores_stand_in_axis_one():
    case = cases["attention"]
    assert cv.Problem(case.model(), case.loss, case.data).batch_count == 2
    flipped = nn.Sequential(case.model(), nn.Flatten(1), nn.Unflatten(1, (6, 3)))
    with pytest.raises(RuntimeError, match="Expected target size"):
        cv.hessian(cv.Problem(flipped, case.loss, [(classes(4, 6, count=5), classes(4, 6))]))
