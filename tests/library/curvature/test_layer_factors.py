"""Kronecker factors of all kinds against explicit loops over samples, positions and classes."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.functional import jacobian
from torch.func import functional_call
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import built, classes, normal
from .layer_networks import NETWORKS, PerToken, blocks, close, plain, problem_of

IGNORED = -100
CASES = [("linear", "2"), ("convolutions", "2"), ("tokens", "each"), ("smooth convolutions", "2")]


@pytest.mark.parametrize(("key", "name"), CASES)
def test_expand_and_reduce_are_sums_over_positions(key, name):
    network = NETWORKS[key]
    layer = cv.layerwise(problem_of(network, network.model()), name)
    second, x = blocks(network, network.model(), name)
    n, positions, _ = x.shape
    output = sum(second[i, p, p] for i in range(n) for p in range(positions))
    inputs = sum(torch.outer(x[i, p], x[i, p]) for i in range(n) for p in range(positions))
    close(layer.factors("expand")[0], output)
    close(layer.factors("expand")[1], inputs / (n * positions))
    means = x.mean(dim=1)
    close(layer.factors("reduce")[0], second.sum(dim=(0, 1, 2)))
    close(layer.factors("reduce")[1], means.T @ means / n)
    product = torch.kron(*layer.factors("reduce"))
    close(layer.kronecker(5, factors="reduce").eigenvalues, torch.linalg.eigvalsh(product)[-5:])
    close(layer.kronecker(5, factors="expand").eigenvalues, layer.kronecker(5).eigenvalues)


@pytest.mark.parametrize(("key", "name"), CASES)
def test_weighted_is_of_gradients_by_each_root_of_each_sample(key, name):
    network = NETWORKS[key]
    model = network.model()
    x, _ = network.data()
    weight = model.get_submodule(name).weight.detach()
    left, right = 0.0, 0.0
    for sample in x:
        change = lambda w: functional_call(model, {f"{name}.weight": w}, (sample[None],))[0]  # noqa: E731, B023
        gradients = jacobian(change, weight).flatten(2)
        p = torch.softmax(change(weight).detach(), dim=0)
        values, roots = torch.linalg.eigh(torch.diag(p) - torch.outer(p, p))
        for value, root in zip(values, roots.T, strict=True):
            gradient = torch.einsum("k,koi->oi", root, gradients)
            left += value / len(x) * gradient @ gradient.T
            right += value / len(x) * gradient.T @ gradient
    layer = cv.layerwise(problem_of(network, model), name)
    output, inputs = layer.factors("weighted")
    close(torch.kron(output, inputs), torch.kron(left, right) / left.trace())
    expected = torch.linalg.eigvalsh(torch.kron(left, right) / left.trace())[-4:]
    close(layer.kronecker(4, factors="weighted").eigenvalues, expected)


def product(layer: cv.Layerwise, kind: str) -> Tensor:
    return torch.kron(*layer.factors(kind))


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.Tanh()])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_classes_with_weights_and_ignored_targets_count_as_in_the_loss(activation, reduction):
    """The factors are as if each sample stood there as often as its class weighs."""
    model = built(lambda: plain(activation)).eval()
    x, y = normal(9, 4), torch.tensor([7, 1, 2, 0, 7, 1, 7, 2, 2])
    x[y == 7] *= 30
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    loss = nn.CrossEntropyLoss(weight=weights, ignore_index=7, reduction=reduction)
    # Of the first batch nothing counts.
    given = cv.Problem(model, loss, [(x[:1], y[:1]), (x[1:4], y[1:4]), (x[4:], y[4:])])
    counted = y != 7
    times = torch.arange(1, 4)[y[counted]]
    plainly = [part[counted].repeat_interleave(times, dim=0) for part in (x, y)]
    repeated = cv.Problem(model, nn.CrossEntropyLoss(reduction=reduction), [plainly])
    for name in ("0", "2", "4"):
        ours, peer = cv.layerwise(given, name), cv.layerwise(repeated, name)
        close(ours.output_hessian, peer.output_hessian)
        close(ours.input_autocorrelation, peer.input_autocorrelation)
        close(ours.input_mean, peer.input_mean)
        for kind in ("expand", "reduce", "weighted"):
            close(product(ours, kind), product(peer, kind))
        assert_close(product(ours, "nearest"), product(peer, "nearest"))


def test_tokens_count_as_their_targets_do():
    """Tokens that know nothing of each other count as so many samples of one."""
    x, y = normal(4, 3, 4), classes(12).reshape(4, 3)
    y[0], y[1, 1:], y[3, 0] = IGNORED, IGNORED, IGNORED
    x[y == IGNORED] = 20.0
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0, 0.5], dtype=torch.float64))
    model, counted = built(PerToken), y != IGNORED
    tokens = cv.Problem(model, loss, [(x[:2], y[:2]), (x[2:], y[2:])])
    apart = cv.Problem(model, loss, [(x[counted][:, None], y[counted][:, None])])
    for name in ("each", "head"):
        ours, peer = cv.layerwise(tokens, name), cv.layerwise(apart, name)
        close(cv.dense_matrix(ours.hessian), cv.dense_matrix(peer.hessian))
        close(cv.dense_matrix(ours.approximation), cv.dense_matrix(peer.approximation))
        close(ours.factors()[1], peer.factors()[1])
        close(product(ours, "weighted"), product(peer, "weighted"))


def test_batches_have_lengths_of_their_own():
    x, z = normal(4, 3, 4), normal(2, 5, 4, seed=1)
    data = [(x, classes(12).reshape(4, 3)), (z, classes(10).reshape(2, 5))]
    model = built(PerToken)
    layer = cv.layerwise(cv.Problem(model, nn.CrossEntropyLoss(), data), "each")
    apart = [(a.reshape(-1, 1, 4), b.reshape(-1, 1)) for a, b in data]
    single = cv.layerwise(cv.Problem(model, nn.CrossEntropyLoss(), apart), "each")
    close(cv.dense_matrix(layer.hessian), cv.dense_matrix(single.hessian))
    close(cv.dense_matrix(layer.approximation), cv.dense_matrix(single.approximation))
    for actual, expected in zip(layer.factors(), single.factors(), strict=True):
        close(actual, expected)
    with pytest.raises(ValueError, match="input_mean: expected 'each' to be used at as many"):
        _ = layer.input_mean


def test_samples_count_as_the_users_weights_say():
    x, y = normal(6, 4), normal(6, 3)

    def mean(outputs: Tensor, targets: Tensor) -> Tensor:
        counts = targets[:, 0].abs()
        return ((outputs - targets).square().sum(dim=1) * counts).sum() / counts.sum()

    problem = cv.Problem(
        built(lambda: nn.Sequential(nn.Linear(4, 3))), mean, [(x[:2], y[:2]), (x[2:], y[2:])],
        weights=lambda batch: batch[1][:, 0].abs().sum(),
    )  # fmt: skip
    layer = cv.layerwise(problem, "0")
    # The loss is a weighted square, so that its Hessian is the product of both factors.
    close(cv.dense_matrix(layer.approximation), cv.dense_matrix(layer.hessian))


def test_the_linear_layer_of_hugging_face_is_one_with_the_weight_transposed():
    utilities = pytest.importorskip("transformers.pytorch_utils")
    peer = built(lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)))
    model = built(lambda: nn.Sequential(utilities.Conv1D(5, 4), nn.Tanh(), nn.Linear(5, 3)))
    model.load_state_dict({**peer.state_dict(), "0.weight": peer[0].weight.T})
    problems = [cv.Problem(factor, nn.CrossEntropyLoss(), [(normal(7, 4), classes(7))])
                for factor in (model, peer)]  # fmt: skip
    layer, expected = (cv.layerwise(problem, "0") for problem in problems)
    assert layer.shape == expected.shape == (5, 4)
    close(cv.dense_matrix(layer.hessian), cv.dense_matrix(expected.hessian))
    for kind in ("expand", "reduce", "weighted"):
        for factor, other in zip(layer.factors(kind), expected.factors(kind), strict=True):
            close(factor, other)
    assert list(cv.layerwise(problems[0])) == ["0", "2"]


def test_confident_samples_in_float32_have_the_factors_of_float64():
    """The remainder of the likeliest class is rounding, and so is a sum that cancels."""
    model, (x, y) = NETWORKS["linear"].model(), NETWORKS["linear"].data()
    with torch.no_grad():
        model[4].weight.mul_(30)
    exact = cv.layerwise(cv.Problem(model, nn.CrossEntropyLoss(), [(x, y)]), "2")
    rounded = cv.layerwise(
        cv.Problem(copy.deepcopy(model).float(), nn.CrossEntropyLoss(), [(x.float(), y)]), "2"
    )
    for single, double in zip(rounded.factors("weighted"), exact.factors("weighted"), strict=True):
        atol = 1e-5 * float(double.abs().max())
        assert_close(single.double(), double, rtol=0, atol=atol)
