"""The functional Hessian by operation, against dense matrices and linearised networks."""

import math

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

import hessian_spectra.curvature as cv

from .cases import normal

OPERATIONS = ("normalisation", "linear map", "product", "softmax", "product by softmax", "GELU")
# The other names of the written network's operations.
NAMES = {"head": "head"}


class Transformer(nn.Module):
    """A block whose operations can be replaced one by one by their Taylor polynomials."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Linear(3, 4), nn.LayerNorm(4)
        self.query, self.key, self.value = (nn.Linear(4, 2) for _ in range(3))
        self.act, self.head = nn.GELU(), nn.Linear(2, 2)
        self.double()
        with torch.no_grad():
            for place, parameter in enumerate(self.parameters()):
                parameter.copy_(0.7 * normal(*parameter.shape, seed=place))
        # The inputs of all operations at the point of expansion, and who is not linearised there.
        self.points, self.curved = None, None

    def at(self, name, function, *inputs):
        if self.points is None:
            return function(*inputs)
        if self.curved is None:
            self.points.append(tuple(part.detach().clone() for part in inputs))
            return function(*inputs)
        points = self.points[self.place]
        self.place += 1
        if name == self.curved:
            return function(*inputs)
        moves = tuple(part - point for part, point in zip(inputs, points, strict=True))
        return sum(torch.autograd.functional.jvp(function, points, moves))

    def layer(self, layer, inputs):
        if self.points is None:
            return layer(inputs)
        operation = "head" if layer is self.head else "linear map"
        return self.at(operation, functional.linear, inputs, layer.weight, layer.bias)

    def forward(self, inputs):
        self.place = 0
        hidden = self.layer(self.embed, inputs)

        def normalise(values, weight, bias):
            return functional.layer_norm(values, (4,), weight, bias)

        hidden = self.at("normalisation", normalise, hidden, self.norm.weight, self.norm.bias)
        query, key, value = (
            self.layer(layer, hidden) for layer in (self.query, self.key, self.value)
        )
        scores = self.at("product", lambda q, k: q @ k.mT, query, key) / math.sqrt(2)
        weights = self.at("softmax", lambda s: s.softmax(-1), scores)
        mixed = self.at("product by softmax", lambda w, v: w @ v, weights, value)
        return self.layer(self.head, self.at("GELU", self.act, mixed)).mean(1)


class Fused(Transformer):
    """The block with torch's fused attention."""

    def forward(self, inputs):
        hidden = self.norm(self.embed(inputs))
        query, key, value = self.query(hidden), self.key(hidden), self.value(hidden)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.head(self.act(mixed)).mean(1)


def data():
    return normal(5, 3, 3), normal(5, 2, seed=1)


def problem_of(model, batches=None):
    return cv.Problem(model, nn.MSELoss(), batches or [data()])


def with_theta(model, theta):
    """The outputs at other parameters."""
    names = [name for name, _ in model.named_parameters()]
    shapes = [parameter.shape for parameter in model.parameters()]
    pieces = theta.split([shape.numel() for shape in shapes])
    weights = {n: p.view(s) for n, p, s in zip(names, pieces, shapes, strict=True)}
    return functional_call(model, weights, (data()[0],))


def point(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def dense(model):
    """Hessian and Gauss-Newton matrix by torch's own derivatives."""
    theta, targets = point(model), data()[1]

    def loss(values):
        return functional.mse_loss(with_theta(model, values), targets)

    hessian = torch.autograd.functional.hessian(loss, theta)
    jacobian = torch.autograd.functional.jacobian(lambda t: with_theta(model, t).flatten(), theta)
    return hessian, 2 / targets.numel() * jacobian.T @ jacobian


@pytest.fixture(scope="module")
def model():
    return Transformer()


@pytest.fixture(scope="module")
def vector(model):
    return normal(len(point(model)), seed=2)


@pytest.fixture(scope="module")
def result(model, vector):
    return cv.functional_parts(problem_of(model), vector, NAMES)


def test_the_parts_sum_to_the_dense_functional_hessian(model, vector, result):
    hessian, gauss_newton = dense(model)
    assert {*result.parts} == {*OPERATIONS, "head"}
    assert result.hessian == pytest.approx(float(vector @ hessian @ vector), rel=1e-12)
    expected = float(vector @ (hessian - gauss_newton) @ vector)
    assert sum(result.parts.values()) == pytest.approx(expected, rel=1e-10)
    assert result.functional == pytest.approx(expected, rel=1e-10)
    assert abs(result.rest) < 1e-10 * abs(result.hessian)
    # None is there by accident.
    assert min(map(abs, result.parts.values())) > 1e-5 * abs(expected)


@pytest.mark.parametrize("name", [*OPERATIONS, "head"])
def test_a_part_is_the_difference_of_a_network_linear_beside_it(model, vector, result, name):
    theta = point(model)
    residual = 2 * (with_theta(model, theta) - data()[1]) / data()[1].numel()
    model.points = []
    with_theta(model, theta)
    model.curved = name

    def along(step):
        return float((residual * with_theta(model, theta + step * vector)).sum())

    step = 1e-4
    try:
        difference = (along(step) - 2 * along(0.0) + along(-step)) / step**2
    finally:
        model.points = model.curved = None
    assert result.parts[name] == pytest.approx(difference, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_linearised_operation_takes_its_part_away(model, vector, result, name):
    problem = problem_of(model)
    operator = cv.linearised_hessian(problem, [name], NAMES)
    image = operator @ vector
    assert float(vector @ image) == pytest.approx(result.hessian - result.parts[name], rel=1e-10)
    other = normal(len(vector), seed=3)
    assert float(other @ image) == pytest.approx(float(vector @ (operator @ other)), rel=1e-10)


def test_with_all_operations_linearised_the_hessian_is_the_gauss_newton_matrix(model):
    problem = problem_of(model)
    names = cv.operations(problem)
    assert names == OPERATIONS
    actual = cv.dense_matrix(cv.linearised_hessian(problem, names))
    torch.testing.assert_close(actual, dense(model)[1], rtol=1e-10, atol=1e-12)


def test_fused_attention_has_the_parts_of_its_operations(vector, result):
    fused = cv.functional_parts(problem_of(Fused()), vector, NAMES)
    assert fused.parts == pytest.approx(result.parts, rel=1e-10)


def test_batches_add_up_with_their_weights(model, vector, result):
    inputs, targets = data()
    batches = [(inputs[:2], targets[:2]), (inputs[2:], targets[2:])]
    several = cv.functional_parts(problem_of(model, batches), vector, NAMES)
    assert several.parts == pytest.approx(result.parts, rel=1e-10)


class Bilinear(nn.Module):
    """The scalar ``(a x) (b x)`` of two weights, by a product of two activations."""

    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.Parameter(torch.full((1, 1), 3.0).double()) for _ in range(2))

    def forward(self, inputs):
        return (inputs @ self.a) @ (inputs @ self.b)


def test_a_product_has_the_part_that_is_known():
    x = torch.full((1, 1), 2.0).double()
    problem = cv.Problem(Bilinear(), nn.MSELoss(), [(x, x)])
    result = cv.functional_parts(problem, torch.tensor([1.0, -1.0]).double())
    # f = 4 a b = 36, dl/df = 2 (36 - 2) = 68, and the second derivative along (1, -1) is -8.
    assert result.parts == pytest.approx({"product": -8 * 68})
    assert result.gauss_newton == pytest.approx(0, abs=1e-9)
    result = cv.functional_parts(problem, torch.tensor([1.0, 1.0]).double())
    assert result.parts == pytest.approx({"product": 8 * 68})
    assert result.gauss_newton == pytest.approx(2 * 24**2)


class Twice(torch.autograd.Function):
    """The square, of which no mode sees how it is made."""

    @staticmethod
    def forward(ctx, inputs):
        ctx.save_for_backward(inputs)
        return inputs * inputs

    @staticmethod
    def backward(ctx, weights):
        return 2 * ctx.saved_tensors[0] * weights


class Layers(nn.Module):
    """A linear layer and a function behind it."""

    def __init__(self, function):
        super().__init__()
        self.layer, self.function = nn.Linear(3, 2).double(), function

    def forward(self, inputs):
        return self.function(self.layer(inputs))


def squared_in_place(values):
    values = values.clone()
    values *= values.clone()
    return values


@pytest.mark.parametrize("function", [Twice.apply, squared_in_place])
def test_what_is_not_seen_is_the_rest(function):
    problem = problem_of(Layers(function), [(normal(5, 3), normal(5, 2))])
    result = cv.functional_parts(problem, normal(8, seed=4))
    assert result.parts == {}
    assert result.rest == result.functional != 0


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda values: torch.relu(values) * 2, ("relu",)),
        (lambda values: sum(torch.var_mean(values, -1)), ("var_mean",)),
        (lambda values: torch.einsum("nk,nk->n", values, values), ("product",)),
        (lambda values: values.view(-1, 1, 2).transpose(1, 2).sum(-1).exp(), ("exp",)),
        (lambda values: values @ torch.ones(2, 2).double(), ()),
    ],
)
def test_operations_with_a_second_derivative_are_found(function, names):
    outputs = function(torch.zeros(5, 2).double())
    problem = problem_of(Layers(function), [(normal(5, 3), normal(*outputs.shape))])
    assert cv.operations(problem) == names
    result = cv.functional_parts(problem, normal(8, seed=4))
    assert tuple(result.parts) == names
    assert result.rest == pytest.approx(0, abs=1e-12 * abs(result.hessian))


def test_the_attention_of_torch_is_one_operation():
    layer = nn.TransformerEncoderLayer(4, 2, 3, dropout=0.0, batch_first=True).double()
    problem = problem_of(layer, [(normal(2, 3, 4), normal(2, 3, 4, seed=1))])
    result = cv.functional_parts(problem, normal(problem.size, seed=4))
    names = {"multi_head_attention_forward", "normalisation", "linear map", "relu"}
    assert {*result.parts} == names
    assert result.rest == pytest.approx(0, abs=1e-11 * abs(result.hessian))


@pytest.mark.parametrize(
    "function",
    [
        lambda values: torch.view_as_real(torch.fft.fft(values) ** 2)[..., 0],
        lambda values: nn.functional.silu(values.clone(), inplace=True),
    ],
    ids=["complex", "in place"],
)
def test_what_cannot_be_called_again_is_left_alone(function):
    problem = problem_of(Layers(function), [(normal(5, 3), normal(5, 2))])
    vector = normal(8, seed=4)
    result = cv.functional_parts(problem, vector)
    matrix = cv.dense_matrix(cv.hessian(problem)) - cv.dense_matrix(cv.ggn(problem))
    assert result.functional == pytest.approx(float(vector @ matrix @ vector))
    assert abs(result.rest) > 1e-3 * abs(result.functional)


def test_a_model_that_takes_derivatives_itself_is_refused():
    def slope(values):
        return torch.autograd.grad(values.pow(3).sum(), values, create_graph=True)[0]

    problem = problem_of(Layers(slope), [(normal(5, 3), normal(5, 2))])
    with pytest.raises(cv.OperatorError, match="takes derivatives itself, of operations"):
        cv.linearised_hessian(problem, ["pow"])


def test_masked_and_grouped_attention_keeps_its_value():
    mask = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])
    for settings in (
        {"is_causal": True},
        {"attn_mask": mask},
        {"attn_mask": mask & ~torch.eye(3, dtype=torch.bool)},
        {"attn_mask": normal(3, 3), "scale": 0.3},
        {"enable_gqa": True},
    ):

        def attend(values, given=settings):
            heads = values.view(1, 1, 5, 2)[:, :, :3]
            return functional.scaled_dot_product_attention(heads, heads, heads, **given)

        targets = normal(1, 1, 3, 2)
        problem = cv.Problem(
            Layers(attend),
            loss_fn=lambda net, batch, to=targets: (
                functional.mse_loss(out := net(batch), to),
                out,
            ),
            data=[normal(5, 3)],
        )
        result = cv.functional_parts(problem, normal(8, seed=4))
        whole = "enable_gqa" in settings or not bool(settings.get("attn_mask", mask).any(-1).all())
        expected = set() if whole else {"product", "softmax", "product by softmax"}
        assert {*result.parts} == expected
        if not whole:
            assert result.rest == pytest.approx(0, abs=1e-12 * abs(result.hessian))


def test_the_model_is_left_alone(model, vector):
    hooks = [len(module._forward_hooks) for module in model.modules()]
    before = point(model)
    cv.functional_parts(problem_of(model), vector)
    assert torch.equal(point(model), before)
    assert [len(module._forward_hooks) for module in model.modules()] == hooks
    assert all(parameter.grad is None for parameter in model.parameters())
