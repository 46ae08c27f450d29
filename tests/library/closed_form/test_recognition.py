"""The closed form of a network as it is, against the Hessian of its own loss."""

import pickle
from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils.data import DataLoader, TensorDataset

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra.closed_form.instances import Draw, whitened, without
from hessian_spectra.closed_form.recognition.objective import Objective
from hessian_spectra.spectrum import Spectrum

from .contract import TOLERANCE, require_spectrum
from .recognition_cases import LOSSES, MAKERS, Example, edges, example, linear

families = pytest.mark.parametrize("family", MAKERS)


def applied(made: Example, loss: nn.Module | None = None) -> str:
    """The theorem that is taken: the first one that applies."""
    actual = cf.candidates(made.model, (made.x, made.y), loss)
    return next(item.function for item in actual if item.applies)


@families
def test_the_spectrum_is_that_of_the_dense_hessian(family):
    """Of each loss, in batches, and in the order of the parameters of a problem."""
    for seed, loss in enumerate(LOSSES.values()):
        made = example(family, seed)
        parts = zip(made.x.tensor_split([seed + 1]), made.y.tensor_split([seed + 1]), strict=True)
        batches = [(x, y) for x, y in parts if len(x) > 0]
        require_spectrum(cf.of(made.model, batches, loss), made.hessian(loss))
        assert applied(made) == made.function
    # What is made without naming the inputs' device would have no entries.
    with torch.device("meta"):
        actual = cf.of(made.model, (made.x, made.y))
        assert actual.eigenvalues.is_cpu
        assert actual.eigenvectors().is_cpu
    problem = cv.Problem(made.model, made.default, [(made.x, made.y)])
    require_spectrum(actual, cv.dense_matrix(cv.hessian(problem)))


def test_edge_cases():
    for name, made in edges().items():
        require_spectrum(cf.of(made.model, (made.x, made.y)), made.hessian())
        assert applied(made) == made.function, name


@families
def test_a_float32_network_is_taken_as_it_is(family):
    made = example(family, 2)
    made.model.float()
    single = replace(made, x=made.x.float(), y=made.y.float())
    # Least-squares solutions do not survive the rounding.
    loose = made.function == "deep_linear" and len(list(made.model.parameters())) > 2
    actual = cf.of(single.model, (single.x, single.y), approximate=loose)
    assert actual.eigenvalues.dtype == torch.float64
    if not loose:
        require_spectrum(actual, single.hessian())


def test_assumptions_have_room_for_what_came_in_single_precision():
    types, made = (torch.float32, torch.float64), example("layers linear")
    for of_data, of_weights in product(types, types):
        data = made.x.to(of_data), made.y.to(of_data)
        actual = Objective(made.model.to(of_weights), data, nn.MSELoss())
        assert actual.tolerance == (1e-8 if of_data == of_weights == torch.float64 else 1e-4)


def test_method_names_the_theorem_and_the_factor():
    made = example("layers linear")
    assert cf.of(made.model, (made.x, made.y)).method == "closed form, Theorem 3.1"
    actual = cf.of(made.model, (made.x, made.y), nn.MSELoss())
    assert actual.method == "closed form, Theorem 3.1, times 2: the loss is MSELoss()"


def test_a_loss_that_merely_inherits_is_known():
    class Named(nn.MSELoss):
        pass

    made = example("layers linear")
    require_spectrum(cf.of(made.model, (made.x, made.y), Named()), made.hessian(nn.MSELoss()))


class Quartic(nn.Module):
    """A user's own loss."""

    def forward(self, outputs, targets):
        return ((outputs - targets) ** 4).mean()


def welsch(outputs, targets):
    """A function that is not convex."""
    return -torch.exp(-((outputs - targets) ** 2)).sum()


OTHERS = [
    nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss(reduction="sum"), nn.SoftMarginLoss(),
    nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0)), nn.HuberLoss(delta=0.3),
    nn.SmoothL1Loss(reduction="sum", beta=0.2), nn.PoissonNLLLoss(), Quartic(), welsch,
]  # fmt: skip
# Those of deep networks hold at a minimum of the loss alone.
ANY_LOSS = [
    name for name in MAKERS if name not in ("own balanced", "layers balanced", "multipliers")
]


@pytest.mark.parametrize("family", ANY_LOSS)
def test_the_spectrum_of_another_loss_is_that_of_its_hessian(family):
    for seed, loss in enumerate(OTHERS):
        made = example(family, seed)
        actual = cf.of(made.model, (made.x, made.y), loss)
        require_spectrum(actual, made.hessian(loss))
        assert "the loss" in actual.method  # a factor, where one sample is all there is
        assert applied(made, loss) == made.function


@families
def test_a_loss_whose_second_derivative_is_one_number_is_a_squared_error(family):
    made = example(family, 1)
    for loss in (nn.functional.mse_loss, nn.HuberLoss(delta=1e3)):
        require_spectrum(cf.of(made.model, (made.x, made.y), loss), made.hessian(loss))
        assert applied(made, loss) == made.function


def test_a_deep_network_is_recognised_at_a_minimum_of_another_loss():
    draw = Draw(seed=4)
    for widths in ((3, 2, 1), (2, 3, 3, 2), (4, 3, 2)):
        model = nn.Sequential(*(linear(draw.normal(b, a)) for a, b in pairwise(widths)))
        x, away = draw.normal(9, widths[0]), draw.normal(9, widths[-1]) / 9
        y = torch.sigmoid(model(x).detach()) + without(away, x)
        made = Example("deep_linear", model, x, y)
        loss = nn.BCEWithLogitsLoss()
        if widths[-1] > 1:
            require_spectrum(cf.of(model, (x, y), loss), made.hessian(loss))
        assert [item.applies for item in cf.candidates(model, (x, y), loss)][-1]
        moved = {
            item.function: item for item in cf.candidates(model, (x, y + 0.1 * x[:, :1]), loss)
        }
        assert not moved["deep_linear"].applies
        assert "mean(l' xᵀ) = 0 is violated" in moved["deep_linear"].reason
        spectrum = cf.of(model, (x, y + 0.1 * x[:, :1]), loss, matrix="gauss-newton")
        problem = cv.Problem(model, loss, [(x, y + 0.1 * x[:, :1])])
        require_spectrum(spectrum, cv.dense_matrix(cv.ggn(problem)))


def moved(made: Example, **changes) -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    made = replace(made, **changes)
    return made.model, (made.x, made.y)


def violations():
    """For each assumption: the theorem, its formula, how far it is violated, and a network."""
    bias = example("layers sextic", 4)
    orthogonal = example("own orthogonal", 4)
    tilted = example("own orthogonal", 4)
    with torch.no_grad():
        tilted.model.V[0] *= 1.5
    draw = Draw(seed=8)
    x = whitened(draw.normal(5, 3))
    two = nn.Sequential(*(linear(draw.normal(3, 3)) for _ in range(2)))
    return {
        "mean(x) = 0": ("linear_with_bias", 0.25, moved(bias, x=bias.x + 0.25)),
        "mean(x²) = 1": ("linear_with_bias", 1.25, moved(bias, x=1.5 * bias.x)),
        "VᵀV = c I": ("orthogonal_first_layer", None, moved(tilted)),
        "mean(y x) = 0": (
            "orthogonal_first_layer",
            None,
            moved(orthogonal, y=orthogonal.y + orthogonal.x[:, 0]),
        ),
        "mean((f(x) - y) xᵀ) = 0": ("deep_linear", None, (two, (x, two(x).detach() + 0.1 * x))),
    }


VIOLATIONS = violations()


@pytest.mark.parametrize("formula", VIOLATIONS)
def test_a_broken_assumption_is_named_and_measured(formula):
    function, size, (model, data) = VIOLATIONS[formula]
    with pytest.raises(cf.AssumptionError) as caught:
        cf.of(model, data)
    (candidate,) = [item for item in caught.value.candidates if item.function == function]
    assert not candidate.applies
    assert candidate.violation > candidate.tolerance
    assert f"{formula} is violated by " in candidate.reason
    if size is not None:
        assert candidate.assumption == formula
        assert candidate.violation == pytest.approx(size)
    message = str(caught.value)
    assert f"- {candidate.line}" in message.splitlines()[1:]
    assert candidate.advice in message
    assert message.endswith("approximate=True evaluates what comes nearest, and measures its error")


def require_near(actual: Spectrum, truth: torch.Tensor) -> None:
    """Some eigenvalue is within each residual, which is relative to the largest value."""
    size = max(float(actual.values.abs().max()), float(truth.abs().max()))
    scale = float(actual.values[[n > 0 for n in actual.multiplicities]].abs().max()) or 1.0
    rows = zip(actual.values, actual.multiplicities, actual.residuals, strict=True)
    for value, count, residual in rows:
        nearest = (truth - value).abs().min()
        assert count == 0 or nearest <= residual * scale + 1e-13 * size


@pytest.mark.parametrize("formula", VIOLATIONS)
def test_an_approximate_spectrum_knows_its_error(formula):
    _, _, (model, (x, y)) = VIOLATIONS[formula]
    actual = cf.of(model, (x, y), approximate=True)
    hessian = Example("", model, x, y).hessian()
    require_near(actual, torch.linalg.eigvalsh(hessian))
    assert torch.equal(actual.converged, actual.residuals <= TOLERANCE)
    assert formula in actual.method
    assert f"largest residual {float(actual.residuals.max()):.2g}" in actual.method
    # What depends on no assumption but in its form is exact, and says so.
    assert bool(actual.converged.all()) == (formula != "mean((f(x) - y) xᵀ) = 0")
    if bool(actual.converged.all()):
        require_spectrum(actual, hessian)


@pytest.mark.parametrize("widths", [(1, 3, 1), (2, 3), (3, 2, 2), (2, 1, 3, 2)])
def test_some_eigenvalue_is_within_each_residual(widths):
    """Whatever the weights and the data are: also of rank one, of 0, or with a perfect fit."""
    cases = product((False, True), (False, True), LOSSES.values())
    for seed, (bias, coarse, loss) in enumerate(cases):
        draw = Draw(seed=seed)

        def numbers(*shape, draw=draw, coarse=coarse):
            return draw.normal(*shape).round() if coarse else draw.normal(*shape)

        first, *others = (numbers(after, before) for before, after in pairwise(widths))
        biases = numbers(widths[1]) if bias else None
        model = nn.Sequential(linear(first, biases), *map(linear, others))
        x, y = numbers(4, widths[0]), numbers(4, widths[-1])
        actual = cf.of(model, (x, y), loss, approximate=True)
        hessian = Example("", model, x, y).hessian(loss)
        if actual.residuals is None:
            require_spectrum(actual, hessian)
        else:
            require_near(actual, torch.linalg.eigvalsh(hessian))


def test_the_bound_on_the_residual_curvature_holds():
    """The violation bounds what the eigenvalues differ from the Hessian's, relative to the top."""
    for seed in range(5):
        made = example("layers balanced", seed)
        if len(made.model) == 1:
            continue
        off = replace(made, y=made.y + 0.03 * made.x[:, :1])
        (actual,) = [
            candidate
            for candidate in cf.candidates(off.model, (off.x, off.y))
            if candidate.function == "deep_linear"
        ]
        assert actual.assumption == "mean((f(x) - y) xᵀ) = 0"
        truth = torch.linalg.eigvalsh(off.hessian())
        theorem = cf.of(made.model, (made.x, made.y)).eigenvalues
        error = (truth - theorem).abs().max() / theorem.max()
        assert 0 < error <= actual.violation


def test_a_candidate_for_each_theorem():
    actual = cf.candidates(*moved(example("layers sextic", 4)))
    functions = [
        "two_layer_linear", "two_layer_relu", "linear_with_bias", "multi_input", "multi_output",
        "orthogonal_first_layer", "self_attention", "deep_linear",
    ]  # fmt: skip
    assert [item.function for item in actual] == functions
    assert all(callable(getattr(cf, item.function)) for item in actual)
    reasons = {item.function: item.reason for item in actual}
    assert reasons["linear_with_bias"] == "all assumptions hold"
    made = example("own attention")
    reasons = {item.function: item.reason for item in cf.candidates(made.model, (made.x, made.y))}
    assert reasons["two_layer_relu"] == (
        "it is about layers one after the other, not self-attention"
    )


def test_the_error_survives_pickling():
    for model, data in (VIOLATIONS["mean(x) = 0"][2], moved(example("layers sextic", 4))):
        loss = nn.MSELoss()
        if data[0].mean().abs() < 0.1:
            model = nn.Sequential(model, nn.GELU())
        with pytest.raises(cf.NoClosedFormError) as caught:
            cf.of(model, data, loss)
        copy = pickle.loads(pickle.dumps(caught.value))
        assert str(copy) == str(caught.value)
        assert copy.violation == caught.value.violation


def test_a_candidate_says_that_the_loss_or_a_frozen_parameter_is_in_the_way():
    model, data = moved(example("layers linear", 1))
    with pytest.raises(ValueError, match="which couples outputs") as caught:
        cf.of(model, data, nn.CrossEntropyLoss())
    actual = cf.candidates(model, data, nn.CrossEntropyLoss())
    assert {item.reason for item in actual} == {str(caught.value)}
    # Of another loss the targets may be classes, or it may fail.
    classes = data[0], torch.zeros(len(data[0]), dtype=torch.int64)
    actual = cf.candidates(model, classes, nn.functional.cross_entropy)
    assert all("float32 or float64, got torch.int64" in item.reason for item in actual)
    actual = cf.candidates(model, data, nn.GaussianNLLLoss())
    assert all("expected outputs that GaussianNLLLoss() takes" in item.reason for item in actual)
    model[0].weight.requires_grad_(False)
    assert {item.fits for item in cf.candidates(model, data)} == {False}


def test_a_compiled_network_is_the_one_inside():
    class Compiled(nn.Module):
        """A network as ``torch.compile`` wraps it, whose compiler takes seconds to import."""

        def __init__(self, model):
            super().__init__()
            self._orig_mod = model

    made = example("layers relu", 1)
    require_spectrum(cf.of(Compiled(made.model), (made.x, made.y)), made.hessian())


def test_a_loader_is_read_without_drawing_random_numbers():
    made = example("layers linear", 5)
    assert len(made.x) > 2
    loader = DataLoader(TensorDataset(made.x, made.y), batch_size=2)
    before = torch.get_rng_state()
    require_spectrum(cf.of(made.model, loader), made.hessian())
    assert torch.equal(torch.get_rng_state(), before)


def state_of(model, data):
    """Everything of a model, its data and the random numbers that could be changed."""
    named = dict(model.named_parameters())
    return (
        {name: (id(p), p.requires_grad, p.detach().clone()) for name, p in named.items()},
        {name: (id(p.grad), p.grad.clone()) for name, p in named.items()},
        [module.training for module in model.modules()],
        [(id(part), part.clone()) for part in data],
        torch.get_rng_state(),
    )


@pytest.mark.parametrize("formula", [*VIOLATIONS, "an inplace ReLU"])
def test_nothing_of_the_users_is_changed(formula):
    if formula in VIOLATIONS:
        _, _, (model, data) = VIOLATIONS[formula]
    else:
        model, data = moved(example("layers relu", 2))
        model[1] = nn.ReLU(inplace=True)
        model = nn.Sequential(nn.ReLU(inplace=True), model)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    model.eval()
    before = state_of(model, data)
    cf.candidates(model, data)
    cf.of(model, data, approximate=True).eigenvectors()
    assert_close(state_of(model, data), before, rtol=0, atol=0)


@pytest.mark.parametrize("approximate", [False, True])
def test_the_spectrum_outlives_the_training(approximate):
    """Eigenvectors are built later, of the weights as they were."""
    made = example("layers sextic", 5)
    data = (made.x + (0.1 if approximate else 0.0), made.y)
    hessian = replace(made, x=data[0]).hessian()
    actual = cf.of(made.model, data, approximate=approximate)
    with torch.no_grad():
        for tensor in (*made.model.parameters(), *data):
            tensor.mul_(-3)
    require_spectrum(actual, hessian)


@families
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_network_on_the_gpu(family):
    made = example(family, 3)
    truth = made.hessian()
    actual = cf.of(made.model.cuda(), (made.x, made.y))
    assert actual.eigenvalues.is_cuda
    vectors = actual.eigenvectors().cpu()
    error = (truth @ vectors - vectors * actual.eigenvalues.cpu()).abs().max()
    assert float(error) <= TOLERANCE * torch.linalg.eigvalsh(truth).abs().max()
