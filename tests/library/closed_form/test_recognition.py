"""The closed form of a network as it is, against the Hessian of its own loss."""

import pickle
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils.data import DataLoader, TensorDataset

from hessian_spectra import closed_form as cf
from hessian_spectra import curvature as cv
from hessian_spectra import models
from hessian_spectra.closed_form.recognition.objective import Objective
from hessian_spectra.spectrum import Spectrum

from .contract import TOLERANCE, require_spectrum
from .deep_networks import normal
from .recognition_cases import FAMILIES, LOSSES, Example, edges, example, linear

EDGES = edges()
families = pytest.mark.parametrize("family", FAMILIES)


def applied(made: Example, loss: nn.Module | None = None) -> str:
    """The theorem that is taken: the first one that applies."""
    actual = cf.candidates(made.model, (made.x, made.y), loss)
    return next(item.function for item in actual if item.applies)


@families
@settings(max_examples=10, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(sorted(LOSSES)), cut=st.integers(1, 5))
def test_random_network(family, seed, name, cut):
    made, loss = example(family, seed), LOSSES[name]
    batches = [
        (x, y)
        for x, y in zip(made.x.tensor_split([cut]), made.y.tensor_split([cut]), strict=True)
        if len(x) > 0
    ]
    require_spectrum(cf.of(made.model, batches, loss), made.hessian(loss))


@families
def test_the_theorem_is_the_one_that_is_meant(family):
    assert {applied(example(family, seed)) for seed in range(3)} == {example(family).function}


@pytest.mark.parametrize("name", EDGES)
def test_edge_case(name):
    made = EDGES[name]
    require_spectrum(cf.of(made.model, (made.x, made.y)), made.hessian())
    assert applied(made) == made.function


@families
def test_the_parameters_come_in_the_order_of_a_problem(family):
    made = example(family, 1)
    problem = cv.Problem(made.model, made.default, [(made.x, made.y)])
    require_spectrum(cf.of(made.model, (made.x, made.y)), cv.dense_matrix(cv.hessian(problem)))


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


@pytest.mark.parametrize(
    ("of_data", "of_weights", "tolerance"),
    [
        (torch.float64, torch.float64, 1e-8),
        (torch.float32, torch.float64, 1e-4),
        (torch.float64, torch.float32, 1e-4),
        (torch.float32, torch.float32, 1e-4),
    ],
)
def test_assumptions_have_room_for_what_came_in_single_precision(of_data, of_weights, tolerance):
    made = example("sequential_linear")
    data = made.x.to(of_data), made.y.to(of_data)
    actual = Objective(made.model.to(of_weights), data, nn.MSELoss())
    assert actual.tolerance == tolerance


def test_method_names_the_theorem_and_the_factor():
    made = example("sequential_linear")
    assert cf.of(made.model, (made.x, made.y)).method == "closed form, Theorem 3.1"
    actual = cf.of(made.model, (made.x, made.y), nn.MSELoss())
    assert actual.method == "closed form, Theorem 3.1, times 2: the loss is MSELoss()"


def test_a_loss_that_merely_inherits_is_known():
    class Named(nn.MSELoss):
        pass

    made = example("sequential_linear")
    require_spectrum(cf.of(made.model, (made.x, made.y), Named()), made.hessian(nn.MSELoss()))


def moved(made: Example, **changes) -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    made = replace(made, **changes)
    return made.model, (made.x, made.y)


def violations():
    """For each assumption: the theorem, its formula, how far it is violated, and a network."""
    bias = example("sequential_bias", 4)
    orthogonal = example("own_orthogonal", 4)
    tilted = example("own_orthogonal", 4)
    with torch.no_grad():
        tilted.model.V[0] *= 1.5
    random = torch.Generator().manual_seed(8)
    deep = [normal(random, 3, 3) for _ in range(3)]
    crooked = nn.Sequential(*map(linear, deep))
    x = 5**0.5 * torch.linalg.qr(normal(random, 5, 3)).Q
    fitted = crooked(x).detach()
    stretched = x * torch.tensor([1.0, 1.0, 2.0]).double()
    two = nn.Sequential(linear(deep[0]), linear(deep[1]))
    return {
        "mean(x) = 0": ("linear_with_bias", 0.25, moved(bias, x=bias.x + 0.25)),
        "mean(x²) = 1": ("linear_with_bias", 1.25, moved(bias, x=1.5 * bias.x)),
        "VᵀV = c I": ("orthogonal_first_layer", None, moved(tilted)),
        "x xᵀ / n = σ² I": ("deep_linear", 1.0, (two, (stretched, two(stretched).detach()))),
        "mean(y x) = 0": (
            "orthogonal_first_layer",
            None,
            moved(orthogonal, y=orthogonal.y + orthogonal.x[:, 0]),
        ),
        "W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}": ("deep_linear", None, (crooked, (x, fitted))),
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


@settings(max_examples=40, derandomize=True, database=None)
@given(
    seed=st.integers(0, 2**32),
    widths=st.lists(st.integers(1, 3), min_size=2, max_size=4),
    bias=st.booleans(),
    name=st.sampled_from(sorted(LOSSES)),
    coarse=st.booleans(),
)
def test_some_eigenvalue_is_within_each_residual(seed, widths, bias, name, coarse):
    """Whatever the weights and the data are: also of rank one, of 0, or with a perfect fit."""
    random = torch.Generator().manual_seed(seed)

    def numbers(*shape):
        return normal(random, *shape).round() if coarse else normal(random, *shape)

    weights = [numbers(after, before) for before, after in pairwise(widths)]
    first = linear(weights[0], numbers(widths[1]) if bias else None)
    model = nn.Sequential(first, *map(linear, weights[1:]))
    x, y, loss = numbers(4, widths[0]), numbers(4, widths[-1]), LOSSES[name]
    actual = cf.of(model, (x, y), loss, approximate=True)
    hessian = Example("", model, x, y).hessian(loss)
    if actual.residuals is None:
        require_spectrum(actual, hessian)
    else:
        require_near(actual, torch.linalg.eigvalsh(hessian))


def test_residuals_are_those_of_the_eigenvectors():
    """Where an eigenspace has one dimension, there is no choice of the vector."""
    _, _, (model, (x, y)) = VIOLATIONS["mean((f(x) - y) xᵀ) = 0"]
    actual = cf.of(model, (x, y), approximate=True)
    hessian, vectors = Example("", model, x, y).hessian(), actual.eigenvectors()
    expected = (hessian @ vectors - vectors * actual.eigenvalues).norm(dim=0)
    single = [group for group, count in enumerate(actual.multiplicities) if count == 1]
    assert len(single) == 9
    for group in single:
        place = int((actual.eigenvalues - actual.values[group]).abs().argmin())
        measured = actual.residuals[group] * actual.values.abs().max()
        assert_close(measured, expected[place])


def test_the_bound_on_the_residual_curvature_holds():
    """The violation bounds what the eigenvalues differ from the Hessian's, relative to the top."""
    for seed in range(5):
        made = example("sequential_deep", seed)
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


def structures():
    """The fault of each network, and the line that says so."""
    a = {"dtype": torch.float64, "bias": False}
    shared = nn.Linear(1, 1, **a)
    hooked = nn.Sequential(nn.Linear(1, 2, **a), nn.Linear(2, 1, **a))
    hooked[0].register_forward_hook(lambda module, inputs, output: 2 * output)
    normed = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(1, 2, **a)), nn.Linear(2, 1, **a)
    )
    x, y = torch.ones(4, 1).double(), torch.ones(4, 1).double()
    images, flat = torch.ones(4, 1, 2, 2).double(), torch.ones(4, 1).double()
    conv = nn.Sequential(nn.Conv2d(1, 1, 2, **a), nn.Flatten(), nn.Linear(1, 1, **a))
    joining = nn.Sequential(nn.Linear(1, 2, **a), nn.Flatten(), nn.Linear(4, 1, **a))
    attention = models.VectorSelfAttention(*(torch.eye(2) for _ in range(3)))
    own = models.TwoLayerLinear(torch.ones(2), torch.ones(2))
    beside = nn.Sequential(nn.Linear(1, 1, **a), nn.Flatten(0), own)
    tanh = models.Perceptron([x[:1], x[:1]], [1.0, 1.0], "tanh")
    void = models.Perceptron([x[:1], x[:1]], [1.0, 0.0], "relu")
    tokens = torch.ones(4, 3, 2).double()

    def layers(*parts):
        made = [p if isinstance(p, nn.Module) else nn.Linear(*p, **a) for p in parts]
        return nn.Sequential(*made)

    return {
        "GELU": (layers((1, 2), nn.GELU(), (2, 1)), x, y, "layer '1' (GELU) has no closed form"),
        "conv": (conv, images, flat, "layer '0' (Conv2d) has no closed form"),
        "own class": (nn.Bilinear(1, 1, 1), x, y, "the model (Bilinear) has no closed form"),
        "parametrised": (normed, x, y, "layer '0' (ParametrizedLinear) has no closed form"),
        "hook": (hooked, x, y, "layer '0' (Linear) has a hook on its forward"),
        "shared": (
            nn.Sequential(shared, shared), x, y,
            "layer '1' (Linear) shares parameters with layer '0' (Linear)",
        ),
        "no parameters": (nn.Sequential(nn.ReLU()), x, y, "the model has no parameters"),
        "joined samples": (
            joining, torch.ones(4, 2, 1).double(), y,
            "layer '1' (Flatten) joins samples between linear layers",
        ),
        "beside another": (
            beside, x, y[:, 0],
            "layer '0' (Linear) stands beside layer '2' (TwoLayerLinear), which is all of a",
        ),
        "tanh": (tanh, x, y, "the activation 'tanh', which has no closed form"),
        "multiplier": (void, x, y, "a multiplier of 0, which makes all outputs 0"),
        "vector tokens": (attention, tokens, tokens, "tokens of 2 entries, and the theorem"),
        "three layers": (
            layers((1, 2), nn.ReLU(), (2, 2), nn.ReLU(), (2, 1)), x, y,
            "Theorem 3.4, the two-layer ReLU network (singh2026cracking): it has 2 layers, and "
            "layer '4' (Linear) is one more",
        ),
        "one layer": (
            layers((1, 1), nn.ReLU()), x, y,
            "it has no activation behind the last layer, and layer '1' (ReLU) is one",
        ),
        "two inputs": (
            layers((2, 3), nn.ReLU(), (3, 1)), torch.ones(4, 2).double(), y,
            "it has 1 input, and layer '0' (Linear) has 2",
        ),
        "two outputs": (
            layers((1, 3), nn.ReLU(), (3, 2)), x, torch.ones(4, 2).double(),
            "it has 1 output, and layer '2' (Linear) has 2",
        ),
        "ReLU with bias": (
            nn.Sequential(linear(x[:2], x[:2, 0]), nn.ReLU(), linear(x[:2].T)), x, y,
            "it has no bias, and layer '0' (Linear) has one",
        ),
        "output bias": (
            nn.Sequential(linear(x[:2]), linear(x[:2].T, x[:1, 0])), x, y,
            "it has no bias behind the first layer, and layer '1' (Linear) has one",
        ),
    }  # fmt: skip


STRUCTURES = structures()


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("approximate", [False, True])
def test_a_layer_that_no_theorem_has_is_named(name, approximate):
    model, x, y, line = STRUCTURES[name]
    with pytest.raises(cf.AssumptionError) as caught:
        cf.of(model, (x, y), approximate=approximate)
    assert line in str(caught.value)
    assert "approximate" not in str(caught.value)
    assert caught.value.violation == float("inf")
    actual = cf.candidates(model, (x, y))
    assert not any(item.applies or item.fits for item in actual)
    assert any(item.reason in line or line in item.line for item in actual)


def test_a_candidate_for_each_theorem():
    actual = cf.candidates(*moved(example("sequential_bias", 4)))
    functions = [
        "two_layer_linear", "two_layer_relu", "linear_with_bias", "multi_input", "multi_output",
        "orthogonal_first_layer", "self_attention", "deep_linear",
    ]  # fmt: skip
    assert [item.function for item in actual] == functions
    assert all(callable(getattr(cf, item.function)) for item in actual)
    reasons = {item.function: item.reason for item in actual}
    assert reasons["linear_with_bias"] == "all assumptions hold"
    assert reasons["two_layer_linear"] == "it has no bias, and layer '0' (Linear) has one"
    assert reasons["self_attention"] == (
        "it is about self-attention, not layers one after the other"
    )
    made = example("own_attention")
    reasons = {item.function: item.reason for item in cf.candidates(made.model, (made.x, made.y))}
    assert reasons["two_layer_relu"] == (
        "it is about layers one after the other, not self-attention"
    )


def test_the_error_survives_pickling():
    for model, data in (VIOLATIONS["mean(x) = 0"][2], moved(example("sequential_bias", 4))):
        loss = nn.MSELoss()
        if data[0].mean().abs() < 0.1:
            model = nn.Sequential(model, nn.GELU())
        with pytest.raises(cf.NoClosedFormError) as caught:
            cf.of(model, data, loss)
        copy = pickle.loads(pickle.dumps(caught.value))
        assert str(copy) == str(caught.value)
        assert copy.violation == caught.value.violation


def refused(message, model, data, loss=None, **keywords):
    with pytest.raises(ValueError, match=message) as caught:
        cf.of(model, data, loss, **keywords)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, cf.AssumptionError)


def test_a_candidate_says_that_the_loss_or_a_frozen_parameter_is_in_the_way():
    model, data = moved(example("sequential_linear", 1))
    with pytest.raises(ValueError, match="loss: expected HalfSquaredError") as caught:
        cf.of(model, data, nn.CrossEntropyLoss())
    actual = cf.candidates(model, data, nn.CrossEntropyLoss())
    assert {item.reason for item in actual} == {str(caught.value)}
    model[0].weight.requires_grad_(False)
    assert {item.fits for item in cf.candidates(model, data)} == {False}


def test_a_compiled_network_is_the_one_inside():
    class Compiled(nn.Module):
        """A network as ``torch.compile`` wraps it, whose compiler takes seconds to import."""

        def __init__(self, model):
            super().__init__()
            self._orig_mod = model

    made = example("sequential_relu", 1)
    require_spectrum(cf.of(Compiled(made.model), (made.x, made.y)), made.hessian())


def test_a_loader_is_read_without_drawing_random_numbers():
    made = example("sequential_linear", 5)
    assert len(made.x) == 5
    loader = DataLoader(TensorDataset(made.x, made.y), batch_size=2)
    before = torch.get_rng_state()
    require_spectrum(cf.of(made.model, loader), made.hessian())
    assert torch.equal(torch.get_rng_state(), before)


def test_bad_arguments_are_refused_in_one_line():
    made = example("sequential_linear", 1)
    model, x, y = made.model, made.x, made.y
    n = len(x)
    refused(
        "loss: expected HalfSquaredError or nn.MSELoss, .* got L1Loss", model, (x, y), nn.L1Loss()
    )
    refused("loss: expected .* got MSELoss", model, (x, y), nn.MSELoss(reduction="none"))
    refused("data: expected at least one batch", model, [])
    refused("data, batch 1: expected a pair of tensors", model, [(x, y), (x, y, y)])
    refused("data, batch 0: expected a pair of tensors", model, [{"x": x, "y": y}])
    refused("batch 0: expected at least one sample, got shapes", model, (x[:0], y[:0]))
    refused("expected inputs in float32 or float64, got torch.int64", model, (x.long(), y))
    refused("expected finite targets", model, (x, y / 0))
    refused(r"inputs that the model takes, got shape .*, 3\)", model, (x.expand(-1, 3), y))
    refused(rf"outputs' shape \({n}, 1\), got \({n},\)", model, (x, y[:, 0]))
    refused("batches that can be joined", model, [(x, y), (x[:, 0], y)])
    refused("float32 or float64, got 0.weight of torch.float16", model.half(), (x, y))
    model.double()[0].weight.requires_grad_(False)
    refused(r"every parameter to vary, .* got frozen ones \(0.weight\)", model, (x, y))
    model[0].weight.requires_grad_(True).data[0] = float("nan")
    refused("got NaN or infinity in 0.weight", model, (x, y))
    wide = nn.Sequential(nn.Linear(1, 2000, dtype=torch.float64), linear(torch.ones(1, 2000)))
    refused("at most 5000 parameters, .* got 6000", wide, (x, y), approximate=True)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("size", [1e160, 1e200])
def test_inputs_whose_squares_are_no_numbers_are_refused(outputs, size):
    draws = torch.Generator().manual_seed(0)
    x, y = (torch.randn(20, n, generator=draws, dtype=torch.float64) for n in (3, outputs))
    weights = torch.randn(4, 3, generator=draws), torch.randn(outputs, 4, generator=draws)
    model = nn.Sequential(*(linear(weight.double()) for weight in weights))
    with pytest.raises(cf.AssumptionError, match="no closed form applies"):
        cf.of(model, (size * x, y))
    with pytest.raises(ValueError, match="expected a Hessian within the range of float64"):
        cf.of(model, (size * x, y), approximate=True)


def test_large_inputs_of_small_weights_have_their_closed_form():
    """The theorem applies, whatever others overflow on the way."""
    weights = 1e-100 * torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    model = nn.Sequential(linear(weights), linear(weights.T))
    x = torch.tensor([[1e160], [-1e160]], dtype=torch.float64)
    actual = cf.of(model, (x, 1e-200 * x)).eigenvalues
    unit = nn.Sequential(linear(1e100 * weights), linear(1e100 * weights.T))
    expected = cf.of(unit, (1e-160 * x, 1e-160 * x)).eigenvalues
    assert_close(actual / 1e120, expected, rtol=1e-9, atol=1e-9)


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
        model, data = moved(example("sequential_relu", 2))
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
    made = example("sequential_bias", 5)
    data = (made.x + (0.1 if approximate else 0.0), made.y)
    hessian = replace(made, x=data[0]).hessian()
    actual = cf.of(made.model, data, approximate=approximate)
    with torch.no_grad():
        for tensor in (*made.model.parameters(), *data):
            tensor.mul_(-3)
    require_spectrum(actual, hessian)


@families
def test_nothing_is_made_on_the_default_device(family):
    made = example(family, 3)
    with torch.device("meta"):
        actual = cf.of(made.model, (made.x, made.y))
        assert actual.eigenvalues.is_cpu
        assert actual.eigenvectors().is_cpu


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
