"""Data, priors and networks of which a certificate would be wrong, or no certificate at all."""

import copy
import itertools
import math
import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)

from hessian_spectra import pac_bayes

from .test_bounding import FEATURES, PAPER, QUICK, samples

QUICK, PAPER = ({**settings, "epochs": 1, "draws": 500} for settings in (QUICK, PAPER))


def network(seed):
    torch.manual_seed(seed)
    hidden = nn.Linear(FEATURES, FEATURES), nn.Tanh(), nn.Linear(FEATURES, FEATURES), nn.Tanh()
    return nn.Sequential(*hidden, nn.Linear(FEATURES, 2))


MODEL, BEFORE, DATA = network(1), network(0), samples(0, 200)


def bounded(**changed):
    given = {"prior": BEFORE, "prior_saw": "nothing", **QUICK, **changed}
    return pac_bayes.bound(given.pop("model", MODEL), given.pop("data", DATA), **given)


def with_a_weight(value):
    model = network(2)
    model[2].weight.data[0, 0] = value
    return model


def tied():
    model = network(2)
    model[2].weight = model[0].weight
    return model


def with_an_array(model):
    """The weights, one of them from a file; that of the first would be a type error in tests."""
    state = model.state_dict()
    return {**state, "4.bias": state["4.bias"].numpy()}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": with_a_weight(math.nan)}, "^2.weight: expected finite weights, got NaN or"),
        ({"prior": with_a_weight(-math.inf)}, "^2.weight: expected finite weights, got NaN or"),
        ({"model": tied()}, "layer's weights to be its own, got 0.weight and 2.weight tied$"),
        ({"prior": with_an_array(BEFORE)}, r"^prior: expected 4.bias of .* \(2,\), got ndarray$"),
        ({"data": itertools.repeat(DATA)}, "data with a length, got repeat, which may be endless"),
        ({"data": (DATA[0], DATA[1].numpy())}, r"makes one of an array\), got \['Tensor', 'ndar"),
        ({"data": [[DATA[0].numpy(), DATA[1].numpy()]]}, r"array\), got \['ndarray', 'ndarray'\]$"),
    ],
)
def test_what_would_be_no_bound_is_refused_in_one_line(changed, message):
    with pytest.raises(ValueError, match=message) as caught:
        bounded(**changed)
    assert "\n" not in str(caught.value)


class Unknown:
    """Batches in an order that nobody tells."""

    def __len__(self):
        return 4

    def __iter__(self):
        return iter(torch.arange(200).split(50))


def in_batches(sampler):
    return BatchSampler(sampler(range(200)), 50, drop_last=False)


@pytest.mark.parametrize(
    "sampling",
    [
        {"batch_size": 50, "shuffle": True},
        {"batch_sampler": in_batches(RandomSampler)},
        {"batch_sampler": Unknown()},
    ],
)
def test_batches_that_are_sampled_in_another_order_have_no_places(sampling):
    loader = DataLoader(TensorDataset(*DATA), **sampling)
    with pytest.raises(ValueError, match=r"got a DataLoader that shuffles: make it with shuffle=F"):
        bounded(data=loader, prior_saw=torch.arange(9))
    assert bounded(data=loader).samples == 200


def test_batches_one_after_the_other_have_places():
    loader = DataLoader(TensorDataset(*DATA), batch_sampler=in_batches(SequentialSampler))
    assert bounded(data=loader, prior_saw=torch.arange(9)).samples == 191


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("constant", [False, True])
def test_features_that_are_standardised_one_by_one_are_spoken_of(correction, constant):
    """As a scaler does, which leaves a feature that is constant at 0."""
    x, y = DATA[0] * torch.arange(1.0, FEATURES + 1), DATA[1]
    own = (x - x.mean(dim=0)) / x.std(dim=0, correction=correction)
    own[:, 0] = own[:, 0] * (not constant)
    with pytest.warns(UserWarning, match="^data: the inputs have mean 0 and deviation 1 to six"):
        bounded(data=(own, y))


def test_moments_of_other_samples_and_a_single_copy_are_not_spoken_of():
    x, y = DATA
    others, _ = samples(9, 200)
    x = (x - others.mean(dim=0)) / others.std(dim=0)
    twice = torch.cat([x, x[:1]]), torch.cat([y, y[:1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert bounded(data=twice).samples == 201


@pytest.mark.parametrize("settings", [QUICK, PAPER])
@pytest.mark.parametrize("basis", ["kronecker", "nearest"])
def test_a_frozen_network_has_the_curvature_of_a_trained_one(basis, settings):
    frozen = copy.deepcopy(MODEL).requires_grad_(False)
    actual = bounded(model=frozen, basis=basis, **settings)
    assert actual == bounded(basis=basis, **settings)
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
