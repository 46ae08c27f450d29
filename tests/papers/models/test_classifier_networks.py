"""The networks of wu2022dissecting: tables 3 to 5, and what appendix E.2 says of the others."""

import copy
import math

import pytest
import torch
from scipy import stats
from torch import nn

from hessian_papers.models.classifiers import classifier
from hessian_spectra import curvature as cv

MNIST, CIFAR = (1, 28, 28), (3, 32, 32)
# Table 3, 4 and 5: module by module, the shape of what comes out.
TABLES = {
    ("F-200^2", MNIST): [
        ("flatten", (784,)), ("fc1", (200,)), ("relu1", (200,)), ("fc2", (200,)),
        ("relu2", (200,)), ("fc3", (10,)),
    ],
    ("LeNet5", CIFAR): [
        ("conv1", (6, 28, 28)), ("relu_conv1", (6, 28, 28)), ("maxpool1", (6, 14, 14)),
        ("conv2", (16, 10, 10)), ("relu_conv2", (16, 10, 10)), ("maxpool2", (16, 5, 5)),
        ("flatten", (400,)), ("fc1", (120,)), ("relu_fc1", (120,)), ("fc2", (84,)),
        ("relu_fc2", (84,)), ("fc3", (10,)),
    ],
    ("LeNet5-BN", CIFAR): [
        ("conv1", (6, 28, 28)), ("relu_conv1", (6, 28, 28)), ("norm_conv1", (6, 28, 28)),
        ("maxpool1", (6, 14, 14)), ("conv2", (16, 10, 10)), ("relu_conv2", (16, 10, 10)),
        ("norm_conv2", (16, 10, 10)), ("maxpool2", (16, 5, 5)), ("flatten", (400,)),
        ("fc1", (120,)), ("relu_fc1", (120,)), ("norm_fc1", (120,)), ("fc2", (84,)),
        ("relu_fc2", (84,)), ("norm_fc2", (84,)), ("fc3", (10,)),
    ],
}  # fmt: skip
LINEAR = (nn.Linear, nn.Conv2d)


def layers(model: nn.Module) -> list[str]:
    return [name for name, module in model.named_modules() if isinstance(module, LINEAR)]


@pytest.mark.parametrize(("name", "shape"), TABLES)
def test_a_table_is_the_network(name, shape):
    model = classifier(name, shape, 10, seed=0).eval()
    actual, x = [], torch.zeros(2, *shape)
    for key, module in model.named_children():
        x = module(x)
        actual.append((key, tuple(x.shape[1:])))
    assert actual == TABLES[name, shape]


def test_names_are_those_of_the_paper():
    assert layers(classifier("VGG11-W32", CIFAR, 10, 0)) == [
        *(f"conv{place}" for place in range(1, 9)), "fc1"
    ]  # fmt: skip
    assert layers(classifier("ResNet18-W8", CIFAR, 10, 0)) == [
        *(f"conv{place}" for place in range(1, 18)), "sc-conv1", "sc-conv2", "sc-conv3", "fc1"
    ]  # fmt: skip
    assert layers(classifier("F-20^2-10", MNIST, 10, 0)) == ["fc1", "fc2", "fc3", "fc4"]


def test_each_stage_of_the_residual_network_halves_the_image():
    model = classifier("ResNet18-W8", CIFAR, 10, 0)
    sizes = {}
    for name in layers(model):
        model.get_submodule(name).register_forward_hook(
            lambda module, x, z, name=name: sizes.update({name: z.shape[-1]})
        )
    model(torch.zeros(1, *CIFAR))
    expected = {f"conv{place}": 32 // 2 ** ((place - 2) // 4) for place in range(2, 18)}
    expected |= {"conv1": 32, "sc-conv1": 16, "sc-conv2": 8, "sc-conv3": 4, "fc1": 10}
    assert sizes == expected


def test_a_block_without_weights_is_its_shortcut():
    model = classifier("ResNet18-W8", CIFAR, 10, 0)
    for place in range(2, 18):
        nn.init.zeros_(model.get_submodule(f"conv{place}").weight)
    images = torch.randn(2, *CIFAR, generator=torch.Generator().manual_seed(0))
    x = torch.relu(model.conv1(images))
    for number in (1, 2, 3):
        x = torch.relu(model.get_submodule(f"sc-conv{number}")(x))
    torch.testing.assert_close(model(images), model.fc1(x.mean(dim=(2, 3))))


def test_weights_are_xavier_uniform_and_the_seeds_own():
    state = torch.get_rng_state()
    model, again, other = (classifier("F-300^2", MNIST, 10, seed) for seed in (3, 3, 4))
    for layer in (model.fc1, model.fc2):
        weight = layer.weight.detach()
        rows, columns = weight.shape
        bound = math.sqrt(6 / (rows + columns))
        assert bound * 0.99 < float(weight.abs().max()) <= bound
        assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)
        assert not layer.bias.any()
    assert torch.equal(model.fc1.weight, again.fc1.weight)
    assert not torch.equal(model.fc1.weight, other.fc1.weight)
    assert torch.equal(torch.get_rng_state(), state)


def test_normal_weights_are_cut_at_two_deviations():
    model = classifier("F-300^2", MNIST, 10, seed=3, initialisation="truncated normal")
    draws = stats.truncnorm(-2, 2, scale=0.04)
    for layer in (model.fc1, model.fc2):
        weight = layer.weight.detach().flatten()
        assert float(weight.abs().max()) <= 0.08
        assert stats.kstest(weight[:20000].numpy(), draws.cdf).pvalue > 1e-3
    assert (model.fc1.bias == 0.1).all()
    assert not model.fc2.bias.any()


@pytest.mark.parametrize(
    ("name", "shape", "layer", "fan_in"),
    [("F-300^2", MNIST, "fc2", 300), ("VGG11-W64", CIFAR, "conv2", 9 * 64)],
)
def test_the_default_of_torch_has_the_distribution_of_torchs_layers(name, shape, layer, fan_in):
    """Weights and biases of our layers and of torch's own are draws from one distribution."""
    torch.manual_seed(0)
    models, references = [], []
    for seed in range(40):
        model = classifier(name, shape, 10, seed, initialisation="pytorch")
        models.append(model.get_submodule(layer))
        references.append(copy.deepcopy(models[-1]))
        references[-1].reset_parameters()
    for each in ("weight", "bias"):
        samples = [
            torch.cat([getattr(module, each).detach().flatten()[:300] for module in modules])
            for modules in (models, references)
        ]
        assert stats.ks_2samp(*samples).pvalue > 1e-3
        assert 0.99 / math.sqrt(fan_in) < float(samples[0].abs().max()) <= 1 / math.sqrt(fan_in)
    assert not torch.equal(models[0].bias, models[1].bias)
    again = classifier(name, shape, 10, 0, initialisation="pytorch")
    assert torch.equal(again.get_submodule(layer).bias, models[0].bias)


@pytest.mark.parametrize("name", ["F-6^2", "LeNet5-(fc1-8)", "LeNet5-BN", "ResNet18-W2"])
def test_each_layer_has_a_layerwise_hessian(name):
    shape = MNIST if name.startswith("F") else CIFAR
    model = classifier(name, shape, 3, seed=0).eval()
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(0))
    problem = cv.Problem(model, nn.CrossEntropyLoss(), [(x, torch.tensor([0, 2]))])
    actual = cv.layerwise(problem)
    assert list(actual) == layers(model)
    for layer in actual.values():
        assert torch.linalg.eigvalsh(layer.output_hessian.double()).min() > -1e-5
        assert layer.output_hessian.shape == (layer.shape[0],) * 2


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("F-", MNIST, "network: expected a name such as F-200.2, .*, got 'F-'"),
        ("LeNet5-(fc3-8)", CIFAR, r"got 'LeNet5-\(fc3-8\)'"),
        ("VGG11", CIFAR, "got 'VGG11'"),
        ("VGG11-W32", MNIST, r"network: VGG11 takes larger images, got \(1, 28, 28\)"),
        ("LeNet5", (1, 8, 8), r"network: LeNet5 takes larger images, got \(1, 8, 8\)"),
    ],
)
def test_a_name_that_is_none_is_refused(name, shape, message):
    with pytest.raises(ValueError, match=message):
        classifier(name, shape, 10, seed=0)
