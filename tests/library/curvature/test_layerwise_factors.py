"""Which Kronecker product: each kind of factors against explicit sums over samples and places."""

import inspect

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv

from .cases import built, normal
from .layer_networks import NETWORKS, close, dense_blocks, plain, problem_of

KINDS = ("expand", "reduce", "weighted", "nearest")
LAYERS = [
    ("linear", "0"), ("squared", "2"), ("summed", "4"), ("convolutions", "2"), ("unusual", "3"),
    ("sequence", "0"), ("tokens", "each"),
]  # fmt: skip


def products(layer):
    return {kind: torch.kron(*layer.factors(kind)) for kind in KINDS}


@pytest.mark.parametrize(("key", "name"), LAYERS)
def test_products_are_those_of_explicit_sums(key, name):
    network = NETWORKS[key]
    model = network.model()
    layer = cv.layerwise(problem_of(network, model), name)
    blocks, x = dense_blocks(network, model, name)
    samples, positions, _ = x.shape
    means = x.mean(dim=1)
    places = torch.einsum("npi,npj->ij", x, x) / (samples * positions)
    rows = torch.einsum("npoqr,npi,nqi->or", blocks, x, x)
    columns = torch.einsum("npoqo,npi,nqj->ij", blocks, x, x)
    expected = {
        "expand": torch.kron(torch.einsum("npopq->oq", blocks).contiguous(), places),
        "reduce": torch.kron(blocks.sum(dim=(0, 1, 3)), means.T @ means / samples),
        "weighted": torch.kron(rows.contiguous(), columns.contiguous()) / rows.trace(),
    }
    found = products(layer)
    for kind, product in expected.items():
        close(found[kind], product)
    matrix = torch.einsum("npoqr,npi,nqj->oirj", blocks, x, x).reshape(found["expand"].shape)
    errors = {kind: float((product - matrix).norm()) for kind, product in found.items()}
    assert min(errors, key=errors.get) == "nearest"
    if positions == 1:
        close(found["reduce"], found["expand"])


def test_eigenpairs_are_those_of_the_product_that_is_asked_for():
    network = NETWORKS["convolutions"]
    layer = cv.layerwise(problem_of(network, network.model()), "2")
    for kind, product in products(layer).items():
        found = layer.kronecker(4, factors=kind)
        close(found.eigenvalues, torch.linalg.eigvalsh(product)[-4:])
        vectors = found.eigenvectors()
        close(product @ vectors, vectors * found.eigenvalues)


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.Tanh()])
def test_classes_with_weights_and_ignored_targets_count_as_often_as_in_the_loss(activation):
    """As if each sample stood there as often as its class weighs."""
    model = built(lambda: plain(activation)).eval()
    x, y = normal(9, 4), torch.tensor([0, 1, 2, 0, 7, 1, 7, 2, 2])
    x[y == 7] *= 30
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    loss = nn.CrossEntropyLoss(weight=weights, ignore_index=7)
    given = cv.Problem(model, loss, [(x[:4], y[:4]), (x[4:], y[4:])])
    counted = y != 7
    times = torch.arange(1, 4)[y[counted]]
    plainly = [part[counted].repeat_interleave(times, dim=0) for part in (x, y)]
    repeated = cv.Problem(model, nn.CrossEntropyLoss(), [plainly])
    for name in ("0", "2", "4"):
        ours, theirs = cv.layerwise(given, name), cv.layerwise(repeated, name)
        close(ours.output_hessian, theirs.output_hessian)
        close(ours.input_autocorrelation, theirs.input_autocorrelation)
        close(ours.input_mean, theirs.input_mean)
        for kind in KINDS[:3]:
            close(torch.kron(*ours.factors(kind)), torch.kron(*theirs.factors(kind)))
        torch.testing.assert_close(products(ours)["nearest"], products(theirs)["nearest"])


class Tagger(nn.Module):
    """Scores of three classes for each token."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, tokens):
        return self.last(torch.relu(self.first(tokens))).transpose(1, -1)


def test_ignored_tokens_are_as_if_they_were_not_there():
    model = built(Tagger).eval()
    x, y = normal(3, 5, 4), torch.arange(15).reshape(3, 5) % 3
    y[0, 3:] = y[2, :2] = -100
    x[y == -100] = 20.0
    counted = y != -100
    padded = cv.Problem(model, nn.CrossEntropyLoss(), [(x[:1], y[:1]), (x[1:], y[1:])])
    tokens = cv.Problem(model, nn.CrossEntropyLoss(), [(x[counted][:, None], y[counted][:, None])])
    for name in ("first", "last"):
        ours, theirs = cv.layerwise(padded, name), cv.layerwise(tokens, name)
        close(torch.kron(*ours.factors()), torch.kron(*theirs.factors()))
        close(products(ours)["weighted"], products(theirs)["weighted"])
        close(cv.dense_matrix(ours.hessian), cv.dense_matrix(theirs.hessian))


def test_other_words_and_groups_are_refused_in_one_line():
    network = NETWORKS["convolutions"]
    layer = cv.layerwise(problem_of(network, network.model()), "0")
    message = "^factors: expected one of 'expand', 'reduce', 'weighted', 'nearest', got 'kfac'$"
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(type(layer).factors)(layer, "kfac")
    for kind in KINDS[1:]:
        with pytest.raises(ValueError, match=f"^factors='{kind}': expected a layer without groups"):
            layer.kronecker(1, factors=kind)
    assert layer.factors()[0] is layer.output_hessian
