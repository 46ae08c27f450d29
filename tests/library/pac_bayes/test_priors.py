"""A prior that has seen the samples is refused, one that has not is not."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from hessian_spectra.pac_bayes.priors import refuse_if_seen, unseen
from hessian_spectra.seeding import generator

from .networks import trained


def network(seed, width=30, classes=2):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, classes))


@pytest.fixture(scope="module")
def digits():
    actual = load_digits()
    return torch.tensor(actual.data / 16).float(), torch.tensor(actual.target > 4).long()


@pytest.mark.parametrize(
    ("said", "seen", "words"),
    [
        ("nothing", [], "nothing"),
        ("other data", [], "other data"),
        (torch.arange(10) % 9 == 0, [0, 9], "2 of the 10 samples"),
        (torch.tensor([3, 3, 0]), [0, 3], "2 of the 10 samples"),
        (np.array([1]), [1], "1 of the 10 samples"),
    ],
)
def test_what_the_prior_has_not_seen_is_left(said, seen, words):
    indices, text = unseen(said, 10)
    assert indices.tolist() == [sample for sample in range(10) if sample not in seen]
    assert text == words


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, 'prior_saw: expected "nothing", "other data", or which samples .*, got None: a'),
        ("everything", 'prior_saw: expected "nothing" or "other data", got \'everything\''),
        (torch.ones(4, dtype=torch.bool), "prior_saw: expected fewer than all 4 samples"),
        (torch.arange(4), "prior_saw: expected fewer than all 4 samples"),
        (torch.zeros(4, dtype=torch.bool), 'expected some samples, got none: say "nothing"'),
        (torch.ones(3, dtype=torch.bool), r"expected a mask \(4,\), got \(3,\)"),
        (torch.tensor([4]), "expected indices from 0 to 3, got 4"),
        (torch.tensor([-1]), "expected indices from 0 to 3, got -1"),
        (torch.tensor([0.5]), "expected a mask or indices, got 'torch.float32"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(said, message):
    with pytest.raises(ValueError, match=message):
        unseen(said, 4)


def test_the_trained_network_is_no_prior_of_its_own(digits):
    model = network(0)
    with pytest.raises(ValueError, match=r"^prior: expected weights from before .* itself; one"):
        refuse_if_seen(model, model.state_dict(), *digits, seed=0)


@pytest.mark.parametrize("steps", [15, 60])
def test_a_prior_from_the_samples_is_refused(digits, steps):
    prior = trained(network(0), *digits, steps=steps, rate=0.01).state_dict()
    with pytest.raises(ValueError, match=r"^prior: expected weights that have seen nothing, got "):
        refuse_if_seen(network(1), prior, *digits, seed=0)


def test_random_networks_are_none_of_these(digits):
    """Though many are better than the best constant guess, by more than chance."""
    inputs, labels = digits
    largest, suspicious = float(labels.bincount().max()), 0
    for seed in range(100):
        prior = network(seed)
        right = float((prior(inputs).argmax(dim=1) == labels).sum())
        suspicious += right > largest + 5 * (len(labels) / 4) ** 0.5
        refuse_if_seen(network(-1), prior.state_dict(), inputs, labels, seed=seed)
    assert suspicious > 0


def test_labels_without_inputs_are_learned_by_nobody():
    """The best constant guess is nothing that only the samples could tell."""
    x = torch.randn(500, 64, generator=generator(0, "inputs"))
    y = (torch.rand(500, generator=generator(0, "labels")) < 0.1).long()
    prior = network(0)
    prior[2].bias.data += torch.tensor([100.0, 0.0])
    refuse_if_seen(network(1), prior.state_dict(), x, y, seed=0)
