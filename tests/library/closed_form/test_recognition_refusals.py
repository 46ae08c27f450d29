"""Networks without a closed form are refused with the layer or argument in the way."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra import models

from .recognition_cases import example, linear


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


def refused(message, model, data, loss=None, **keywords):
    with pytest.raises(ValueError, match=message) as caught:
        cf.of(model, data, loss, **keywords)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, cf.AssumptionError)


def product(outputs, targets):
    """A loss that couples samples."""
    return (outputs - targets).exp().prod()


def test_bad_arguments_are_refused_in_one_line():
    made = example("layers linear", 1)
    model, x, y = made.model, made.x, made.y
    n = len(x)
    refused(r"scalar tensor, got \(.*\) from MSE", model, (x, y), nn.MSELoss(reduction="none"))
    refused("CrossEntropyLoss.*, which couples outputs", model, (x, y), nn.CrossEntropyLoss())
    refused("got product, which couples outputs", model, (x, y), product)
    refused(r"L1Loss\(\) to be twice .* a kink at output", model, (x, model(x)), nn.L1Loss())
    refused("expected <lambda> to depend on the outputs", model, (x, y), lambda f, y: y.sum())
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
