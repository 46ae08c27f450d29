"""Wrong operators are found, right ones are not suspected."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.self_check import check_gauss_newton, check_hessian
from hessian_spectra.models import HalfSquaredError, TwoLayerReLU

from .cases import CASES, CURVED, built, cases, classes, draws, normal

CHECKS = {cv.hessian: check_hessian, cv.ggn: check_gauss_newton}
X, Y, LABELS = normal(30, 3), normal(30, 3, seed=1), classes(30)


def problem(name: str) -> cv.Problem:
    case = cases[name]
    return cv.Problem(case.model(), case.loss, case.data)


class Changed:
    """An operator with something added to its products."""

    def __init__(self, operator, addition):
        self.operator, self.addition = operator, addition
        self.shape, self.dtype, self.device = operator.shape, operator.dtype, operator.device

    def __matmul__(self, vector):
        return self.operator @ vector + self.addition(vector)


@pytest.mark.parametrize(
    ("operator", "case"),
    [*((cv.hessian, case) for case in CASES), *((cv.ggn, case) for case in CURVED)],
    ids=lambda part: getattr(part, "name", None),
)
def test_right_operators_of_float32_pass(case, operator):
    """The zoo has those of float64."""
    data = [
        tuple(part.float() if part.is_floating_point() else part for part in batch)
        for batch in case.data
    ]
    at = cv.Problem(case.model().float(), copy.deepcopy(case.loss).float(), data)
    assert torch.isfinite(operator(at) @ normal(at.size).float()).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rectifiers_cause_no_false_alarm(seed, dtype):
    """Many kinks: each of 40000 rectifiers switches somewhere near these parameters."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = nn.Sequential(
            nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 3)
        )
    inputs = torch.randn(500, 10, generator=draws(seed), dtype=dtype)
    data = [(inputs, classes(500, seed=seed))]
    at = cv.Problem(model.to(dtype), nn.CrossEntropyLoss(), data)
    assert cv.hessian(at).shape == (at.size, at.size)


@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
@pytest.mark.parametrize("name", ["tanh", "relu, one batch"])
def test_a_symmetric_error_of_a_thousandth_is_found(operator, name):
    at = problem(name)
    right = operator(at, check=False)
    CHECKS[operator](lambda: right, at)
    wrong = Changed(right, lambda vector: 1e-3 * (right @ vector))
    with pytest.raises(cv.OperatorError, match="differs from differences of the"):
        CHECKS[operator](lambda: wrong, at)


@pytest.mark.parametrize(
    ("addition", "said"),
    [
        (lambda vector: 1e-3 * vector.roll(1), "not symmetric, u'Hv and v'Hu differ"),
        # Of which the model shows no cause.
        (lambda vector: vector, r"second derivative that is wrong or missing$"),
    ],
)
def test_what_is_wrong_is_named(addition, said):
    at = problem("tanh")
    wrong = Changed(cv.hessian(at, check=False), addition)
    with pytest.raises(cv.OperatorError, match=said):
        check_hessian(lambda: wrong, at)


def test_a_gradient_that_is_not_finite_is_found():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(2).double())

        def forward(self, x):
            return x * self.w.sum().sqrt()

    at = cv.Problem(Root(), nn.MSELoss(), [(X, Y)])
    with pytest.raises(cv.NotFiniteError, match="gradient of the loss is not finite"):
        cv.hessian(at)


DIVERGED = "finite.*; if they were trained, the training has diverged: choose a smaller"


def of_layers(problem):
    return [layer.output_hessian for layer in cv.layerwise(problem).values()]


TORN = {"NaN": torch.nan, "infinity": torch.inf, "overflow": 1e38}


@pytest.mark.parametrize("value", TORN.values(), ids=TORN)
@pytest.mark.parametrize(
    "build", [cv.hessian, cv.ggn, of_layers, cv.full_output_hessian], ids=lambda f: f.__name__
)
def test_a_network_that_diverged_is_told_from_a_loss_without_curvature(build, value):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))
    for weight in model.parameters():
        nn.init.constant_(weight, value)
    data = [(torch.ones(5, 3), torch.tensor([0, 1, 2, 0, 1]))]
    with pytest.raises((cv.OperatorError, ValueError), match=DIVERGED):
        build(cv.Problem(model, nn.CrossEntropyLoss(), data))


def test_a_softmax_that_is_sure_is_told_as_a_cause():
    model = nn.Linear(3, 3)
    nn.init.constant_(model.weight, 0.0)
    model.bias.data.copy_(torch.tensor([0.0, 1e5, -1e5]))
    at = cv.Problem(model, nn.CrossEntropyLoss(), [(torch.ones(2, 3), torch.tensor([0, 0]))])
    with pytest.raises(cv.OperatorError, match=r"sure of a class, .* diverged"):
        cv.ggn(at)


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("operator", [cv.hessian, cv.ggn])
def test_data_that_changes_between_passes_is_found(batches, operator):
    class Augmented:
        def __init__(self):
            self.draws = draws()

        def __len__(self):
            return batches

        def __iter__(self):
            for _ in range(batches):
                noise = torch.randn(30, 3, generator=self.draws, dtype=torch.float64)
                yield X + 1e-3 * noise, Y

    at = cv.Problem(built(lambda: nn.Linear(3, 3)), nn.MSELoss(), Augmented())
    with pytest.raises(
        cv.OperatorError, match=r"two passes.*the data change between passes.*use a list"
    ):
        operator(at)


def test_a_kink_exactly_at_the_parameters_is_named():
    model = TwoLayerReLU(torch.tensor([0.0, 1.0]), torch.ones(2))
    at = cv.Problem(model, HalfSquaredError(), [(X[:, 0], Y[:, 0])])
    with pytest.raises(cv.OperatorError, match="the gradient jumps at these parameters"):
        cv.hessian(at)
    # What torch takes the derivative to be there: the unit is off.
    dense = cv.dense_matrix(cv.hessian(at, check=False))
    assert not dense[0].any()
    assert dense[1, 1] > 0
    with pytest.raises(cv.OperatorError, match="a kink exactly at these parameters"):
        cv.ggn(at)


def test_a_vanishing_hessian_passes():
    model = TwoLayerReLU(torch.tensor([-1.0, -2.0]), torch.ones(2))
    at = cv.Problem(model, HalfSquaredError(), [(X[:, 0].abs(), Y[:, 0])])
    for operator in (cv.hessian, cv.ggn):
        assert not cv.dense_matrix(operator(at)).any()


def test_a_model_bound_to_float32_is_checked_coarsely():
    class Bound(nn.Linear):
        def forward(self, x):
            return torch.tanh(x @ self.weight.T + torch.zeros(3, dtype=torch.float32)) @ torch.eye(
                3
            )

    model = Bound(3, 3)
    at = cv.Problem(model, nn.MSELoss(), [(X.float(), Y.float())], ["weight"])
    right = cv.hessian(at)
    with pytest.raises(cv.OperatorError, match="tolerance 5e-02"):
        check_hessian(lambda: Changed(right, lambda vector: 0.2 * (right @ vector)), at)


class Rounded(torch.autograd.Function):
    """A square whose backward pass is itself a constant."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx, upstream):
        return 2 * upstream * ctx.saved_tensors[0].detach()


def with_own_function(model, batch):
    return Rounded.apply(model(batch[0])).mean()


def with_a_number(model, batch):
    outputs = model(batch[0])
    return outputs.square().mean() * outputs.square().sum().item()


def with_an_inner_derivative(model, batch):
    outputs = model(batch[0])
    (slope,) = torch.autograd.grad(outputs.square().sum(), [model.weight], retain_graph=True)
    return functional.mse_loss(functional.linear(batch[0], model.weight + slope), batch[1])


@pytest.mark.parametrize(
    ("loss_fn", "cause"),
    [
        (with_own_function, r"Rounded \(torch.autograd.Function\) has a backward pass whose own"),
        (with_a_number, r"item\(\) in the model or the loss makes a constant"),
        (with_an_inner_derivative, "torch.autograd.grad without create_graph=True in the model"),
    ],
)
def test_the_message_names_the_cause_in_one_line(loss_fn, cause):
    at = cv.Problem(built(lambda: nn.Linear(3, 3)), loss_fn=loss_fn, data=[(X, Y)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cv.PlainDerivativesWarning)
        with pytest.raises(cv.OperatorError, match=cause) as caught:
            cv.hessian(at)
    assert "\n" not in str(caught.value)
