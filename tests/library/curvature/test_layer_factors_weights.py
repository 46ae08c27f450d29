"""Factors where targets have weights or are ignored: as if samples stood there as often."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import built, normal
from .layer_networks import PerToken, close, plain

KINDS = ("expand", "reduce", "weighted", "nearest")


def products(layer):
    return {kind: torch.kron(*layer.factors(kind)) for kind in KINDS}


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.Tanh()])
def test_classes_with_weights_and_ignored_targets_count_as_often_as_in_the_loss(activation):
    """The factors are as if each sample stood there as often as its class weighs."""
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
        ours, peer = cv.layerwise(given, name), cv.layerwise(repeated, name)
        close(ours.output_hessian, peer.output_hessian)
        close(ours.input_autocorrelation, peer.input_autocorrelation)
        close(ours.input_mean, peer.input_mean)
        for kind in KINDS[:3]:
            close(torch.kron(*ours.factors(kind)), torch.kron(*peer.factors(kind)))
        assert_close(products(ours)["nearest"], products(peer)["nearest"])


def test_ignored_tokens_are_as_if_they_were_not_there():
    model = built(PerToken).eval()
    x, y = normal(3, 5, 4), torch.arange(15).reshape(3, 5) % 3
    y[0, 3:] = y[2, :2] = -100
    x[y == -100] = 20.0
    counted = y != -100
    padded = cv.Problem(model, nn.CrossEntropyLoss(), [(x[:1], y[:1]), (x[1:], y[1:])])
    tokens = cv.Problem(model, nn.CrossEntropyLoss(), [(x[counted][:, None], y[counted][:, None])])
    for name in ("each", "head"):
        ours, peer = cv.layerwise(padded, name), cv.layerwise(tokens, name)
        close(torch.kron(*ours.factors()), torch.kron(*peer.factors()))
        close(products(ours)["weighted"], products(peer)["weighted"])
        close(cv.dense_matrix(ours.hessian), cv.dense_matrix(peer.hessian))
