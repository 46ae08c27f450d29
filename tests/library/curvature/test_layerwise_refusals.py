"""Layers that have no Hessian of their own, and losses that have no curvature."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hessian_spectra import curvature as cv

from .cases import built, classes, normal
from .layer_networks import ENTROPY, NETWORKS, Network, close, dense_factors, plain, problem_of


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.inner(torch.relu(self.inner(x)))))


def tied() -> nn.Module:
    model = plain(nn.ReLU())
    model.extra = nn.Linear(4, 5)
    model.extra.weight = model[0].weight
    return model


def contrastive(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs @ outputs.T).square().mean()


def refusals() -> list[Any]:
    model = lambda: built(lambda: plain(nn.ReLU()))  # noqa: E731
    normed = lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).double()  # noqa: E731
    weight_norm = lambda: built(  # noqa: E731
        lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)))
    )
    return [
        (model(), ENTROPY, "1", "expected the name of a linear or convolutional layer, one of '0', "
         "'2', '4', got '1', ReLU"),
        (model(), ENTROPY, "fc", "got 'fc', no module of that name"),
        (built(Twice), ENTROPY, "inner", "'inner' is used more than once in the network"),
        (built(tied), ENTROPY, "0", "the weight of '0' is shared with another layer"),
        (weight_norm(), ENTROPY, "0", "the weight of '0' is computed from others"),
        (normed(), ENTROPY, "0", r"'1' \(BatchNorm1d\) in training mode .* call model.eval\(\)"),
        (model(), contrastive, "0", "the loss couples samples"),
        (built(lambda: nn.Sequential(nn.ConvTranspose1d(4, 3, 1))), ENTROPY, "0",
         "got '0', ConvTranspose1d"),
    ]  # fmt: skip


@pytest.mark.parametrize(("model", "loss", "name", "message"), refusals())
def test_what_has_no_layerwise_hessian_is_refused(model, loss, name, message):
    x, y = normal(4, 4), classes(4)
    problem = cv.Problem(model, loss, [(x, y)])
    with pytest.raises((ValueError, cv.OperatorError), match=message):
        _ = cv.layerwise(problem, name).output_hessian


def test_a_loss_that_is_linear_in_the_outputs_bends_in_the_network_alone():
    """Between its kinks; the last layer has no second derivative then."""
    network = Network(lambda: plain(nn.Tanh()), (4,), nn.L1Loss())
    model = network.model()
    actual = cv.layerwise(problem_of(network, model), check=False)
    close(actual["2"].output_hessian, dense_factors(network, model, "2")[0])
    assert not actual["4"].output_hessian.any()
    with pytest.raises(cv.OperatorError, match="best_kronecker: the Gauss-Newton matrix is zero"):
        actual["2"].best_kronecker()


def test_a_layer_on_which_no_output_depends_has_no_nearest_product():
    network = NETWORKS["linear"]
    model = network.model()
    with torch.no_grad():
        model[4].weight.zero_()
    layer = cv.layerwise(problem_of(network, model), "2", check=False)
    assert not layer.output_hessian.any()
    with pytest.raises(cv.OperatorError, match="or these do not depend on the layer"):
        layer.best_kronecker()


def test_a_layer_that_is_not_used_is_named():
    model = built(lambda: plain(nn.ReLU()))
    model[0].add_module("idle", nn.Linear(2, 2).double())
    problem = cv.Problem(model, nn.CrossEntropyLoss(), [(normal(4, 4), classes(4))])
    with pytest.raises(ValueError, match=r"the network does not use '0\.idle'"):
        _ = cv.layerwise(problem, ["0", "0.idle"])["0"].output_hessian
    with pytest.warns(UserWarning, match=r"layer '0\.idle' is left out: the network does not use"):
        layers = cv.layerwise(problem)
    assert list(layers) == ["0", "2", "4"]


def test_a_tied_layer_is_left_out_with_a_note():
    model = built(lambda: nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)))
    model[1].weight = model[0].weight
    problem = cv.Problem(model, ENTROPY, [(normal(4, 4), classes(4))])
    with pytest.warns(UserWarning, match="is left out: .* is shared with another layer") as notes:
        layers = cv.layerwise(problem)
    assert list(layers) == ["2"]
    assert len(notes) == 2


class Standardised(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight - self.weight.mean(dim=1, keepdim=True)
        return nn.functional.linear(x, weight / weight.std(dim=1, keepdim=True), self.bias)


class StandardisedConvolution(nn.Conv1d):
    def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        weight = weight - weight.mean(dim=(1, 2), keepdim=True)
        return super()._conv_forward(x, weight, bias)


class Equalised(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, 0.5 * self.weight, self.bias)


def hooked() -> nn.Module:
    layer = nn.Linear(4, 3)
    layer.register_forward_hook(lambda _, x, z: 2 * z)
    return layer


def convolution() -> nn.Module:
    return nn.Sequential(StandardisedConvolution(2, 3, 2, bias=False), nn.Flatten(1))


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Sequential(Standardised(4, 3)), (4,)),
        (lambda: nn.Sequential(Equalised(4, 3)), (4,)),
        (lambda: nn.Sequential(hooked()), (4,)),
        (convolution, (2, 2)),
    ],
)
def test_a_layer_that_is_no_matrix_product_is_refused(make, shape):
    problem = cv.Problem(built(make), ENTROPY, [(normal(6, *shape), classes(6))])
    refused = r"the output of '0' .* is not X Wᵀ \+ b of its input, weight and bias"
    for quantity in (
        lambda layer: layer.output_hessian,
        lambda layer: layer.best_kronecker(),
        lambda layer: layer.factors("weighted"),
        lambda layer: layer.factors("reduce"),
    ):
        with pytest.raises(ValueError, match=refused):
            quantity(cv.layerwise(problem, "0", check=False))


class Flattened(nn.Module):
    """Scores of all tokens one after the other, though the layer sees samples of three."""

    def __init__(self) -> None:
        super().__init__()
        self.each, self.head = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.each(x))
        return self.head(h + h.mean(dim=1, keepdim=True)).flatten(0, 1)


def test_outputs_whose_samples_are_not_the_layers_are_refused():
    def loss_fn(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        scores = model(batch[0])
        return nn.functional.cross_entropy(scores, batch[1].flatten()), scores

    targets = classes(6).reshape(2, 3)
    problem = cv.Problem(built(Flattened), loss_fn=loss_fn, data=[(normal(2, 3, 4), targets)])
    with pytest.raises(ValueError, match=r"expected the samples along the first axis .* got 2 and"):
        _ = cv.layerwise(problem, "each").output_hessian
