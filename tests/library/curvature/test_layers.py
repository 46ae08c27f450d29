"""The written-out derivatives against numerical ones and against torch's."""

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional
from torch.testing import assert_close

from hessian_spectra.curvature import layers, norms
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives

from .cases import built, normal


def leaf(*shape: int, seed: int = 0) -> torch.Tensor:
    return normal(*shape, seed=seed).requires_grad_()


def convolution(stride, padding, dilation, groups):
    return lambda x, w: layers.Convolution.apply(x, w, stride, padding, dilation, groups)


def batch_norm(x, w, b):
    fixed = norms.Fixed(normal(3, seed=3), normal(3, seed=4).square(), 1e-2)
    return norms.BatchNorm.apply(x, w, b, fixed)


FUNCTIONS = {
    "linear": (layers.Linear.apply, [leaf(4, 3), leaf(2, 3, seed=1), leaf(2, seed=2)]),
    "linear without bias": (
        lambda x, w: layers.Linear.apply(x, w, None),
        [leaf(1, 3), leaf(2, 3, seed=1)],
    ),
    "rectifier": (layers.Rectifier.apply, [leaf(4, 3)]),
    "softmax": (lambda x: layers.Softmax.apply(x, 1), [leaf(2, 4, 3)]),
    "layer norm": (
        lambda x, w, b: norms.LayerNorm.apply(x, w, b, 1e-2),
        [leaf(2, 3, 5), leaf(5, seed=1), leaf(5, seed=2)],
    ),
    "batch norm": (
        batch_norm,
        [leaf(4, 3), leaf(3, seed=1), leaf(3, seed=2)],
    ),
    "batch norm of images": (
        batch_norm,
        [leaf(2, 3, 2, 2), leaf(3, seed=1), leaf(3, seed=2)],
    ),
    "convolution": (
        convolution([2, 1], [1, 0], [1, 2], 2),
        [leaf(2, 2, 5, 6), leaf(4, 1, 3, 2, seed=1)],
    ),
    "convolution in one dimension": (
        convolution([1], [2], [1], 1),
        [leaf(2, 3, 4), leaf(2, 3, 3, seed=1)],
    ),
    "convolution in three dimensions": (
        convolution([1, 1, 1], [0, 0, 1], [1, 1, 1], 1),
        [leaf(1, 2, 3, 2, 2), leaf(2, 2, 2, 2, 2, seed=1)],
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_are_right(name):
    function, arguments = FUNCTIONS[name]
    assert gradcheck(function, arguments)
    assert gradgradcheck(function, arguments)


@pytest.mark.parametrize("name", ["linear", "layer norm", "batch norm", "convolution"])
@pytest.mark.parametrize("fixed", [0, 1])
def test_so_they_are_with_a_fixed_argument(name, fixed):
    function, arguments = FUNCTIONS[name]
    arguments = [a.detach() if i == fixed else a for i, a in enumerate(arguments)]
    assert gradgradcheck(function, arguments)


class Methods(nn.Module):
    """The ways to call a function that are not a module's."""

    def forward(self, x):
        total = x.relu() + torch.relu(-x) + x.softmax(1) + torch.softmax(x, dim=1)
        return total + functional.softmax(x, 1, dtype=torch.float64) + functional.gelu(input=x)


def settled(norm):
    """With statistics of some data, in eval mode."""
    norm.running_mean.copy_(normal(4, seed=3))
    norm.running_var.copy_(normal(4, seed=4).square())
    return norm.eval()


MODULES = {
    "gelu": nn.GELU(),
    "gelu, tanh": nn.GELU("tanh"),
    "silu": nn.SiLU(),
    "mish": nn.Mish(),
    "relu": nn.ReLU(),
    "softmax": nn.Softmax(dim=-1),
    "linear": nn.Linear(6, 2),
    "linear without bias": nn.Linear(6, 2, bias=False),
    "layer norm": nn.LayerNorm(6),
    "layer norm over two axes": nn.LayerNorm((4, 6)),
    "plain layer norm": nn.LayerNorm(6, elementwise_affine=False),
    "batch norm": settled(nn.BatchNorm1d(4)),
    "plain batch norm": settled(nn.BatchNorm1d(4, affine=False)),
    "batch norm in training mode": nn.BatchNorm1d(4),
    "batch norm without statistics": nn.BatchNorm1d(4, track_running_stats=False).eval(),
    "convolution": nn.Conv1d(4, 2, 3, padding=1),
    "convolution without bias": nn.Conv1d(4, 2, 3, bias=False),
    "padding by word": nn.Conv1d(4, 2, 3, padding="same"),
    "two dimensions": nn.Sequential(nn.Unflatten(1, (2, 2)), nn.Conv2d(2, 3, 2, stride=(1, 2))),
    "in place after linear": nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True)),
    "in place after convolution": nn.Sequential(nn.Conv1d(4, 2, 3), nn.SiLU(inplace=True)),
    "in place after batch norm": nn.Sequential(settled(nn.BatchNorm1d(4)), nn.ReLU(inplace=True)),
    "in place without bias": nn.Sequential(nn.Conv1d(4, 2, 3, bias=False), nn.ReLU(inplace=True)),
    "methods": Methods(),
}


def second_derivatives(module: nn.Module, inputs: torch.Tensor) -> list[torch.Tensor]:
    variables = [inputs, *module.parameters()]
    value = (module(inputs) * normal(*module(inputs).shape, seed=5)).square().sum()
    gradient = torch.autograd.grad(value, variables, create_graph=True)
    directions = [normal(*variable.shape, seed=7) for variable in variables]
    return list(torch.autograd.grad(gradient, variables, directions, materialize_grads=True))


@pytest.mark.parametrize("name", MODULES)
def test_models_get_torchs_values(name):
    module = built(lambda: MODULES[name])
    inputs = leaf(3, 4, 6)
    expected_value, expected = module(inputs), second_derivatives(module, inputs)
    with FastSecondDerivatives():
        value, fast = module(inputs), second_derivatives(module, inputs)
    assert_close(value, expected_value, rtol=1e-13, atol=1e-14)
    for ours, torchs in zip(fast, expected, strict=True):
        assert_close(ours, torchs, rtol=1e-11, atol=1e-12)


def test_an_image_without_batch_axis_is_left_to_torch():
    module = nn.Conv1d(4, 2, 3).double()
    with FastSecondDerivatives():
        assert module(normal(4, 6)).shape == (2, 4)
        assert nn.Linear(6, 2).double()(normal(6)).shape == (2,)


def test_without_gradients_nothing_is_replaced():
    with FastSecondDerivatives(), torch.no_grad():
        assert nn.GELU()(leaf(3)).grad_fn is None
